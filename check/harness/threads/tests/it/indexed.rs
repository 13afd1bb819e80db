//! Exhaustive search of counted readers (`quiescent_engine::indexed`): every interleaving of readers that
//! take their count, count themselves in and out (on their own thread or on another), check the flag and
//! wake; of requests; and of the driver's single steps, with the two halves of each sum apart.
//!
//! `cargo test -p quiescent-harness-threads --test it indexed:: -- --nocapture` prints what was searched. The
//! store-buffer explorer searches weak memory.

mod model;

use model::{Bounds, Broken, State};
use quiescent_harness::explore::explore;

/// The result of a search.
#[derive(Default)]
struct Report {
    states: usize,
    /// States from which only the driver could continue; it reached the end.
    settled: usize,
    /// The greatest number of times that newcomers were sent to the other count.
    turns: u64,
    /// States in which the driver sleeps.
    asleep: usize,
}

/// Visits every state within `bounds`.
fn search(bounds: &Bounds) -> Result<Report, String> {
    let mut report = Report::default();
    let visit = |state: &State| {
        report.turns = report.turns.max(state.turns());
        report.asleep += usize::from(state.is_asleep());
        let actions = state.actions(bounds);
        if actions.is_empty() {
            state.is_over()?;
            report.settled += 1;
        }
        Ok(actions)
    };
    let apply = |state: &mut State, action| state.apply(action, bounds);
    let searched = explore(bounds, State::new(bounds), visit, apply)?;
    report.states = searched.states;
    Ok(report)
}

const RIGHT: Bounds = Bounds {
    readers: 2,
    sections: 1,
    requests: 1,
    spins: 0,
    alone: false,
    broken: Broken::Nothing,
};

#[test]
fn every_interleaving_within_small_bounds_is_right() {
    let list = [
        RIGHT,
        Bounds { spins: 1, ..RIGHT },
        Bounds {
            readers: 1,
            sections: 2,
            requests: 2,
            ..RIGHT
        },
        Bounds {
            sections: 2,
            ..RIGHT
        },
        Bounds {
            requests: 2,
            ..RIGHT
        },
        // The only thread that was ever registered is the driver's own.
        Bounds {
            readers: 1,
            requests: 2,
            alone: true,
            ..RIGHT
        },
    ];
    let (mut turns, mut asleep) = (0, 0);
    for bounds in list {
        let report = search(&bounds).unwrap_or_else(|why| panic!("{why}"));
        println!("{:>8} states  {bounds:?}", report.states);
        assert!(
            report.settled > 0,
            "no run was driven to its end in {bounds:?}"
        );
        turns = turns.max(report.turns);
        asleep += report.asleep;
    }
    assert!(turns >= 2 && asleep > 0);
}

#[test]
fn planted_defects_of_a_host_are_found() {
    for (broken, rule) in [
        (Broken::LocksFirst, "too short"),
        (Broken::FlagUnseen, "asleep for ever"),
        (Broken::WakesBeforeEmpty, ""),
        (Broken::NeverJoins, ""),
    ] {
        let bounds = Bounds {
            broken,
            sections: 2,
            ..RIGHT
        };
        match search(&bounds) {
            Err(why) => assert!(!rule.is_empty() && why.starts_with(rule), "{why}"),
            // Not defects: one wake-up too many, and a count that becomes zero by itself because there are
            // few sections.
            Ok(_) => assert!(rule.is_empty(), "not found: {broken:?}"),
        }
    }
}
