//! The child of a fork whose parent's other threads are waiting, driving, reporting, changing settings or
//! using a domain: none of that holds up the child, which uses real wakers, reporters, domains and settings.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use quiescent::report::{Report, on_report, set_stall_after};
use quiescent::{
    Domain, Srcu, barrier, defer_hurry, grace_period, statistics, synchronize, synchronize_timeout,
};

mod srcu;

use crate::common::children::{in_child, readers_stay_meanwhile, works_and_rests};
use crate::common::deferral::Gate;
use crate::common::healed;
use crate::common::tasks::{Bell, block_on};
use crate::common::{Reader, in_both_modes, isolated, sleepers, until};

/// A stall time that a test need not wait for for long.
const TIME: Duration = Duration::from_millis(20);

fn leaked() -> &'static Domain {
    Box::leak(Box::new(Domain::new()))
}

/// A thread that is inside a section of the domain until the sender is dropped.
fn reading(domain: &'static Domain) -> (mpsc::Sender<()>, thread::JoinHandle<()>) {
    let (end, ended) = mpsc::channel::<()>();
    let (ready, is_ready) = mpsc::channel();
    let thread = thread::spawn(move || {
        let guard = domain.read_lock();
        ready.send(()).expect("the test waits");
        let _ = ended.recv();
        drop(guard);
    });
    is_ready.recv().expect("it reads");
    (end, thread)
}

/// Tasks wait for readers, on new threads, and are woken; the calling thread's need not wait.
fn tasks_are_woken(domain: &'static Domain) {
    for _ in 0..2 {
        block_on(grace_period());
        block_on(domain.barrier_async());
        let own = Reader::inside("the child's");
        let (end, reads) = reading(domain);
        thread::scope(|scope| {
            let tasks = sleepers(scope, 2, || block_on(grace_period()));
            let more = sleepers(scope, 2, || block_on(domain.grace_period()));
            assert!(!tasks.iter().chain(&more).any(|it| it.is_finished()));
            own.end();
            drop(end);
            // As in `children`: the calling process may fork next.
            for task in tasks.into_iter().chain(more) {
                task.join().expect("no panic");
            }
        });
        reads.join().expect("no panic");
        block_on(Srcu::new().grace_period());
    }
}

#[test]
fn a_child_awaits_grace_periods_that_others_were_driving_and_awaiting() {
    needs!(fork);
    in_both_modes(|| {
        readers_stay_meanwhile();
        let domain = leaked();
        let reader = Reader::inside("in the way");
        let (end, reads) = reading(domain);
        thread::scope(|scope| {
            // One thread drives and sleeps, others wait for it; tasks wait, and the worker for them.
            let waiters = sleepers(scope, 2, synchronize);
            let others = sleepers(scope, 2, || domain.synchronize());
            until("a driver sleeps", || statistics().sleeps > 0);
            let tasks = sleepers(scope, 2, || block_on(grace_period()));
            let more = sleepers(scope, 2, || block_on(domain.grace_period()));
            let mut own = Some(grace_period());
            let bell = Bell::new();
            assert!(bell.poll(own.as_mut().expect("made above")).is_pending());
            for _ in 0..2 {
                in_child(|| {
                    tasks_are_woken(domain);
                    block_on(own.take().expect("polled by the parent"));
                    in_child(|| tasks_are_woken(domain));
                });
            }
            let all = [waiters, others, tasks, more];
            assert!(!all.iter().flatten().any(|thread| thread.is_finished()));
            reader.end();
            drop(end);
            block_on(own.take().expect("polled above"));
        });
        reads.join().expect("no panic");
    });
}

/// Reports of the kind that a test is about; whether its reporter waits; that it does.
static REPORTS: AtomicU32 = AtomicU32::new(0);
static WAITS: AtomicBool = AtomicBool::new(true);

fn wait_in_the_first(_: &Report) {
    REPORTS.fetch_add(1, Ordering::AcqRel);
    while WAITS.load(Ordering::Acquire) {
        thread::sleep(Duration::from_millis(1));
    }
}

fn until_reported(count: u32) {
    until("it is reported", || {
        REPORTS.load(Ordering::Acquire) >= count
    });
}

/// In a child, while another thread of the parent is in the reporter: `stall` is reported.
fn is_reported_in_the_child(stall: impl FnOnce()) {
    in_child(|| {
        REPORTS.store(0, Ordering::Release);
        WAITS.store(false, Ordering::Release);
        stall();
        until_reported(1);
    });
    assert!(WAITS.load(Ordering::Acquire));
}

