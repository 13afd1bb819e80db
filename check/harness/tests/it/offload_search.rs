//! Exhaustive search of a small offloaded machine: every interleaving of queueing (lazy or not, with
//! interrupts or without), ticks, rcuog's single steps, grace-period steps, batches, toggles and a barrier's
//! visits, within bounds, under both policies. From every state that is reached the machine continues by
//! itself: every callback must be invoked, once, in order and not before its grace period.
//!
//! All CPUs idle all the time; `search` tests whether a grace period is long enough.

mod model;
mod moves;

use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};

use model::{Budget, State};
use quiescent_kernel::offload::Policy;

/// Searches all states; returns their number, and the number of those in which no action is possible.
fn search(policy: Policy, budget: Budget) -> usize {
    let (hasher, mut seen) = (RandomState::new(), HashSet::new());
    // Two fingerprints a state: only a collision of both would hide a state.
    let print = |state: &State| (hasher.hash_one(state), hasher.hash_one((1, state)));
    let first = State::new(policy, budget);
    seen.insert(print(&first));
    let mut todo = VecDeque::from([first]);
    while let Some(state) = todo.pop_front() {
        state.check();
        state.clone().settle();
        for deed in state.deeds() {
            let mut next = state.clone();
            next.make(deed);
            if seen.insert(print(&next)) {
                todo.push_back(next);
            }
        }
    }
    println!("{:>9} states  {policy:?} {budget:?}", seen.len());
    seen.len()
}

const NONE: Budget = Budget {
    lazy: 0,
    hurried: 0,
    masked: 0,
    ticks: 0,
    toggles: 0,
    visits: 0,
};

const SMALL: [Budget; 7] = [
    Budget {
        lazy: 1,
        hurried: 1,
        toggles: 1,
        ticks: 1,
        ..NONE
    },
    Budget {
        lazy: 1,
        hurried: 1,
        ticks: 3,
        ..NONE
    },
    Budget {
        lazy: 2,
        ticks: 3,
        ..NONE
    },
    Budget {
        lazy: 1,
        hurried: 1,
        ticks: 1,
        ..NONE
    },
    Budget {
        lazy: 1,
        masked: 1,
        ticks: 1,
        ..NONE
    },
    Budget {
        hurried: 1,
        toggles: 2,
        ..NONE
    },
    Budget {
        lazy: 1,
        toggles: 1,
        visits: 1,
        ticks: 1,
        ..NONE
    },
];

const LARGE: [Budget; 4] = [
    Budget {
        lazy: 2,
        hurried: 1,
        ticks: 3,
        ..NONE
    },
    Budget {
        lazy: 1,
        hurried: 2,
        masked: 1,
        ticks: 1,
        ..NONE
    },
    Budget {
        lazy: 1,
        hurried: 1,
        toggles: 2,
        ticks: 1,
        ..NONE
    },
    Budget {
        lazy: 2,
        visits: 2,
        toggles: 1,
        ticks: 1,
        ..NONE
    },
];

fn search_all(budgets: &[Budget]) {
    for policy in [Policy::Kernel612, Policy::Quiescent] {
        for &budget in budgets {
            let states = search(policy, budget);
            assert!(states > 200, "{states} states are no search");
        }
    }
}

#[test]
fn every_interleaving_within_small_bounds_is_right() {
    search_all(&SMALL);
}

#[test]
#[ignore = "minutes"]
fn every_interleaving_within_larger_bounds_is_right() {
    search_all(&LARGE);
}
