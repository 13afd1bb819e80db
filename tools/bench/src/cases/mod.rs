//! What is measured: a module for each command of `bench`.
//!
//! A module has a [`Bench`], which is a table of options, questions and tables of text, and what answers the
//! questions. Most ask each [`Question`](crate::measure::once::Question) of a fresh process: this program
//! again, started with other words, answers it ([`serve`]).
//!
//! `read`, `retire` and `mixed` measure on every system; those in `linux` ask `/proc`, signals or the kernel.

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(target_os = "linux")]
mod linux;
pub mod mixed;
pub mod plan;
pub mod read;
pub mod retire;
pub mod setting;

#[cfg(target_os = "linux")]
pub use linux::*;

use crate::measure::once::{self, Kind, kind};
use plan::Bench;

/// Every measurement of this system, in the order of the command line.
pub fn all() -> Vec<&'static Bench> {
    let mut all = vec![&read::READ, &retire::RETIRE, &mixed::MIXED];
    #[cfg(target_os = "linux")]
    all.extend(linux::ALL);
    all
}

/// Every kind of question that a measuring process answers on any system.
const KINDS: [Kind; 2] = [
    kind::<mixed::MixedAsk>(),
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
