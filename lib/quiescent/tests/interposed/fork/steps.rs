//! Forks while another thread is between two steps of an operation: it registers, makes a domain, the state
//! of one, a queue or a worker, takes queues over, drains, waits, or gives a domain up.
//!
//! The other thread is stopped at each of its calls of the allocator, the C library and the kernel in turn,
//! in a process that has used nothing before. The child must find no trace of that thread, and uses
//! everything. Where the call is made under a lock that *prepare* waits for, the thread goes on, and the fork
//! follows.

use std::panic::catch_unwind;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use quiescent::stats::holdouts;
use quiescent::{
    Domain, Options, RcuCell, Retired, Srcu, barrier, defer, defer_hurry, defer_lazy, drain,
    grace_period, read, statistics, synchronize, telemetry,
};
use quiescent_core::needs;

use super::everything_works;
use crate::common::children::{fork, fork_code, works_and_rests};
use crate::common::deferral::{Gate, flag};
use crate::common::healed;
use crate::common::tasks::{Bell, block_on};
use crate::common::{PATIENCE, Reader, isolated, sleeps, thread_id, until};
use crate::stopped_driver::places::{Place, stop_at, stop_nowhere};

/// The child's code if a check failed.
const FAILED: i32 = 9;
/// More calls than any operation makes.
const MOST: u32 = 200;

/// What became of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stopped {
    /// The operation makes fewer calls.
    Nowhere,
    /// The fork took place meanwhile.
    Meanwhile,
    /// The fork waited for it.
    UnderALock,
}

/// Runs `operation` on a thread that stops after so many calls, and forks then; `check` runs in the child.
fn fork_after(calls: u32, operation: impl FnOnce() + Send, check: impl FnOnce()) -> Stopped {
    let gate = Gate::new();
    let (ended, forked, waits) = (&flag(), &flag(), &flag());
    let is = |flag: &AtomicBool| flag.load(Ordering::Acquire);
    let own = thread_id();
    thread::scope(|scope| {
        scope.spawn(move || {
            stop_at(Place::Call(calls), gate);
            operation();
            stop_nowhere();
            ended.store(true, Ordering::Release);
            // No thread of the standard library ends during the fork: see `children`.
            until("the fork is over", || is(forked));
        });
        let here = || gate.reached.load(Ordering::Acquire) > 0;
        until("it stops or ends", || here() || is(ended));
        let stopped = here();
        scope.spawn(move || {
            until("the fork is over", || {
                if sleeps(own) && in_futex(own) && !is(forked) && !is(waits) {
                    waits.store(true, Ordering::Release);
                    gate.open();
                }
                is(forked)
            });
        });
        let child = fork(check);
        forked.store(true, Ordering::Release);
        gate.open();
        child.join();
        match (stopped, is(waits)) {
            (false, _) => Stopped::Nowhere,
            (true, false) => Stopped::Meanwhile,
            (true, true) => Stopped::UnderALock,
        }
    })
}

/// Whether a thread is inside `futex(2)`.
fn in_futex(thread: u32) -> bool {
    let call = std::fs::read_to_string(format!("/proc/self/task/{thread}/syscall"));
    let number = libc::SYS_futex.to_string();
    call.is_ok_and(|call| call.split(' ').next() == Some(&number))
}

/// Stops `operation` at each of its calls, each time in a process of its own in which `before` has run, and
/// checks the child of the fork.
fn at_each_call(before: fn(), operation: fn(), check: fn()) {
    isolated(|| {
        let mut meanwhile = 0;
        for calls in 0..MOST {
            let run = || {
                // Longer than the children have: one that hangs is reported as one.
                // SAFETY: a number.
                unsafe { libc::alarm(28) };
                before();
                let found = fork_after(calls, operation, || {
                    let start = healed::Start::new();
                    check();
                    start.check_in_any_case();
                });
                if found == Stopped::Nowhere && statistics().holdouts == 0 {
                    everything_works(); // in the parent, at last
                }
                found as i32
            };
            let code = fork_code(|| catch_unwind(run).unwrap_or(FAILED)).code();
            match code {
                _ if code == Stopped::Nowhere as i32 => {
                    println!("{calls} calls, {meanwhile} of them with a fork meanwhile");
                    return assert!(meanwhile > 0, "no fork took place meanwhile");
                }
                _ if code == Stopped::Meanwhile as i32 => meanwhile += 1,
                _ => assert_eq!(code, Stopped::UnderALock as i32, "after {calls} calls"),
            }
        }
        panic!("it makes more than {MOST} calls");
    });
}

static DOMAIN: Domain = Domain::new();
static SRCU: Srcu = Srcu::new();

/// For a child whose only thread has not used the library yet.
fn everything_works_anew() {
    assert_eq!((statistics().registered, holdouts()), (0, Vec::new()));
    synchronize();
    assert_eq!(statistics().takeovers, 0, "there is no other thread");
    works_and_rests(&DOMAIN);
    works_and_rests(&SRCU);
    works_and_rests(Box::leak(Box::new(Domain::new())));
    block_on(grace_period());
    assert_eq!(statistics().registered, 1, "the calling thread");
    everything_works();
}

fn nothing() {}

/// A thread that has queued in each domain, and then is idle for ever.
fn a_thread_has_queued() {
    let queued = flag();
    thread::spawn(|| {
        queue_in_all();
        queued.store(true, Ordering::Release);
        loop {
            thread::park();
        }
    });
    until("it has", || queued.load(Ordering::Acquire));
}

