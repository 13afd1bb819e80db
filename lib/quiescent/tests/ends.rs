//! Processes that end in every way, for leak checkers: at its end each process holds what is still queued,
//! and all of that must be *reachable*.
//!
//! Each scenario is a process of its own, which ends by `exit` with a code of its own. In a build with a
//! sanitizer (`ci/sanitizers`), the sanitizer checks at the end, and changes the code if it finds something.
//! Without one this tests that the ends are reached.
//!
//! Not a libtest binary, because the checkers would see its threads and its output, too.

mod common;

use std::process::ExitCode;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use common::children::{fork_code, limit};
use common::deferral::{Ledger, WAYS, library_sleeps, queue_somehow};
use common::{PATIENCE, on_thread, once_more, until};
use quiescent::{
    Domain, Options, Retired, Srcu, barrier, defer_hurry, drain, read_lock, statistics,
};
use quiescent_core::os::{HAS, needs};

/// Tells a child which scenario it is.
const CHILD: &str = "QUIESCENT_TEST_END";
/// What a scenario ends with.
const END: i32 = 7;
/// More plain objects than a block of a queue holds.
const PLAIN: u64 = 700;
/// More threads than the first leaf has slots: the others' are in memory that no allocator knows.
const MANY: usize = 70;

const SCENARIOS: [(&str, fn()); 9] = [
    ("threads that ended with full queues", full_queues),
    ("more threads than a leaf has slots", many_threads),
    ("exit from another thread", exit_from_a_thread),
    ("exit from a callback", exit_from_a_callback),
    ("exit beside those who wait", exit_beside_waiters),
    ("exit when all is done", all_is_done),
    ("domains that were dropped", dropped_domains),
    ("a fork with plain memory queued", fork_with_memory),
    ("a fork whose child inherits callbacks", fork_with_callbacks),
];

fn main() -> ExitCode {
    if std::env::args().any(|argument| argument == "--list") {
        println!("ends: test");
        return ExitCode::SUCCESS;
    }
    if let Ok(name) = std::env::var(CHILD) {
        limit(); // a child that hangs is killed
        for (_, scenario) in SCENARIOS.iter().filter(|(own, _)| *own == name) {
            scenario();
        }
        return ExitCode::FAILURE; // unknown, or it came back
    }
    let mut failed = 0;
    let here = SCENARIOS
        .iter()
        .filter(|(name, _)| HAS.fork || !name.contains("fork"));
    for (name, _) in here {
        for mode in ["membarrier", "fenced"] {
            failed += u32::from(!ends_well(name, mode));
        }
    }
    println!("ends: {failed} processes failed");
    if !HAS.fork {
        needs::skipped("forks, for two of its scenarios");
    }
    ExitCode::from(if failed == 0 { 0 } else { 101 }) // as a test that panics
}

fn ends_well(name: &str, mode: &str) -> bool {
    let mut command = once_more();
    command.env(CHILD, name).env_remove("QUIESCENT_FENCE");
    if mode == "fenced" {
        command.env("QUIESCENT_FENCE", "fenced");
    }
    let output = command.output().expect("this binary starts once more");
    let well = output.status.code() == Some(END);
    if !well {
        let text = String::from_utf8_lossy(&output.stderr);
        println!("{name} ({mode}): {}\n{text}", output.status);
    }
    well
}

/// Things to queue, which the static keeps reachable.
fn ledger(things: usize) -> &'static Ledger {
    static KEPT: OnceLock<&Ledger> = OnceLock::new();
    KEPT.get_or_init(|| Ledger::new(things))
}

/// Queues plain memory, enough for several blocks.
fn queue_plain() {
    for n in 0..PLAIN {
        // SAFETY: a box of ours, retired once.
        unsafe { Retired::from_raw(NonNull::from(Box::leak(Box::new([n; 4])))).retire() };
    }
}

/// Queues plain memory, and code in every way.
fn queue_all(ledger: &'static Ledger, from: usize) {
    queue_plain();
    (from..from + WAYS).for_each(|n| queue_somehow(ledger.thing(n), n));
}

/// Starts a thread that stays in a section for ever: nothing that is queued from here on is over.
fn in_the_way() {
    static INSIDE: AtomicU32 = AtomicU32::new(0);
    thread::spawn(|| {
        let _guard = read_lock();
        INSIDE.store(1, Ordering::Release);
        loop {
            thread::park();
        }
    });
    until("it is inside", || INSIDE.load(Ordering::Acquire) == 1);
}

