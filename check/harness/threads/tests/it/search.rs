//! Exhaustive search: threads that register, read and leave, callers that wait, poll or pass, and drivers
//! that stop, leave and are replaced, in every order within small bounds. And long random walks in the same
//! model.
//!
//! | rule | broken when |
//! |---|---|
//! | early | a grace period ends, or a caller is satisfied, while a section that was open at its start is
//! open |
//! | fence | a reader is looked at, and no fence was issued since the start although another thread takes
//! part |
//! | asleep | the driver sleeps, and a flag was newly set since the last fence |
//! | stuck | no action is possible, and a caller is not satisfied |
//!
//! `cargo test -p quiescent-harness-threads --test it search:: -- --nocapture` prints what was searched. The
//! store-buffer explorer searches weak memory.

mod model;

use model::{Bounds, Broken, State};
use quiescent_harness::explore::explore;

/// What a search has seen.
#[derive(Debug, Default)]
struct Seen {
    states: usize,
    /// States in which no action is left.
    settled: usize,
    asleep: usize,
    takeovers: u64,
    sole: u64,
    grace_periods: u64,
}

impl Seen {
    fn add(&mut self, state: &State) {
        let counts = state.counts();
        self.states += 1;
        self.asleep += usize::from(state.is_asleep());
        self.takeovers = self.takeovers.max(counts.takeovers);
        self.sole = self.sole.max(counts.sole);
        self.grace_periods = self.grace_periods.max(counts.grace_periods);
    }
}

/// Visits every state within `bounds`; the shortest way to a violation, if there is one.
fn search(bounds: &Bounds) -> Result<Seen, String> {
    let mut seen = Seen::default();
    let visit = |state: &State| {
        seen.add(state);
        let actions = state.actions(bounds);
        if actions.is_empty() {
            state.settled()?;
            seen.settled += 1;
        }
        Ok(actions)
    };
    let apply = |state: &mut State, action| state.apply(action, bounds);
    explore(bounds, State::new(bounds), visit, apply)?;
    Ok(seen)
}

const SMALL: Bounds = Bounds {
    readers: 2,
    leaf: 1,
    registered: 2,
    sections: 1,
    arrivals: 0,
    callers: 1,
    takeovers: 0,
    leaves: 0,
    spins: 0,
    broken: Broken::Nothing,
};

#[test]
fn every_order_of_actions_within_small_bounds_is_right() {
    let list = [
        SMALL,
        Bounds { leaf: 2, ..SMALL },
        Bounds {
            spins: 1,
            sections: 2,
            ..SMALL
        },
        Bounds {
            callers: 2,
            ..SMALL
        },
        Bounds {
            callers: 2,
            takeovers: 1,
            ..SMALL
        },
        Bounds {
            callers: 2,
            leaves: 1,
            ..SMALL
        },
        // Threads come and go; at first none is registered, or one.
        Bounds {
            registered: 0,
            arrivals: 2,
            ..SMALL
        },
        Bounds {
            registered: 1,
            arrivals: 2,
            callers: 2,
            ..SMALL
        },
        Bounds {
            readers: 3,
            registered: 2,
            arrivals: 1,
            leaf: 2,
            ..SMALL
        },
    ];
    let mut all = Seen::default();
    for bounds in list {
        let seen = search(&bounds).unwrap_or_else(|why| panic!("{why}"));
        println!("{:>8} states  {bounds:?}", seen.states);
        assert!(seen.settled > 0, "no run came to its end in {bounds:?}");
        all.states += seen.states;
        all.asleep += seen.asleep;
        all.takeovers = all.takeovers.max(seen.takeovers);
        all.sole = all.sole.max(seen.sole);
        all.grace_periods = all.grace_periods.max(seen.grace_periods);
    }
    println!("{:>8} states in all", all.states);
    assert!(
        all.asleep > 0 && all.takeovers > 0 && all.sole > 0 && all.grace_periods > 1,
        "{all:?}"
    );
}

#[test]
fn planted_defects_of_a_host_are_found() {
    for (broken, rule) in [
        (Broken::FlagUnseen, "stuck"),
        (Broken::ArrivesUnseen, "fence"),
        (Broken::GenerationOnly, "stuck"),
        (Broken::ForgetsToResume, "fence"),
    ] {
        let bounds = Bounds {
            broken,
            arrivals: 1,
            registered: 1,
            callers: 2,
            takeovers: u64::from(broken == Broken::ForgetsToResume),
            ..SMALL
        };
        let found = search(&bounds).expect_err("it is found");
        assert!(found.starts_with(rule), "{broken:?}: {found}");
    }
}

/// Ten threads in leaves of three, four callers, and chance.
#[test]
fn long_random_walks_are_right() {
    let bounds = Bounds {
        readers: 10,
        leaf: 3,
        registered: 4,
        sections: u32::MAX,
        arrivals: u32::MAX,
        callers: 4,
        takeovers: u64::MAX,
        leaves: u32::MAX,
        spins: 2,
        broken: Broken::Nothing,
    };
    let (mut takeovers, mut grace_periods) = (0, 0);
    for seed in 1..=40u64 {
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut state = State::new(&bounds);
        let mut same = State::new(&bounds);
        for _ in 0..5_000 {
            let actions = state.actions(&bounds);
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let action = actions[(random % actions.len() as u64) as usize];
            if state.is_rare(action) && random >> 60 != 0 {
                continue;
            }
            if let Err(why) = state.apply(action, &bounds) {
                panic!("seed {seed}: {why}");
            }
            state.serve_again();
            // The same inputs give the same outputs.
            assert_eq!(same.apply(action, &bounds), Ok(()));
            same.serve_again();
        }
        assert!(state == same, "seed {seed}");
        takeovers += state.counts().takeovers;
        grace_periods += state.counts().grace_periods;
    }
    println!("{grace_periods} grace periods, {takeovers} takeovers");
    assert!(takeovers > 500 && grace_periods > 500);
}
