//! Exhaustive search of a small offloaded machine: every interleaving of queueing (lazy or not, with
//! interrupts or without), ticks, rcuog's single steps, grace-period steps, batches, toggles and a barrier's
//! visits, within bounds, under both policies. From every state that is reached the machine continues by
//! itself: every callback must be invoked, once, in order and not before its grace period.
//!
//! All CPUs idle all the time; `search` tests whether a grace period is long enough.

mod model;
mod moves;

use model::{Budget, State};
use quiescent_harness::explore::explore;
use quiescent_kernel::offload::Policy;

/// Searches all states; returns their number, and the number of those in which no action is possible.
fn search(policy: Policy, budget: Budget) -> usize {
    let visit = |state: &State| {
        state.check();
        state.clone().settle();
        Ok(state.deeds())
    };
    let make = |state: &mut State, deed| {
        state.make(deed);
        Ok(())
    };
    let searched = explore(&budget, State::new(policy, budget), visit, make);
    let states = searched.unwrap_or_else(|why| panic!("{why}")).states;
    println!("{states:>9} states  {policy:?} {budget:?}");
    states
}

/// Lazy, hurried and masked entries; ticks, toggles and visits.
type Row = [u8; 6];

const SMALL: [Row; 7] = [
    [1, 1, 0, 1, 1, 0],
    [1, 1, 0, 3, 0, 0],
    [2, 0, 0, 3, 0, 0],
    [1, 1, 0, 1, 0, 0],
    [1, 0, 1, 1, 0, 0],
    [0, 1, 0, 0, 2, 0],
    [1, 0, 0, 1, 1, 1],
];

const LARGE: [Row; 4] = [
    [2, 1, 0, 3, 0, 0],
    [1, 2, 1, 1, 0, 0],
    [1, 1, 0, 1, 2, 0],
    [2, 0, 0, 1, 1, 2],
];

fn search_all(rows: &[Row]) {
    for policy in [Policy::Kernel612, Policy::Quiescent] {
        for &[lazy, hurried, masked, ticks, toggles, visits] in rows {
            let budget = Budget {
                lazy,
                hurried,
                masked,
                ticks,
                toggles,
                visits,
            };
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
