//! Destructors in place: where those of retired values run, where they never run, and what waits for them.

mod ends;
mod looks;
mod settings;
#[cfg(target_os = "linux")]
mod unrecorded;

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use quiescent::report::{Report, on_report};
use quiescent::{
    Domain, FenceMode, Options, RcuCell, Retired, Runner, Srcu, SyncError, barrier, drain, read,
    read_lock, statistics, synchronize, try_barrier, try_synchronize, tuning,
};

use crate::common::children::{fork, in_child};
use crate::common::deferral::{Gate, flag};
use crate::common::{Isolated, SHORT, in_both_modes, isolated, on_thread, thread_id, until};

/// Values that are dropped in the first thread of a test, and elsewhere; how many of them at once at the
/// most.
static HERE: AtomicU64 = AtomicU64::new(0);
static ELSEWHERE: AtomicU64 = AtomicU64::new(0);
static DEEPEST: AtomicU32 = AtomicU32::new(0);

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

fn here() -> u64 {
    HERE.load(Ordering::Relaxed)
}

fn elsewhere() -> u64 {
    ELSEWHERE.load(Ordering::Relaxed)
}

/// The thread of the test.
static OWNER: AtomicU32 = AtomicU32::new(0);

fn begin() {
    OWNER.store(thread_id(), Ordering::Relaxed);
}

/// Counts where it is dropped, and does something there.
struct Noted(fn());

