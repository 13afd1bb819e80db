//! Exhaustive search of counted readers (`quiescent_engine::indexed`): every interleaving of readers that
//! take their count, count themselves in and out (on their own thread or on another), check the flag and
//! wake; of requests; and of the driver's single steps, with the two halves of each sum apart.
//!
//! `cargo test -p quiescent-harness-threads --test it indexed:: -- --nocapture` prints what was searched. The
//! store-buffer explorer searches weak memory.

mod model;

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashSet, VecDeque};
use std::hash::{Hash, Hasher};

use model::{Action, Bounds, Broken, State};

/// The result of a search.
struct Report {
    states: usize,
    /// States from which only the driver could continue; it reached the end.
    settled: usize,
    /// The greatest number of times that newcomers were sent to the other count.
    turns: u64,
    /// States in which the driver sleeps.
    asleep: usize,
}

/// Two different states of some hundred thousand have the same fingerprint with a probability below 10⁻²⁶.
fn fingerprint(state: &State) -> u128 {
    let half = |salt: u64| {
        let mut hasher = DefaultHasher::new();
        salt.hash(&mut hasher);
        state.hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(1) << 64 | half(2)
}

/// The text of a violation, with the shortest path to it.
fn violation(
    way: &[(usize, Option<Action>)],
    mut at: usize,
    last: Option<Action>,
    bounds: &Bounds,
    why: &str,
) -> String {
    let mut path = Vec::from_iter(last);
    while let (from, Some(action)) = way[at] {
        path.push(action);
        at = from;
    }
    path.reverse();
    format!("{why}\nin {bounds:?}\nafter {path:?}")
}

/// Visits every state within `bounds`.
fn explore(bounds: &Bounds) -> Result<Report, String> {
    let start = State::new(bounds);
    let mut known = HashSet::from([fingerprint(&start)]);
    let mut way: Vec<(usize, Option<Action>)> = vec![(0, None)];
    let mut queue = VecDeque::from([(0, start)]);
    let mut report = Report {
        states: 0,
        settled: 0,
        turns: 0,
        asleep: 0,
    };
    while let Some((at, state)) = queue.pop_front() {
        report.states += 1;
        report.turns = report.turns.max(state.turns());
        report.asleep += usize::from(state.is_asleep());
        let actions = state.actions(bounds);
        if actions.is_empty() {
            state
                .is_over()
                .map_err(|why| violation(&way, at, None, bounds, &why))?;
            report.settled += 1;
        }
        for action in actions {
            let mut next = state.clone();
            next.apply(action, bounds)
                .map_err(|why| violation(&way, at, Some(action), bounds, &why))?;
            if known.insert(fingerprint(&next)) {
                way.push((at, Some(action)));
                queue.push_back((way.len() - 1, next));
            }
        }
    }
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
        let report = explore(&bounds).unwrap_or_else(|why| panic!("{why}"));
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
        match explore(&bounds) {
            Err(why) => assert!(!rule.is_empty() && why.starts_with(rule), "{why}"),
            // Not defects: one wake-up too many, and a count that becomes zero by itself because there are
            // few sections.
            Ok(_) => assert!(rule.is_empty(), "not found: {broken:?}"),
        }
    }
}
