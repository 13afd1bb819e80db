//! Callbacks that end the worker's thread with `pthread_exit`: another thread takes over, nothing is lost,
//! nothing runs twice.
//!
//! Where a test wants it, the library cannot start threads.

use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use crate::common::children::fork_code;
use crate::common::deferral::{Gate, Ledger, Thing, library_threads, queue_somehow, until_at_rest};
use crate::common::healed;
use crate::common::{in_both_modes, isolated, on_thread, thread_id, thread_lives, until};
use quiescent::intrusive::{self, Head};
use quiescent::report::{Report, on_report};
use quiescent::{RcuCell, barrier, defer, defer_hurry, read, read_lock, statistics, synchronize};
use quiescent_core::needs;

unsafe extern "C-unwind" {
    fn pthread_exit(value: *mut c_void) -> !;
}

/// Ends the calling thread, as the C library does it.
pub fn end_thread() -> ! {
    // SAFETY: on the library's threads only, which allow for it.
    unsafe { pthread_exit(std::ptr::null_mut()) }
}

/// Ends it as where panics abort, or with another C library: no destructor of any frame runs.
#[cfg(target_arch = "x86_64")]
fn end_thread_unseen() -> ! {
    // SAFETY: as above. A return address of zero is the end of the stack for an unwinder.
    unsafe {
        std::arch::asm!(
            "xor edi, edi",
            "and rsp, -16",
            "push rdi",
            "jmp {exit}",
            exit = sym pthread_exit,
            options(noreturn),
        );
    }
}

/// The library's workers get no threads.
static REFUSE_THREADS: AtomicBool = AtomicBool::new(false);

/// Is a thread refused to the calling one?
pub fn refuses_thread() -> bool {
    REFUSE_THREADS.load(Ordering::Acquire) && library_threads().contains(&thread_id())
}

/// Ends its thread when it is dropped.
struct Ends(#[allow(dead_code, reason = "it is dropped")] Thing);

impl Drop for Ends {
    fn drop(&mut self) {
        end_thread();
    }
}

#[repr(C)]
struct EndingNode {
    head: Head,
    thing: Thing,
}

/// # Safety
/// The head is the first field of a box of a node.
unsafe fn ending_head(head: NonNull<Head>) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(head.as_ptr().cast::<EndingNode>()) });
    end_thread();
}

/// Queues a thing whose callback ends its thread, in one of four ways.
fn queue_ending(thing: Thing, way: usize) {
    match way % 4 {
        0 => defer(move || {
            let _thing = thing; // dropped on the way out
            end_thread();
        }),
        1 => {
            let boxed = Box::new(Ends(thing));
            defer(move || drop(boxed));
        }
        2 => RcuCell::new(Some(Ends(thing))).store(None).retire_hurry(),
        _ => {
            let head = Head::new();
            let node = NonNull::from(Box::leak(Box::new(EndingNode { head, thing })));
            // SAFETY: the head is the first field of a node of ours, queued once.
            unsafe { intrusive::defer(node.cast(), ending_head) };
        }
    }
}

static REPORTS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn remember(report: &Report) {
    REPORTS.lock().expect("no panic").push(report.to_string());
}

#[test]
fn another_worker_goes_on() {
    needs!(ends);
    in_both_modes(|| {
        const THINGS: usize = 400;
        const ENDING: usize = THINGS / 20;
        on_report(remember);
        for round in 1..=4 {
            let ledger = Ledger::new(THINGS);
            let queue = |range: std::ops::Range<usize>| {
                for index in range {
                    match index % 20 {
                        7 => queue_ending(ledger.thing(index), index / 20),
                        _ => queue_somehow(ledger.thing(index), index / 20),
                    }
                }
            };
            queue(0..THINGS / 2);
            on_thread("departed", move || queue(THINGS / 2..THINGS));
            barrier();
            ledger.assert_all_once();
            let now = statistics();
            assert_eq!(now.callback_exits as usize, ENDING * round);
            assert_eq!(now.callbacks as usize, THINGS * round);
            let errors = (now.callback_panics, now.callbacks_stuck, now.worker_errors);
            assert_eq!((now.queued, errors), (0, (0, 0, 0)));
        }
        until("all are reported", || {
            REPORTS.lock().expect("no panic").len() == 4 * ENDING
        });
        let texts = std::mem::take(&mut *REPORTS.lock().expect("no panic"));
        let with = |part: &str| texts.iter().filter(|text| text.contains(part)).count();
        assert_eq!(with("has ended the worker's thread"), 4 * ENDING);
        assert_eq!((with("Ends"), with("intrusive")), (ENDING, ENDING));
        // No thread too many is left, and a quiet process has a quiet worker.
        until_at_rest();
        assert_eq!(statistics().helper_threads, 2);
    });
}

#[test]
fn the_thread_is_gone_with_all_it_had() {
    needs!(ends);
    in_both_modes(|| {
        struct Waits(u32);
        impl Drop for Waits {
            fn drop(&mut self) {
                // It is no callback any more, and another worker runs the others.
                synchronize();
                barrier();
                LEFT.lock().expect("no panic").push(self.0);
            }
        }
        static LEFT: Mutex<Vec<u32>> = Mutex::new(Vec::new());
        thread_local! {
            static WAITS: RefCell<Option<Waits>> = const { RefCell::new(None) };
        }
        for round in 1..=20 {
            defer_hurry(|| {
                WAITS.set(Some(Waits(thread_id())));
                let _guard = read_lock();
                end_thread();
            });
            barrier();
            until("its thread-locals are dropped", || {
                LEFT.lock().expect("no panic").len() == round
            });
            let id = LEFT.lock().expect("no panic")[round - 1];
            until("it is gone", || !thread_lives(id));
            until("its slot comes back", || statistics().registered <= 2);
        }
        assert_eq!(statistics().callback_exits, 20);
    });
}

