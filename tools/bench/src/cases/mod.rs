//! What is measured: a module for each command of `bench`.
//!
//! A module has the options, a `run` that gives a report, its text, and its targets where it has some. Cases
//! that need a fresh process for each measurement ask it a [`Question`](crate::measure::once::Question); this
//! program again, started with other words, answers it ([`serve`]).
//!
//! `read`, `retire` and `mixed` measure on every system; those in `linux` ask `/proc`, signals or the kernel.

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(target_os = "linux")]
mod linux;
pub mod mixed;
pub mod read;
pub mod retire;

#[cfg(target_os = "linux")]
pub use linux::*;

use crate::measure::once::{self, Kind, kind};

/// Every kind of question that a measuring process answers on any system.
const KINDS: [Kind; 2] = [
    kind::<mixed::child::MixedAsk>(),
    kind::<retire::child::RetireAsk>(),
];

fn kinds() -> Vec<Kind> {
    #[cfg(target_os = "linux")]
    return [&KINDS[..], &linux::KINDS[..]].concat();
    #[cfg(not(target_os = "linux"))]
    KINDS.to_vec()
}

/// Answers what the last argument of a measuring process asks; the exit code.
pub fn serve(ask: &str) -> u8 {
    once::serve(ask, &kinds())
}

#[cfg(test)]
mod tests {
    use super::kinds;

    #[test]
    fn no_two_kinds_have_the_same_name() {
        let mut names: Vec<&str> = kinds().into_iter().map(|it| it.0).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|it| it[0] != it[1]), "{names:?}");
    }
}
