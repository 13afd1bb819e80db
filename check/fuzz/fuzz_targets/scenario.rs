//! Text to a scenario of torture: read, with at least one thread, or refused with a place that is in the
//! text; never a panic.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use quiescent_torture::scenario::{Error, Scenario};

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Corpus::Reject;
    };
    match Scenario::read("fuzz", "fuzz.toml", text) {
        Ok(it) => {
            let threads: usize = it.options().cast.0.iter().sum();
            assert!(threads > 0, "a run without threads");
            let _ = it.options().long_enough();
        }
        Err(Error::File {
            line, column, why, ..
        }) => {
            let lines = text.split('\n').count();
            assert!(
                (1..=lines).contains(&line) && column >= 1,
                "line {line}, column {column}: {why}"
            );
        }
        Err(Error::Unknown { .. }) => panic!("a text has no name"),
    }
    Corpus::Keep
});