#[test]
fn many_of_them_one_after_the_other() {
    needs!(ends);
    isolated(|| {
        const THINGS: usize = 3000;
        let ledger = Ledger::new(THINGS);
        (0..THINGS).for_each(|index| queue_ending(ledger.thing(index), index));
        barrier();
        ledger.assert_all_once();
        until("all but two are gone", || library_threads().len() <= 2);
        assert_eq!(statistics().callback_exits as usize, THINGS);
    });
}

/// Ends 200 callbacks with their threads while there are no others.
fn goes_on_itself(end: fn() -> !) {
    const THINGS: usize = 200;
    defer_hurry(|| ());
    barrier(); // the worker and the stand-by are there
    let ledger = Ledger::new(2 * THINGS);
    REFUSE_THREADS.store(true, Ordering::Release);
    for index in 0..THINGS {
        let thing = ledger.thing(2 * index);
        defer(move || {
            drop(thing);
            end();
        });
        queue_somehow(ledger.thing(2 * index + 1), index);
    }
    barrier();
    ledger.assert_all_once();
    let refused = statistics();
    assert_eq!(refused.callback_exits as usize, THINGS);
    assert_eq!(refused.worker_errors as usize, THINGS);
    REFUSE_THREADS.store(false, Ordering::Release);
    let ledger = Ledger::new(20);
    queue_ending(ledger.thing(0), 0);
    (1..20).for_each(|index| queue_somehow(ledger.thing(index), index));
    barrier();
    ledger.assert_all_once();
    assert_eq!(statistics().worker_errors, refused.worker_errors);
    until_at_rest();
    assert_eq!(statistics().helper_threads, 2);
}

#[test]
fn without_a_successor_it_goes_on_itself() {
    needs!(ends);
    in_both_modes(|| {
        goes_on_itself(end_thread);
    });
}

#[test]
#[cfg(target_arch = "x86_64")]
fn without_a_successor_it_goes_on_when_nothing_is_unwound() {
    needs!(ends);
    isolated(|| goes_on_itself(end_thread_unseen));
}

#[test]
#[cfg(target_arch = "x86_64")]
fn an_end_that_unwinds_nothing_is_noticed() {
    needs!(ends);
    in_both_modes(|| {
        let ledger = Ledger::new(100);
        for index in 0..100 {
            let thing = ledger.thing(index);
            match index % 10 {
                3 => defer(move || {
                    drop(thing); // else it leaks
                    end_thread_unseen();
                }),
                _ => queue_somehow(thing, index),
            }
        }
        barrier();
        ledger.assert_all_once();
        until_at_rest();
        let now = statistics();
        assert_eq!((now.callback_exits, now.callbacks), (10, 100));
        assert_eq!((now.helper_threads, now.worker_errors), (2, 0));
    });
}

#[test]
fn one_that_was_stuck_before_ends_alone() {
    needs!(ends);
    in_both_modes(|| {
        healed::expected();
        on_report(remember);
        let gate = Gate::new();
        let ledger = Ledger::new(101);
        let thing = ledger.thing(100);
        defer_hurry(move || {
            let _thing = thing;
            gate.pass();
            end_thread();
        });
        gate.until_reached(1);
        (0..100).for_each(|index| queue_somehow(ledger.thing(index), index));
        until("others go on", || ledger.count() == 100);
        thread::scope(|scope| {
            let waiters = crate::common::sleepers(scope, 2, barrier);
            assert!(waiters.iter().all(|waiter| !waiter.is_finished()));
            gate.open();
        });
        ledger.assert_all_once();
        until_at_rest();
        let now = statistics();
        assert_eq!((now.callbacks_stuck, now.callback_exits), (1, 1));
        assert!(now.helper_threads <= 2, "{now:?}");
    });
}

#[test]
fn a_reporter_that_ends_its_thread_stops_no_other_thread() {
    needs!(ends);
    isolated(|| {
        static REPORTED: AtomicU32 = AtomicU32::new(0);
        std::panic::set_hook(Box::new(|_| ()));
        on_report(|_| {
            REPORTED.fetch_add(1, Ordering::AcqRel);
            end_thread();
        });
        for round in 1..=10 {
            let ledger = Ledger::new(40);
            queue_ending(ledger.thing(0), round);
            defer(|| panic!("a closure"));
            (1..40).for_each(|index| queue_somehow(ledger.thing(index), index));
            barrier();
            ledger.assert_all_once();
        }
        // Of each ending, each panic, and each panicking callback whose report ended the thread.
        until("all are reported", || {
            REPORTED.load(Ordering::Acquire) == 30
        });
        assert_eq!(statistics().callback_exits, 20);
        until_at_rest();
        assert!(statistics().helper_threads <= 2, "{:?}", statistics());
    });
}

#[test]
fn a_child_forked_by_a_callback_ends_with_its_thread() {
    needs!(fork);
    in_both_modes(|| {
        static CODE: AtomicU32 = AtomicU32::new(u32::MAX);
        let ledger = Ledger::new(20);
        let thing = ledger.thing(19);
        defer_hurry(move || {
            let child = fork_code(|| {
                read(|_| ());
                end_thread(); // the only one: the child ends well
            });
            CODE.store(child.code() as u32, Ordering::Release);
            drop(thing);
        });
        (0..19).for_each(|index| queue_somehow(ledger.thing(index), index));
        barrier();
        ledger.assert_all_once();
        assert_eq!(CODE.load(Ordering::Acquire), 0);
        let now = statistics();
        assert_eq!((now.callback_exits, now.callback_panics), (0, 0));
    });
}
