//! Text to a workload: read, or refused with a place that is in the text; never a panic. What is read can be
//! planned again, and its machine can be built.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use quiescent_sim::{Error, Workload};

/// A larger machine is not built: it takes as much memory as the workload requests.
const CPUS: u32 = 64;

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Corpus::Reject;
    };
    let it = match Workload::read("fuzz", "fuzz.toml", text) {
        Ok(it) => it,
        Err(Error::File {
            line, column, why, ..
        }) => {
            let lines = text.split('\n').count();
            assert!(
                (1..=lines).contains(&line) && column >= 1,
                "line {line}, column {column}: {why}"
            );
            return Corpus::Keep;
        }
        Err(_) => return Corpus::Keep,
    };
    let plan = it.plan(&[]).expect("it was planned when it was read");
    if plan.options.cpus <= CPUS {
        drop(plan.machine());
    }
    Corpus::Keep
});
