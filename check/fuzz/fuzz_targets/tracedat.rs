//! Bytes to a `trace.dat`, and every line that it contains to a decoder and to all analyses: read to the end
//! or refused with the byte, never a panic. A file has at most as many records as bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use quiescent_trace::{Analysis, Filter, Kind, Reader, from_seek};
use std::io::Cursor;

fuzz_target!(|bytes: &[u8]| {
    // Random bytes almost never begin like this.
    let mut file = b"\x17\x08\x44tracing".to_vec();
    file.extend_from_slice(bytes.strip_prefix(&file[..]).unwrap_or(bytes));
    let most = file.len() as u64;
    let input = match from_seek("fuzz", Cursor::new(file)) {
        Ok(input) => input,
        Err(e) => {
            assert!(e.to_string().starts_with("fuzz: "), "{e}");
            return;
        }
    };
    let mut reader = Reader::new("fuzz", input);
    let mut analyses = Kind::ALL.map(|kind| Analysis::new(kind, Filter::default()));
    while let Ok(Some(record)) = reader.next_record() {
        let _ = record.decode();
        analyses
            .iter_mut()
            .for_each(|analysis| analysis.feed(&record));
    }
    let summary = reader.summary();
    for analysis in analyses {
        let _ = analysis.finish(summary);
    }
    assert!(
        summary.records <= most,
        "{} records of {most} bytes",
        summary.records
    );
});
