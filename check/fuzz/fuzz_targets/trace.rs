//! Bytes to a trace, plain or compressed, through every consumer of its records, including all analyses and
//! the timeline: read to the end or refused, never a panic. The summary has to add up, and a thread that
//! reads ahead changes nothing in it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use quiescent_trace::{Analysis, Filter, Kind, Measure, Options, Reader, Recorder, from_read};
use std::io::{self, Cursor};

fuzz_target!(|bytes: &[u8]| {
    let Ok(input) = from_read("fuzz", Cursor::new(bytes.to_vec())) else {
        return;
    };
    let mut reader = Reader::new("fuzz", input);
    let mut measure = Measure::new(None);
    let mut recorder = Recorder::new(Options::default());
    let mut analyses = Kind::ALL.map(|kind| Analysis::new(kind, Filter::default()));
    let mut timeline = Analysis::timeline(Filter::default(), Box::new(io::sink()));
    while let Ok(Some(record)) = reader.next_record() {
        measure.feed(&record);
        recorder.feed(&record);
        analyses
            .iter_mut()
            .for_each(|analysis| analysis.feed(&record));
        timeline.feed(&record);
    }
    let summary = reader.summary();
    assert!(summary.records + summary.malformed.count() <= summary.lines);
    // Whether the figures exist is not tested here.
    let _ = measure.finish(summary);
    let _ = recorder.finish(summary);
    let _ = timeline.finish(summary);
    for analysis in analyses {
        let _ = analysis.finish(summary);
    }
    if let Ok(input) = from_read("fuzz", Cursor::new(bytes.to_vec())) {
        let mut ahead = Reader::ahead("fuzz", input);
        while let Ok(Some(_)) = ahead.next_record() {}
        assert_eq!(ahead.summary(), summary);
    }
});
