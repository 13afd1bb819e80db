//! Bytes to a trace, plain or compressed, through every consumer of its records: read to the end or refused, never a panic.
//! The summary has to add up.

#![no_main]

use libfuzzer_sys::fuzz_target;
use quiescent_trace::{Measure, Options, Reader, Recorder, from_read};
use std::io::Cursor;

fuzz_target!(|bytes: &[u8]| {
    let Ok(input) = from_read("fuzz", Cursor::new(bytes.to_vec())) else {
        return;
    };
    let mut reader = Reader::new("fuzz", input);
    let mut measure = Measure::new(None);
    let mut recorder = Recorder::new(Options::default());
    while let Ok(Some(record)) = reader.next_record() {
        measure.feed(&record);
        recorder.feed(&record);
    }
    let summary = reader.summary();
    assert!(summary.records + summary.malformed.count() <= summary.lines);
    // Whether there are figures is not the question here.
    let _ = measure.finish(summary);
    let _ = recorder.finish(summary);
});
