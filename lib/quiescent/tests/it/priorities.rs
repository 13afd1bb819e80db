//! Threads of different priority on one processor: an urgent waiter behind a driver that does not get to run.
//!
//! Real-time scheduling needs a permission (root, `CAP_SYS_NICE` or `RLIMIT_RTPRIO`). Without it the tests
//! use the best available: then the driver is slow but not starved, and they show less. They print what they
//! used.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, Scope};

use crate::common::healed;
use crate::common::{in_both_modes, thread_id, until};
use quiescent::{defer, read_lock, start_grace_period, statistics, synchronize};

/// The calling thread is scheduled so from now on.
fn schedule(policy: libc::c_int, priority: libc::c_int) -> io::Result<()> {
    let parameters = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY: `parameters` is readable; 0 is the calling thread.
    match unsafe { libc::sched_setscheduler(0, policy, &parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The calling thread, and those that it starts, run on one processor.
fn stay_on_one_processor() {
    // SAFETY: the set is plain data, large enough for the processor's number.
    unsafe {
        let processor = libc::sched_getcpu();
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(processor as usize, &mut set);
        assert_eq!(libc::sched_setaffinity(0, size_of_val(&set), &set), 0);
    }
}

/// How urgent a thread is.
#[derive(Clone, Copy)]
enum Urgency {
    /// Runs when nothing else wants to.
    Idle,
    /// Keeps the processor from all that are less urgent.
    Busy,
    /// Must not wait.
    RealTime,
}

/// Sees to it that threads have their urgencies, as far as that is permitted.
#[derive(Clone, Copy)]
struct Permitted {
    real_time: bool,
}

impl Permitted {
    /// Finds out. The calling thread is the most urgent one from now on, where that can be.
    fn find_out() -> Permitted {
        let real_time = schedule(libc::SCHED_FIFO, 30).is_ok();
        Permitted { real_time }
    }

    /// Tells, in the process that starts the others.
    fn tell() {
        let permitted = crate::common::on_thread("asks", Permitted::find_out);
        println!(
            "priorities: {}",
            match permitted.real_time {
                true =>
                    "SCHED_FIFO 20 behind SCHED_IDLE, with busy threads of SCHED_FIFO 10 on the \
                     same processor",
                false =>
                    "SCHED_OTHER behind SCHED_IDLE: SCHED_FIFO is not permitted, so no thread is starved",
            }
        );
    }

    /// The calling thread has this urgency.
    fn give(self, urgency: Urgency) {
        let (policy, priority) = match urgency {
            Urgency::Idle => (libc::SCHED_IDLE, 0),
            Urgency::Busy if self.real_time => (libc::SCHED_FIFO, 10),
            Urgency::RealTime if self.real_time => (libc::SCHED_FIFO, 20),
            _ => return,
        };
        schedule(policy, priority).expect("it is permitted");
    }
}

/// A driver that was woken for the end of its grace period, and does not get to run as long as `busy` is set.
/// Returns what is set when it is through.
fn starved_driver<'s>(
    scope: &'s Scope<'s, '_>,
    permitted: Permitted,
    busy: &'s AtomicBool,
) -> &'static AtomicBool {
    healed::expected();
    let (inside, is_inside) = mpsc::channel();
    let (end, ended) = mpsc::channel::<()>();
    let reader = scope.spawn(move || {
        let guard = read_lock();
        inside.send(()).expect("the test waits");
        let _ = ended.recv();
        drop(guard);
    });
    is_inside.recv().expect("it reads");
    let sleeping = statistics().sleeps;
    let through = crate::common::deferral::flag();
    scope.spawn(move || {
        permitted.give(Urgency::Idle);
        synchronize();
        through.store(true, Ordering::Release);
    });
    until("the driver sleeps", || statistics().sleeps > sleeping);
    busy.store(true, Ordering::Release);
    for _ in 0..2 {
        scope.spawn(move || {
            permitted.give(Urgency::Busy);
            while busy.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
    }
    drop(end);
    reader.join().expect("no panic");
    through
}

/// How often a thread has gone to sleep.
fn switches(thread: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/self/task/{thread}/status"));
    let status = status.expect("a thread of this process");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.expect("a count").trim().parse().expect("a number")
}

/// `urgent` gets there behind a starved driver.
fn gets_there(urgent: fn()) {
    stay_on_one_processor();
    let permitted = Permitted::find_out();
    // The kernel may let an idle thread run for a moment now and then, however busy real-time threads are:
    // such a round tells nothing. (Kernels with a server for them do so for a twentieth of a second each
    // second: rounds go on for longer than that.)
    let mut starved = 0;
    for round in 0.. {
        if starved == 3 || (round == 3 && !permitted.real_time) {
            break;
        }
        assert!(
            round < 300,
            "the driver was not starved, but {starved} times"
        );
        let busy = AtomicBool::new(false);
        let before = statistics().takeovers;
        thread::scope(|scope| {
            let driver = starved_driver(scope, permitted, &busy);
            let waiter = scope.spawn(move || {
                permitted.give(Urgency::RealTime);
                let before = switches(thread_id());
                urgent();
                (
                    switches(thread_id()) - before,
                    driver.load(Ordering::Acquire),
                )
            });
            let (slept, finished) = waiter.join().expect("no panic");
            busy.store(false, Ordering::Release);
            if permitted.real_time && !finished {
                starved += 1;
                assert_eq!(statistics().takeovers, before + 1, "its role was taken");
                assert!(slept < 20, "two looks were enough, not {slept}");
            }
        });
        let after = statistics();
        assert_eq!((after.stalls, after.busy), (0, false));
    }
}

#[test]
fn a_real_time_waiter_behind_a_driver_of_low_priority() {
    Permitted::tell();
    in_both_modes(|| gets_there(synchronize));
}

#[test]
fn a_real_time_poller_behind_a_driver_of_low_priority() {
    needs!(native);
    Permitted::tell();
    in_both_modes(|| {
        gets_there(|| {
            let cookie = start_grace_period();
            // At intervals: the engine compares two inspections of the driver that are some time apart.
            until_rarely("polling gets there", || cookie.is_done());
        });
    });
}

/// As [`until`], with few sleeps.
fn until_rarely(what: &str, mut condition: impl FnMut() -> bool) {
    for _ in 0..400 {
        if condition() {
            return;
        }
        thread::sleep(std::time::Duration::from_millis(75));
    }
    panic!("waited for ever: {what}");
}

#[test]
fn callbacks_of_a_real_time_thread_run_though_a_driver_is_starved() {
    needs!(native);
    Permitted::tell();
    in_both_modes(|| {
        // The worker has been started, with the priority of the thread that started it: threads inherit it.
        stay_on_one_processor();
        let permitted = Permitted::find_out();
        let ran = crate::common::deferral::flag();
        defer(|| ran.store(true, Ordering::Release));
        until("the worker runs it", || ran.load(Ordering::Acquire));
        let mut starved = !permitted.real_time;
        for _ in 0..100 {
            let busy = AtomicBool::new(false);
            thread::scope(|scope| {
                let driver = starved_driver(scope, permitted, &busy);
                let again = crate::common::deferral::flag();
                defer(|| again.store(true, Ordering::Release));
                until("the worker runs it", || again.load(Ordering::Acquire));
                starved |= !driver.load(Ordering::Acquire);
                busy.store(false, Ordering::Release);
            });
            assert_eq!((statistics().stalls, statistics().busy), (0, false));
            if starved {
                return;
            }
        }
        panic!("the driver was not starved");
    });
}