#[test]
fn a_child_reports_a_stall_though_another_thread_was_in_the_reporter() {
    needs!(fork);
    isolated(|| {
        healed::expected();
        on_report(wait_in_the_first);
        set_stall_after(TIME);
        let domain = leaked();
        domain.set_stall_after(TIME);
        let reader = Reader::inside("the parent's");
        let (end, reads) = reading(domain);
        thread::scope(|scope| {
            scope.spawn(synchronize);
            until_reported(1);
            scope.spawn(|| domain.synchronize());
            until_reported(2);
            is_reported_in_the_child(|| {
                let _own = Reader::inside("the child's");
                let _ = synchronize_timeout(5 * TIME);
            });
            is_reported_in_the_child(|| {
                let _own = reading(domain);
                let _ = domain.synchronize_timeout(5 * TIME);
            });
            WAITS.store(false, Ordering::Release);
            reader.end();
            drop(end);
        });
        reads.join().expect("no panic");
    });
}

#[test]
fn a_child_reports_a_stuck_callback_though_another_thread_was_in_the_reporter() {
    needs!(fork);
    isolated(|| {
        healed::expected();
        on_report(wait_in_the_first);
        let gate = Gate::new();
        defer_hurry(|| gate.pass());
        until_reported(1);
        is_reported_in_the_child(|| {
            let own = Gate::new();
            defer_hurry(|| own.pass());
            until_reported(1);
            own.open();
            barrier();
        });
        WAITS.store(false, Ordering::Release);
        gate.open();
        barrier();
    });
}

#[test]
fn a_domain_that_others_held_becomes_free_in_the_child() {
    needs!(fork);
    isolated(|| {
        let domain = leaked();
        let (end, reads) = reading(domain);
        let gate = Gate::new();
        thread::scope(|scope| {
            // Another thread reads, the worker runs a callback, others drive, wait, await and drain.
            defer_hurry(|| gate.pass());
            gate.until_reached(1);
            let waiting = sleepers(scope, 2, || domain.synchronize());
            domain.defer_hurry(|| ());
            let barriers = sleepers(scope, 2, || domain.barrier());
            let tasks = sleepers(scope, 1, || block_on(domain.barrier_async()));
            let more = sleepers(scope, 1, || block_on(domain.grace_period()));
            let drains = sleepers(scope, 1, || {
                domain.drain(crate::common::PATIENCE);
            });
            assert!(!domain.statistics().at_rest);
            for _ in 0..2 {
                in_child(|| {
                    works_and_rests(domain);
                    domain.set_stall_after(TIME);
                    in_child(|| works_and_rests(domain));
                });
            }
            let all = [waiting, barriers, tasks, more, drains];
            assert!(!all.iter().flatten().any(|thread| thread.is_finished()));
            gate.open();
            drop(end);
        });
        reads.join().expect("no panic");
        works_and_rests(domain);
    });
}

/// A thread that changes settings waits for the domain's lock during a fork, and holds that of the settings.
#[test]
fn a_child_changes_settings_that_another_thread_was_changing() {
    needs!(fork);
    isolated(|| {
        static STOP: AtomicBool = AtomicBool::new(false);
        let domain = leaked();
        domain.synchronize();
        let changes = [AtomicU32::new(0), AtomicU32::new(0)];
        thread::scope(|scope| {
            // A thread for each: one that waits for the first domain's settings is not in the second's.
            scope.spawn(|| {
                while !STOP.load(Ordering::Relaxed) {
                    set_stall_after(TIME);
                    changes[0].fetch_add(1, Ordering::Relaxed);
                }
            });
            scope.spawn(|| {
                while !STOP.load(Ordering::Relaxed) {
                    domain.set_stall_after(TIME);
                    changes[1].fetch_add(1, Ordering::Relaxed);
                }
            });
            for _ in 0..30 {
                for count in &changes {
                    let before = count.load(Ordering::Relaxed);
                    until("it goes on", || {
                        count.load(Ordering::Relaxed) > before + 100
                    });
                }
                in_child(|| {
                    set_stall_after(2 * TIME);
                    domain.set_stall_after(2 * TIME);
                    synchronize();
                });
            }
            STOP.store(true, Ordering::Relaxed);
        });
    });
}