fn queue_in_all() {
    // SAFETY: a box of ours, retired once.
    unsafe { Retired::from_raw(NonNull::from(Box::leak(Box::new([1u64; 4])))).retire() };
    defer_lazy(|| ());
    DOMAIN.defer_lazy(|| ());
    SRCU.defer_lazy(|| ());
}

#[test]
fn of_a_registration() {
    needs!(fork);
    at_each_call(nothing, || read(|_| ()), everything_works_anew);
}

#[test]
fn of_a_registration_in_a_new_leaf() {
    needs!(fork);
    let fill = || (0..62).for_each(|_| std::mem::forget(Reader::idle("has a slot")));
    at_each_call(fill, || read(|_| ()), everything_works_anew);
}

/// The parent's threads have all the slots that there are.
#[test]
fn in_a_child_of_a_process_without_a_slot_left() {
    needs!(fork);
    let fill = || {
        Options::new().max_threads(1).apply().expect("one leaf");
        (0..62).for_each(|_| std::mem::forget(Reader::idle("has a slot")));
        std::mem::forget(Reader::idle("has none"));
        assert_eq!(statistics().registered, 62);
    };
    at_each_call(fill, synchronize, everything_works_anew);
}

#[test]
fn of_the_first_section_in_a_domain() {
    needs!(fork);
    at_each_call(nothing, || drop(DOMAIN.read_lock()), everything_works_anew);
}

/// The state is made, and a driver is there.
#[test]
fn of_the_first_grace_period_of_a_domain() {
    needs!(fork);
    at_each_call(nothing, || DOMAIN.synchronize(), everything_works_anew);
}

#[test]
fn of_the_first_grace_period_of_an_srcu() {
    needs!(fork);
    at_each_call(nothing, || SRCU.synchronize(), everything_works_anew);
}

/// Queues are made, and the worker is started.
#[test]
fn of_the_first_items_of_a_thread() {
    needs!(fork);
    at_each_call(nothing, queue_in_all, everything_works_anew);
}

#[test]
fn of_the_start_of_the_worker() {
    needs!(fork);
    let hurry = || {
        defer_hurry(|| ());
        DOMAIN.defer_hurry(|| ());
    };
    at_each_call(nothing, hurry, everything_works_anew);
}

/// With an idle reader there is a fence.
#[test]
fn of_a_grace_period() {
    needs!(fork);
    let idle = || std::mem::forget(Reader::idle("idle"));
    at_each_call(idle, synchronize, everything_works_anew);
}

/// The driver is stopped, and another thread takes its role.
#[test]
fn of_a_driver_that_replaces_another() {
    needs!(fork);
    let with_a_stopped_driver = || {
        std::mem::forget(Reader::idle("idle"));
        let gate = Gate::new();
        thread::spawn(|| {
            stop_at(Place::Fence, gate);
            synchronize();
        });
        gate.until_reached(1);
    };
    at_each_call(with_a_stopped_driver, synchronize, everything_works_anew);
}

/// Readers are in the way: the worker waits for them, and tasks for the worker.
#[test]
fn of_a_task_that_waits() {
    needs!(fork);
    let with_a_reader = || std::mem::forget(Reader::inside("in the way"));
    let ask = || {
        let mut waits = grace_period();
        assert!(Bell::new().poll(&mut waits).is_pending());
        drop(waits);
    };
    at_each_call(with_a_reader, ask, everything_works_anew);
}

/// Queues of another thread are taken over. (The thread registers first, a call in any case: the worker may
/// be through before it has to wait.)
#[test]
fn of_a_barrier() {
    needs!(fork);
    let wait = || {
        read(|_| ());
        barrier();
    };
    at_each_call(a_thread_has_queued, wait, everything_works_anew);
}

#[test]
fn of_a_barrier_of_a_domain() {
    needs!(fork);
    let wait = || {
        drop(DOMAIN.read_lock());
        DOMAIN.barrier();
    };
    at_each_call(a_thread_has_queued, wait, everything_works_anew);
}

#[test]
fn of_a_drain() {
    needs!(fork);
    let drain_all = || {
        read(|_| ());
        drain(PATIENCE);
        SRCU.drain(PATIENCE);
    };
    at_each_call(a_thread_has_queued, drain_all, everything_works_anew);
}

/// Its last handle goes, with items in it.
#[test]
fn of_the_end_of_a_domain() {
    needs!(fork);
    let made_and_dropped = || {
        let domain = Domain::new();
        domain.defer_lazy(|| ());
        drop(RcuCell::new_in([1u64; 8], &domain).store([2; 8]));
        drop(domain);
    };
    at_each_call(nothing, made_and_dropped, everything_works_anew);
}

#[test]
fn of_a_future() {
    needs!(fork);
    let wait = || {
        block_on(grace_period());
        block_on(DOMAIN.barrier_async());
    };
    at_each_call(a_thread_has_queued, wait, everything_works_anew);
}

#[test]
fn of_the_start_of_telemetry() {
    needs!(fork);
    let start = || {
        telemetry::start().expect("a page");
        DOMAIN.set_name("named");
        defer(|| ());
    };
    at_each_call(nothing, start, || {
        telemetry::start().expect("a page");
        DOMAIN.set_name("named in the child");
        everything_works_anew();
        let seen = crate::common::snapshot().expect("it is on");
        let named = |it: &quiescent_live::telemetry::Function| it.domain == "named in the child";
        assert!(seen.functions.iter().any(named), "{seen:?}");
    });
}