fn exit() -> ! {
    std::process::exit(END)
}

fn full_queues() {
    in_the_way();
    let ledger = ledger(5 * WAYS);
    for n in 0..4 {
        on_thread("full", move || queue_all(ledger, n * WAYS));
    }
    queue_all(ledger, 4 * WAYS);
    assert!(statistics().queued >= 5 * PLAIN);
    exit();
}

fn many_threads() {
    static HERE: AtomicU32 = AtomicU32::new(0);
    in_the_way();
    let ledger = ledger(MANY * WAYS);
    let mut threads = (0..MANY)
        .map(|n| {
            thread::spawn(move || {
                queue_all(ledger, n * WAYS);
                HERE.fetch_add(1, Ordering::AcqRel);
                until("all are here", || {
                    HERE.load(Ordering::Acquire) == MANY as u32
                });
            })
        })
        .collect::<Vec<_>>()
        .into_iter();
    // Half of them have ended when the process does; the rest may be anywhere.
    for thread in threads.by_ref().take(MANY / 2) {
        thread.join().expect("no panic");
    }
    // ThreadSanitizer takes the fence with which std drops a handle beside its thread's end for none.
    std::mem::forget(threads);
    exit();
}

fn exit_from_a_thread() {
    in_the_way();
    let ledger = ledger(3 * WAYS);
    on_thread("full", move || queue_all(ledger, 0));
    queue_all(ledger, WAYS);
    on_thread("ends it", move || {
        queue_all(ledger, 2 * WAYS);
        exit()
    });
}

/// On the worker, inside a callback.
fn exit_from_a_callback() {
    queue_all(ledger(WAYS), 0);
    defer_hurry(|| exit());
    loop {
        thread::park();
    }
}

/// Others wait meanwhile: for a grace period, and for a barrier.
fn exit_beside_waiters() {
    in_the_way();
    queue_all(ledger(WAYS), 0);
    thread::spawn(quiescent::synchronize);
    thread::spawn(barrier);
    until("a waiter sleeps", || statistics().sleeps > 0);
    exit();
}

fn all_is_done() {
    let ledger = ledger(2 * WAYS);
    on_thread("full", move || queue_all(ledger, 0));
    queue_all(ledger, WAYS);
    barrier();
    assert_eq!(drain(PATIENCE).left, 0);
    ledger.assert_all_once();
    exit();
}

/// Several at a time, so that none takes over another's memory. They are in pages that no allocator knows.
fn dropped_domains() {
    let domains: Vec<Domain> = (0..5).map(|_| Domain::new()).collect();
    let srcus: Vec<Srcu> = (0..5).map(|_| Srcu::new()).collect();
    domains.iter().for_each(Domain::synchronize);
    srcus.iter().for_each(Srcu::synchronize);
    drop((domains, srcus));
    exit();
}

/// The library's threads have been started and sleep. What one of them has in its hands at a fork is leaked
/// in the child, be it what it was started with.
fn until_its_threads_sleep() {
    until("the library's threads sleep", || {
        statistics().helper_threads > 0 && library_sleeps()
    });
}

/// Forks while memory is queued by a thread that is gone and by this one, which is inside a section, so
/// that no thread has taken any of it out. Child and parent free all of it.
fn fork_with_memory() {
    let guard = read_lock();
    on_thread("full", queue_plain);
    queue_plain();
    until_its_threads_sleep();
    let child = fork_code(|| {
        drop(guard);
        queue_plain();
        barrier();
        assert_eq!(drain(PATIENCE).left, 0);
        exit()
    });
    // (The guard of this process went with the closure.)
    assert_eq!(child.code(), END);
    exit();
}

fn fork_with_callbacks() {
    Options::new()
        .inherit_callbacks(true)
        .apply()
        .expect("no thread has read");
    let ledger = ledger(3 * WAYS);
    let guard = read_lock();
    on_thread("full", move || queue_all(ledger, 0));
    queue_all(ledger, WAYS);
    until_its_threads_sleep();
    let child = fork_code(|| {
        drop(guard);
        queue_all(ledger, 2 * WAYS);
        barrier();
        assert_eq!(drain(PATIENCE).left, 0);
        ledger.assert_all_once();
        exit()
    });
    assert_eq!(child.code(), END);
    barrier();
    assert_eq!(ledger.count(), 2 * WAYS);
    exit();
}
