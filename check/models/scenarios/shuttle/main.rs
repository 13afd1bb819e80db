//! The model of a program on shuttle's primitives, as its author would write it: readers and an updater, with
//! the library between them. (The library's own long runs are the explorer's.)

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed as RealRelaxed;

use quiescent_models::shuttle::scheduler::{PctScheduler, RandomScheduler};
use quiescent_models::shuttle::{AtomicU32, Ordering, run, spawn};
use quiescent_on_shuttle as rcu;
use rcu::check::Model;

const EXECUTIONS: usize = 100;

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

fn all(model: fn()) {
    run(RandomScheduler::new_from_seed(1, EXECUTIONS), model);
    run(PctScheduler::new_from_seed(1, 3, EXECUTIONS), model);
}

#[test]
fn what_has_waited_frees_nothing_under_a_reader() {
    all(|| replace(rcu::synchronize));
}

#[test]
#[should_panic(expected = "freed under a reader")]
fn what_does_not_wait_is_found() {
    all(|| replace(|| ()));
}

/// Threads that have not entered a model: the domain comes by itself, and there is no worker. Each queues a
/// closure, calls a barrier, and finds that it has run, whatever the others queue meanwhile.
fn barriers_of_several(waits: fn()) {
    let threads = [(); 3].map(|()| {
        spawn(move || {
            for _ in 0..2 {
                let ran = Arc::new(AtomicBool::new(false));
                let its = ran.clone();
                rcu::defer(move || its.store(true, RealRelaxed));
                waits();
                assert!(ran.load(RealRelaxed), "the barrier was over before");
            }
        })
    });
    for thread in threads {
        thread.join().expect("a panic ends the execution");
    }
}

#[test]
fn without_a_worker_the_callers_of_barriers_do_its_work() {
    all(|| barriers_of_several(rcu::barrier));
}

#[test]
#[should_panic(expected = "the barrier was over before")]
fn a_grace_period_is_no_barrier() {
    all(|| barriers_of_several(rcu::synchronize));
}
