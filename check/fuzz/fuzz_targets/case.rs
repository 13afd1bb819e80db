//! Text to a case of `torture --sim`: refused, or read, written and read again to the same case, and its
//! machine can be built and runs for a moment.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use quiescent_sim::torture::Case;

/// A machine with more is not built: it takes the memory it was asked for.
const CPUS: u32 = 64;

/// So long it runs, in virtual nanoseconds: the actors of the seeds have begun by then, and more takes real
/// time.
const MOMENT: u64 = 5_000_000;

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Corpus::Reject;
    };
    let Ok(case) = Case::from_text("fuzz.json", text) else {
        return Corpus::Keep;
    };
    let again = Case::from_text("again.json", &case.to_text());
    assert_eq!(again.as_ref(), Ok(&case), "written and read again");
    if case.options.cpus <= CPUS {
        case.machine().run(MOMENT);
    }
    Corpus::Keep
});
