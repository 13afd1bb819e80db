//! The strongest test of the engine there is: whole machines, of random shape, under random load and faults,
//! on which nothing may come too early, and on which everything is done once the faults have ended
//! ([`quiescent_sim::torture`]).
//!
//! `QUIESCENT_SEARCH=deep` tries more machines; `quiescent torture --sim` as many as one likes.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use quiescent_sim::torture::{Case, Outcome, run};

/// Runs the machines of these seeds, as many at once as there are processors. Panics at the first finding.
fn all_of(seeds: u64) -> Outcome {
    let next = AtomicU64::new(0);
    let all = Mutex::new(Outcome::default());
    let work = || {
        while let seed = next.fetch_add(1, Ordering::Relaxed)
            && seed < seeds
        {
            let case = Case::of_seed(seed);
            let outcome = run(&case, seed % 10 == 0);
            if let Some(found) = outcome.finding {
                next.store(seeds, Ordering::Relaxed); // the others need not be looked at
                panic!("seed {seed}: {found:?}\n{}", case.to_text());
            }
            all.lock()
                .expect("no thread panics under the lock")
                .add(outcome);
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    all.into_inner().expect("no thread panics under the lock")
}

#[test]
fn nothing_comes_too_early_and_nothing_is_left_behind() {
    let deep = std::env::var("QUIESCENT_SEARCH").is_ok_and(|it| it == "deep");
    let all = all_of(if deep { 20_000 } else { 400 });
    println!("{:?}", all.counts);
    println!(
        "{} states, {} trace points",
        all.states.len(),
        all.points.len()
    );
    for (name, least) in [
        ("calls", 100_000),
        ("latched", 1_000),
        ("callbacks", 50_000),
        ("grace_periods", 50_000),
        ("expedited", 50_000),
        ("spanned", 100_000),
        ("departures", 300),
        ("barriers", 300),
        ("toggles", 150),
        ("shrunk", 100),
        ("preempted_readers", 1_000),
        ("ksoftirqd_wakeups", 50),
        ("faults", 1_000),
        ("srcu_spanned", 1_000),
        ("srcu_calls", 1_000),
        ("srcu_turns", 1_000),
        ("srcu_reader_wakeups", 1_000),
    ] {
        assert!(all.count(name) > least, "{name}: {:?}", all.counts);
    }
}
