//! A worker that makes reports waits for grace periods like other threads: in a list of waiters on their
//! stacks. A reporter may end that thread.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use quiescent::report::{Report, on_report, set_stall_after};
use quiescent::tuning::set_budget;
use quiescent::{Retired, barrier, defer_hurry, statistics, synchronize};

use crate::common::healed;
use crate::common::{Reader, SHORT, isolated, sleeps, thread_id, thread_lives, until};

unsafe extern "C-unwind" {
    fn pthread_exit(value: *mut c_void) -> !;
}

/// The worker that made a report, and that the reporter has ended.
static ENDED: AtomicU32 = AtomicU32::new(0);

fn end_worker(report: &Report) {
    if matches!(report, Report::OverBudget { .. }) && ENDED.swap(thread_id(), Ordering::AcqRel) == 0
    {
        // SAFETY: on a worker of the library's, which allows for it.
        unsafe { pthread_exit(std::ptr::null_mut()) };
    }
}

/// So many have written.
static WRITTEN: AtomicU32 = AtomicU32::new(0);

/// Writes zeros over nearly all of its stack, and stays.
extern "C" fn write_over(_: *mut c_void) -> *mut c_void {
    let mut zeros = [0_u8; 1 << 20];
    std::hint::black_box(&mut zeros);
    WRITTEN.fetch_add(1, Ordering::AcqRel);
    loop {
        thread::park();
        std::hint::black_box(&mut zeros);
    }
}

/// Starts threads that write over their stacks. Those were the stacks of threads that have ended: of the
/// library's, which have 2 MiB.
fn write_over_stacks(count: u32) {
    for _ in 0..count {
        // SAFETY: the attributes are plain data, filled in before they are read; the thread never returns.
        unsafe {
            let mut how: libc::pthread_attr_t = std::mem::zeroed();
            let mut thread: libc::pthread_t = std::mem::zeroed();
            libc::pthread_attr_init(&mut how);
            libc::pthread_attr_setstacksize(&mut how, 2 << 20);
            let nothing = std::ptr::null_mut();
            assert_eq!(
                libc::pthread_create(&mut thread, &how, write_over, nothing),
                0
            );
        }
    }
    until("all have written", || {
        WRITTEN.load(Ordering::Acquire) == count
    });
}

#[test]
fn a_reporter_ends_a_worker_that_waits() {
    needs!(ends);
    isolated(|| {
        static WORKER: AtomicU32 = AtomicU32::new(0);
        static IS_OVER: AtomicBool = AtomicBool::new(false);
        static DRIVER: Mutex<u32> = Mutex::new(0);
        on_report(end_worker);
        defer_hurry(|| WORKER.store(thread_id(), Ordering::Release));
        barrier();
        let inside = Reader::inside("inside");
        let driver = thread::spawn(|| {
            *DRIVER.lock().expect("no panic") = thread_id();
            synchronize();
            IS_OVER.store(true, Ordering::Release);
        });
        let driver_sleeps = || sleeps(*DRIVER.lock().expect("no panic"));
        until("it drives", || statistics().holdouts > 0 && driver_sleeps());
        let looks = statistics().worker_passes;
        defer_hurry(|| ());
        let worker = WORKER.load(Ordering::Acquire);
        until("the worker waits for the driver", || {
            thread::sleep(SHORT);
            statistics().worker_passes > looks && sleeps(worker)
        });
        set_budget(1 << 16, u64::MAX);
        for _ in 0..100 {
            let object = NonNull::from(Box::leak(Box::new([0_u8; 4096])));
            // SAFETY: a box that no other code knows.
            unsafe { Retired::from_raw(object) }.retire();
        }
        until("it is reported", || ENDED.load(Ordering::Acquire) != 0);
        assert_eq!(ENDED.load(Ordering::Acquire), worker);
        until("it has ended", || !thread_lives(worker));
        write_over_stacks(4);
        inside.end();
        until("the driver goes home", || IS_OVER.load(Ordering::Acquire));
        driver.join().expect("no panic");
        barrier();
    });
}

/// How often a stall was reported, and a callback that does not return.
static STALLED: AtomicU32 = AtomicU32::new(0);
static STUCK: AtomicU32 = AtomicU32::new(0);

fn end_worker_each_time(report: &Report) {
    match report {
        Report::Stalled(_) => STALLED.fetch_add(1, Ordering::AcqRel),
        Report::Stuck { .. } => STUCK.fetch_add(1, Ordering::AcqRel),
        _ => return,
    };
    // SAFETY: on a worker of the library's, which allows for it.
    unsafe { pthread_exit(std::ptr::null_mut()) };
}

#[test]
fn a_reporter_of_stalls_that_ends_its_worker_is_called_again() {
    isolated(|| {
        healed::expected();
        set_stall_after(2 * SHORT);
        on_report(end_worker_each_time);
        let inside = Reader::inside("inside");
        defer_hurry(|| ()); // the worker drives
        let stalled = || STALLED.load(Ordering::Acquire);
        until("the next stall is reported", || stalled() > 1);
        inside.end();
        barrier();
    });
}

#[test]
fn a_reporter_of_stuck_callbacks_that_ends_its_worker_is_called_again() {
    isolated(|| {
        healed::expected();
        on_report(end_worker_each_time);
        for n in 0..2 {
            let (end, ended) = std::sync::mpsc::channel::<()>();
            defer_hurry(move || {
                ended.recv().ok();
            });
            let stuck = || STUCK.load(Ordering::Acquire);
            until("it is reported", || stuck() > n);
            drop(end);
            barrier();
        }
    });
}