impl Drop for Noted {
    fn drop(&mut self) {
        let depth = DEPTH.get() + 1;
        DEPTH.set(depth);
        DEEPEST.fetch_max(depth, Ordering::Relaxed);
        assert!(!INSIDE.get(), "inside a section");
        let counter = match thread_id() == OWNER.load(Ordering::Relaxed) {
            true => &HERE,
            false => &ELSEWHERE,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        (self.0)();
        DEPTH.set(depth - 1);
    }
}

fn nothing() {}

fn noted() -> RcuCell<Noted> {
    RcuCell::new(Noted(nothing))
}

/// Whether readers have no fences: otherwise the worker runs all destructors.
fn in_place() -> bool {
    statistics().fence_mode == FenceMode::Membarrier
}

#[test]
fn a_later_store_drops_two_at_the_most() {
    in_both_modes(|| {
        begin();
        let cell = noted();
        for _ in 0..50_000 {
            let before = here();
            drop(cell.store(Noted(nothing)));
            assert!(here() - before <= 2);
        }
        match in_place() {
            true => assert!(here() > 40_000 && elsewhere() == 0, "{} here", here()),
            false => assert_eq!(here(), 0),
        }
        barrier();
        assert_eq!(here() + elsewhere(), 50_000);
        assert_eq!((statistics().queued, statistics().callbacks), (0, 50_000));
    });
}

/// Of any domain whose sections belong to threads.
#[test]
fn never_inside_a_section() {
    needs!(fence);
    isolated(|| {
        static OTHER: Domain = Domain::new();
        begin();
        let (cell, in_other) = (noted(), RcuCell::new_in(Noted(nothing), &OTHER));
        let both = || {
            drop(cell.store(Noted(nothing)));
            drop(in_other.store(Noted(nothing)));
        };
        for round in 0..3 {
            (0..5000).for_each(|_| both());
            synchronize();
            OTHER.synchronize();
            (0..10).for_each(|_| both());
            let before = here();
            assert!(before > 1000);
            let (guard, other) = (read_lock(), OTHER.read_lock());
            INSIDE.set(true);
            (0..10).for_each(|_| both());
            match round {
                0 => drop(guard),
                _ => drop(other),
            }
            (0..10).for_each(|_| both());
            assert_eq!(here(), before);
            INSIDE.set(false);
        }
        barrier();
        OTHER.barrier();
        assert_eq!(statistics().callback_panics, 0, "inside a section");
    });
}

/// The same for a thread that has never read in another domain: it checks less.
#[test]
fn never_inside_a_section_of_the_only_domain() {
    needs!(fence);
    isolated(|| {
        begin();
        let cell = noted();
        for _ in 0..3 {
            (0..5000).for_each(|_| drop(cell.store(Noted(nothing))));
            synchronize();
            (0..10).for_each(|_| drop(cell.store(Noted(nothing))));
            let before = here();
            assert!(before > 1000);
            read(|_| {
                INSIDE.set(true);
                (0..10).for_each(|_| drop(cell.store(Noted(nothing))));
                assert_eq!(here(), before);
                INSIDE.set(false);
            });
            assert!((before + 1..=before + 20).contains(&here()), "at its end");
        }
        barrier();
        assert_eq!(statistics().callback_panics, 0, "inside a section");
    });
}

#[test]
fn a_destructor_that_retires_only_queues() {
    in_both_modes(|| {
        begin();
        fn more() {
            static CALLS: AtomicU64 = AtomicU64::new(0);
            // More than a block, and more than a batch now and then.
            let call = CALLS.fetch_add(1, Ordering::Relaxed);
            let many = if call % 1000 == 7 { 3000 } else { 1 };
            for _ in 0..many {
                let value = NonNull::from(Box::leak(Box::new(Noted(nothing))));
                // SAFETY: a box of ours, retired once.
                unsafe { Retired::from_raw(value) }.retire();
            }
            drop(RcuCell::new([1u64; 20]).store([2; 20]));
        }
        let cell = noted();
        (0..20_000).for_each(|_| drop(cell.store(Noted(more))));
        assert!(!in_place() || here() > 10_000);
        (0..3).for_each(|_| barrier());
        assert_eq!(statistics().queued, 0);
        assert_eq!(DEEPEST.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn waiting_inside_is_refused() {
    in_both_modes(|| {
        static REFUSED: AtomicU32 = AtomicU32::new(0);
        begin();
        fn waits() {
            let refused = try_synchronize() == Err(SyncError::InsideCallback)
                && try_barrier() == Err(SyncError::InsideCallback);
            REFUSED.fetch_add(u32::from(refused), Ordering::Relaxed);
        }
        let cell = noted();
        (0..10_000).for_each(|_| drop(cell.store(Noted(waits))));
        barrier();
        assert!(REFUSED.load(Ordering::Relaxed) >= 9_999);
        assert!(try_synchronize().is_ok(), "outside again");
    });
}

static REPORTS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn remember(report: &Report) {
    REPORTS.lock().expect("no panic").push(report.to_string());
}

#[test]
fn a_panic_is_contained_and_a_slow_one_is_reported() {
    needs!(fence);
    isolated(|| {
        begin();
        on_report(remember);
        std::panic::set_hook(Box::new(|_| ()));
        fn panics() {
            DEPTH.set(0);
            if here() == 100 {
                panic!("in place");
            }
            if here() == 200 {
                thread::sleep(Duration::from_millis(20));
            }
        }
        let cell = noted();
        (0..10_000).for_each(|_| drop(cell.store(Noted(panics))));
        assert_eq!(statistics().callback_panics, 1);
        let reports = REPORTS.lock().expect("no panic");
        let with = |part: &str| reports.iter().filter(|text| text.contains(part)).count();
        assert_eq!((with("panicked"), with("Noted")), (1, reports.len()));
        assert!(with("inside a call of retire") >= usize::from(cfg!(debug_assertions)));
    });
}

/// A thread that stays in a destructor, and the gate there.
fn stuck_owner<'s>(
    scope: &'s thread::Scope<'s, '_>,
    returned: &'static AtomicBool,
) -> (&'static Gate, thread::ScopedJoinHandle<'s, ()>) {
    struct Waits(&'static Gate, &'static AtomicBool);
    impl Drop for Waits {
        fn drop(&mut self) {
            self.0.pass();
            self.1.store(true, Ordering::Release);
        }
    }
    let gate = Gate::new();
    let owner = scope.spawn(move || {
        let cell = RcuCell::new(None);
        let plain = RcuCell::new([0u64; 9]); // for its queue not to be empty
        drop(cell.store(Some(Waits(gate, returned))));
        drop(cell.store(None)); // it is retired: the first of its queue
        while !returned.load(Ordering::Acquire) {
            drop(plain.store([0; 9]));
            drop(cell.store(None));
        }
        // It pushes no more, and stays.
        thread::park();
    });
    gate.until_reached(1);
    (gate, owner)
}

/// The owner has popped the entry, so its queue alone would suggest that the destructor has run.
#[test]
fn a_barrier_and_a_drain_wait_for_a_running_destructor() {
    isolated(|| {
        for by_drain in [false, true] {
            let returned = flag();
            thread::scope(|scope| {
                let (gate, owner) = stuck_owner(scope, returned);
                let waiter = scope.spawn(move || {
                    match by_drain {
                        true => assert_eq!(drain(Duration::from_secs(60)).left, 0),
                        false => barrier(),
                    }
                    assert!(returned.load(Ordering::Acquire), "it has not returned");
                });
                thread::sleep(SHORT * 20); // for those who do not wait
                gate.open();
                waiter.join().expect("waited");
                owner.thread().unpark();
            });
        }
    });
}

/// As where it waits for a lock that the caller of `store` holds.
#[test]
fn a_destructor_that_does_not_return_is_reported() {
    needs!(fence);
    isolated(|| {
        on_report(remember);
        // Not so short that the worker takes the value before its owner, on a busy machine.
        let short = tuning::FlushTimes {
            lazy: SHORT * 400,
            prompt: SHORT,
        };
        tuning::set_flush_times(short);
        let returned = flag();
        thread::scope(|scope| {
            let (gate, owner) = stuck_owner(scope, returned);
            let reported = || {
                let reports = REPORTS.lock().expect("no panic");
                let parts = ["has been in the destructor", "Waits", "on_worker"];
                let is_it = |text: &&String| parts.iter().all(|part| text.contains(part));
                reports.iter().filter(is_it).count()
            };
            until("it is reported", || reported() > 0);
            thread::sleep(SHORT * 50);
            assert_eq!(reported(), 1, "once");
            gate.open();
            until("it returns", || returned.load(Ordering::Acquire));
            owner.thread().unpark();
        });
    });
}

/// In the child it is not run.
#[test]
fn a_fork_forgets_what_others_run() {
    needs!(fence);
    isolated(|| {
        let returned = flag();
        thread::scope(|scope| {
            let (gate, owner) = stuck_owner(scope, returned);
            in_child(|| {
                barrier();
                drain(Duration::from_secs(60));
                assert_eq!(statistics().queued, 0);
            });
            gate.open();
            until("it returns", || returned.load(Ordering::Acquire));
            barrier();
            owner.thread().unpark();
        });
    });
}

/// A destructor that forks goes on in both processes; what it was popped with runs in the parent only.
#[cfg(target_os = "linux")]
#[test]
fn a_destructor_that_forks() {
    needs!(fence);
    isolated(|| {
        static CHILD: AtomicBool = AtomicBool::new(false);
        static FORKED: AtomicU64 = AtomicU64::new(0);
        static BEHIND: AtomicU64 = AtomicU64::new(0);
        begin();
        fn forks() {
            if CHILD.load(Ordering::Relaxed) {
                BEHIND.fetch_add(1, Ordering::Relaxed);
            } else if [5001, 6002].contains(&here()) {
                // One of them is the first of two.
                // SAFETY: the child does what children may.
                match unsafe { libc::fork() } {
                    0 => CHILD.store(true, Ordering::Relaxed),
                    child => {
                        FORKED.fetch_add(1, Ordering::Relaxed);
                        let mut status = 0;
                        // SAFETY: `status` is writable.
                        unsafe { libc::waitpid(child, &mut status, 0) };
                        assert_eq!(status, 0, "the child");
                    }
                }
            }
        }
        let cell = noted();
        // A reader holds them back, so that two are popped at a time.
        let guard = read_lock();
        (0..20_000).for_each(|_| drop(cell.store(Noted(forks))));
        drop(guard);
        for _ in 0..40_000 {
            drop(cell.store(Noted(forks)));
            if CHILD.load(Ordering::Relaxed) {
                let one = BEHIND.load(Ordering::Relaxed);
                drop(cell.store(Noted(nothing)));
                drain(Duration::from_secs(60));
                let fine = one == 0 && statistics().queued == 0;
                // SAFETY: takes a number.
                unsafe { libc::_exit(i32::from(!fine)) };
            }
        }
        assert_eq!(FORKED.load(Ordering::Relaxed), 2);
        assert_eq!(statistics().callback_panics, 0);
        barrier();
        fork(|| barrier()).join();
    });
}

/// What a thread leaves goes to the worker.
#[test]
fn a_thread_that_ends_leaves_them_to_the_worker() {
    in_both_modes(|| {
        begin();
        for _ in 0..20 {
            on_thread("short", || {
                let cell = noted();
                (0..300).for_each(|_| drop(cell.store(Noted(nothing))));
            });
        }
        barrier();
        assert_eq!(elsewhere(), 20 * 301); // with the last values, which the cells drop
        assert_eq!(statistics().queued, 0);
    });
}
