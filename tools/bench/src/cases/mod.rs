//! What is measured: a module for each command of `bench`.
//!
//! A module has the options, a `run` that gives a report, its text, and its targets where it has some. Cases
//! that need a fresh process for each measurement ask it a [`Question`](crate::measure::once::Question); this
//! program again, started with other words, answers it ([`serve`]).

pub mod barrier;
pub mod domain;
#[cfg(test)]
pub(crate) mod fixture;
pub mod flood;
pub mod idle;
pub mod mixed;
pub mod pressure;
pub mod read;
pub mod retire;
pub mod scale;
pub mod srcu;
pub mod stall;
pub mod sync;
pub mod trickle;

use crate::measure::once::{self, Kind, kind};

/// Every kind of question that a measuring process answers.
const KINDS: [Kind; 10] = [
    kind::<barrier::BarrierAsk>(),
    kind::<domain::child::DomainAsk>(),
    kind::<flood::FloodAsk>(),
    kind::<idle::IdleAsk>(),
    kind::<mixed::child::MixedAsk>(),
    kind::<pressure::child::PressureAsk>(),
    kind::<retire::child::RetireAsk>(),
    kind::<scale::child::ScaleAsk>(),
    kind::<stall::StallAsk>(),
    kind::<trickle::child::TrickleAsk>(),
];

/// Answers what the last argument of a measuring process asks; the exit code.
pub fn serve(ask: &str) -> u8 {
    once::serve(ask, &KINDS)
}

#[cfg(test)]
mod tests {
    use super::KINDS;

    #[test]
    fn no_two_kinds_have_the_same_name() {
        let mut names = KINDS.map(|it| it.0);
        names.sort_unstable();
        assert!(names.windows(2).all(|it| it[0] != it[1]), "{names:?}");
    }
}
