//! Models of readers beside an updater. loom tries all schedules with at most so many preemptions.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use downstream_loom::{Current, Settings};
use loom::thread;
use quiescent::{Domain, Global, RcuCell, Srcu, barrier, read_lock, synchronize};

fn explore(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let executions = Arc::new(AtomicUsize::new(0));
    let count = executions.clone();
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    builder.check(move || {
        count.fetch_add(1, Ordering::Relaxed);
        model();
    });
    println!("{} executions", executions.load(Ordering::Relaxed));
}

/// A reader beside an updater that replaces the settings, and frees the old ones with `free`.
fn replace(read: fn(&Current<Global>), free: fn()) {
    let current = Arc::new(Current(RcuCell::new(Settings::new(1))));
    let shared = current.clone();
    let reader = thread::spawn(move || read(&shared));
    current.0.store(Settings::new(2));
    free();
    reader.join().expect("a panic ends the model");
    barrier();
}

fn guarded(current: &Current<Global>) {
    let guard = read_lock();
    let limit = current.limit(&guard);
    assert!(limit == 1 || limit == 2, "dropped settings were read");
}

fn unguarded(current: &Current<Global>) {
    let settings = current.unguarded(read_lock());
    thread::yield_now(); // loom changes threads at atomics and here, not where a cell is accessed
    settings.limit();
}

#[test]
fn a_guard_keeps_what_it_reads() {
    explore(3, || replace(guarded, barrier));
}

#[test]
#[should_panic(expected = "Concurrent read and write")]
fn a_reference_kept_past_its_guard_is_found() {
    explore(3, || replace(unguarded, barrier));
}

#[test]
fn a_value_that_was_waited_for_is_the_updaters() {
    explore(3, || {
        let current = Arc::new(Current(RcuCell::new(Settings::new(1))));
        let shared = current.clone();
        let reader = thread::spawn(move || guarded(&shared));
        assert_eq!(current.0.store(Settings::new(2)).wait().limit(), 1);
        reader.join().expect("a panic ends the model");
    });
}

/// A reader of a domain of the program, beside an updater that waits for the readers of that.
fn in_domain(wait: fn(&Domain)) {
    let domain = Domain::new();
    let current = Arc::new(Current(RcuCell::new_in(Settings::new(1), domain.clone())));
    let (shared, its) = (current.clone(), domain.clone());
    let reader = thread::spawn(move || {
        let guard = its.read_lock();
        assert_ne!(shared.limit(&guard), 0);
    });
    let old = current.0.store(Settings::new(2)).leak();
    wait(&domain);
    // SAFETY: it was waited for, or not: loom looks.
    unsafe { std::ptr::from_ref(old).cast_mut().drop_in_place() };
    reader.join().expect("a panic ends the model");
}

#[test]
fn a_domain_waits_for_its_readers() {
    explore(2, || in_domain(Domain::synchronize));
}

#[test]
#[should_panic(expected = "Concurrent read and write")]
fn to_wait_for_the_readers_of_another_domain_is_found() {
    explore(2, || in_domain(|_| synchronize()));
}

#[test]
fn an_srcu_waits_for_its_readers() {
    explore(2, || {
        let srcu = Srcu::new();
        let current = Arc::new(Current(RcuCell::new_in(Settings::new(1), srcu.clone())));
        let shared = current.clone();
        let its = srcu.clone();
        let reader = thread::spawn(move || {
            let guard = its.read_lock();
            assert_ne!(shared.limit(&guard), 0);
        });
        current.0.store(Settings::new(2));
        srcu.barrier();
        reader.join().expect("a panic ends the model");
    });
}
