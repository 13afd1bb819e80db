//! All scenarios, in both modes.

use std::time::{Duration, Instant};

use crate::scenarios::{self, SCENARIOS, Scenario};
use crate::tracer::{End, Shared, in_fork, run_child, wait_for_worker};

/// More instructions than any region has.
const ENDLESS: u64 = 20_000;

pub fn run() {
    scenarios::publish_value();
    // Each mode in a process of its own: they keep two processors busy.
    let modes = [false, true].map(|fenced| in_fork(|| every_scenario(fenced)));
    let failed = modes.map(wait_for_worker).iter().any(|ok| !ok);
    assert!(!failed, "see above");
}

/// From one instruction that has a handler to the next.
fn stride(scenario: &Scenario) -> u64 {
    match std::env::var("QUIESCENT_STEPS") {
        Ok(which) if which == "all" => 1,
        _ => 3 * scenario.dearness,
    }
}

/// All scenarios in one mode.
fn every_scenario(fenced: bool) {
    let shared = Shared::new();
    let handlers = |scenario| one_scenario(scenario, fenced, shared);
    let total: u64 = SCENARIOS.iter().map(handlers).sum();
    println!("single_step: a reading handler at {total} instructions; ok");
}

/// Runs a scenario once for each of these instructions of its region; returns how many handlers that were.
fn one_scenario(scenario: &Scenario, fenced: bool, shared: &'static Shared) -> u64 {
    let mode = if fenced { "fenced" } else { "membarrier" };
    let start = Instant::now();
    let (mut step, stride) = (0, stride(scenario));
    loop {
        assert!(
            step < ENDLESS,
            "{} ({mode}): the region does not end",
            scenario.name
        );
        match run_child(scenario, fenced, step, shared) {
            End::Checked => step += stride,
            End::PastTheRegion => break,
            End::Failed(how) => {
                panic!(
                    "{} ({mode}): a handler after instruction {step}: {how}",
                    scenario.name
                )
            }
        }
    }
    let took = start.elapsed().max(Duration::from_millis(1));
    println!(
        "{:>28} ({mode}): {step} instructions, {took:.1?}",
        scenario.name
    );
    assert!(
        step >= scenario.least,
        "a region of {step} instructions cannot be the right one"
    );
    step / stride
}
