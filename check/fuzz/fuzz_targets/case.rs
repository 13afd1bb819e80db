//! Text to a case of `torture --sim`: refused, or read, written and read again to the same case; its machine
//! can be built and runs for a short time.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use quiescent_sim::torture::Case;

/// A larger machine is not built: it takes as much memory as the case requests.
const CPUS: u32 = 64;

/// The run's length in virtual nanoseconds: the actors of the seeds have begun by then, and more takes real
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
