//! The model of a program on shuttle's primitives, as its author would write it: readers and an updater, with
//! the library between them. (The library's own long runs are the explorer's.)

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed as RealRelaxed;

use quiescent_models::shuttle::{AtomicU32, Case, Failure, Kind, Ordering, Report, run, spawn};
use quiescent_on_shuttle as rcu;
use rcu::check::Model;

const SEEDS: u64 = 40;

/// Two readers look at what is published, in a section each; the updater replaces it, does `wait`, and
/// frees the first object.
fn replace(wait: fn()) {
    let domain = Model::new();
    let published = Arc::new(AtomicU32::new(0));
    let freed = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
    let readers = [(); 2].map(|()| {
        let (published, freed) = (published.clone(), freed.clone());
        spawn(move || {
            domain.enter();
            let guard = rcu::read_lock();
            let object = published.load(Ordering::Acquire) as usize;
            published.load(Ordering::Relaxed); // others may run here
            let is_freed = freed[object].load(RealRelaxed);
            drop(guard);
            domain.leave();
            is_freed
        })
    });
    domain.enter();
    published.store(1, Ordering::Release);
    wait();
    freed[0].store(true, RealRelaxed);
    domain.leave();
    for reader in readers {
        let is_freed = reader.join().expect("a panic ends the execution");
        assert!(!is_freed, "freed under a reader");
    }
}

fn all(scenario: fn()) -> Result<Report, Failure> {
    let mut last = Report::default();
    for seed in 0..SEEDS {
        for kind in [Kind::Walk, Kind::Pct] {
            last = run(Case { kind, seed }, scenario)?;
        }
    }
    Ok(last)
}

#[test]
fn what_has_waited_frees_nothing_under_a_reader() {
    let last = all(|| replace(rcu::synchronize)).expect("no finding");
    assert!(last.executions > 0);
}

#[test]
fn what_does_not_wait_is_found() {
    let failure = all(|| replace(|| ())).expect_err("it frees under a reader");
    assert!(
        failure.message.contains("freed under a reader"),
        "{failure:?}"
    );
}
