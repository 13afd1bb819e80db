//! A recording that continues in the child of a fork.

use std::sync::atomic::{AtomicBool, Ordering};

use std::sync::Barrier;
use std::time::Duration;

use quiescent_engine::{Interest, Look};
use quiescent_harness::replay::{BarrierInput, CpuInput, Entry, Input, Output};

use super::recorder::{Recorder, Run};
use super::{busy_readers, deed, find, left_to_the_worker, short_lived};

/// What the child found wrong.
fn check_in_child(recorder: Recorder) -> i32 {
    // Threads of its own would be the standard library's, which may have been forked in mid-start.
    (0..12).for_each(deed);
    crate::barrier();
    let run = recorder.stop();
    run.check();
    let forked = find(&run.entries, |e| e.input == Input::Forked);
    find(&run.entries, |e| {
        e.input == Input::Barrier(BarrierInput::Forked)
    });
    let is_cpus = |input: &Input| matches!(input, Input::Cpu(_, CpuInput::Forked { .. }));
    let queues = run.entries[..forked].iter().filter(|e| is_cpus(&e.input));
    let goes_on = run.entries.len() > forked + 20 && forked > 1000;
    i32::from(!goes_on || queues.count() < 4)
}

/// Rule R1 across forks: what the child made of the parent's state is an input like any other.
#[test]
fn a_run_that_forks_replays_bit_for_bit() {
    quiescent_core::needs!(fork);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let recorder = Recorder::start();
        scope.spawn(|| busy_readers(&done));
        for n in 0..4 {
            let done = &done;
            scope.spawn(move || {
                let mut turn = n;
                while !done.load(Ordering::Relaxed) {
                    deed(turn);
                    turn += 1;
                }
            });
        }
        let grace_periods = crate::statistics().grace_periods;
        while crate::statistics().grace_periods < grace_periods + 200 {
            crate::synchronize();
        }
        let (recorder, status) = in_child(recorder, check_in_child);
        done.store(true, Ordering::Relaxed);
        recorder.stop().check();
        assert_eq!(status, 0, "the child's recording");
    });
}

/// Forks; the child ends with what `check` finds. In the parent: the recorder, and how the child ended.
fn in_child(recorder: Recorder, check: fn(Recorder) -> i32) -> (Recorder, i32) {
    // SAFETY: the child uses this library and the allocator, and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let check = || check(recorder);
        let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(check));
        // SAFETY: takes a number.
        unsafe { libc::_exit(failed.unwrap_or(2)) };
    }
    let mut status = 0;
    // SAFETY: `status` is writable.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    (recorder, status)
}

/// Takes the driver role, does nothing until another thread has taken it over, and continues.
fn silent_driver() {
    let domain = crate::global::home();
    let epoch = loop {
        let mut core = domain.lock();
        if core.try_drive(None, Interest::Poller) {
            break core.engine.driver_epoch();
        }
        drop(core);
        std::thread::yield_now();
    };
    while domain.lock().engine.driver_epoch() == epoch {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(!domain.lock().resume(epoch), "it drives no more");
}

/// Where each kind of thing is in a recording that has them all, up to the fork.
fn landmarks(run: &Run) -> [usize; 5] {
    let before = |what: fn(&Entry) -> bool| find(&run.entries, what);
    [
        // A queue taken from its owner, and one that was due by its deadline: by the worker.
        before(|e| matches!(e.input, Input::Cpu(_, CpuInput::Taken { .. }))),
        before(|e| {
            let due = matches!(e.input, Input::Cpu(_, CpuInput::Due { .. }));
            due && matches!(e.output, Output::Due(Some(_)))
        }),
        before(|e| matches!(e.input, Input::Cpu(_, CpuInput::Ran { .. }))),
        // A driver that was silent lost its role, and came back.
        before(|e| e.output == Output::Look(Look::TakenOver)),
        before(|e| matches!(e.input, Input::Resume { .. }) && e.output == Output::Done(false)),
    ]
}

/// The child's half of the run with all of it.
fn check_all_in_child(recorder: Recorder) -> i32 {
    (0..12).for_each(deed);
    crate::barrier();
    let run = recorder.stop();
    run.check();
    let forked = find(&run.entries, |e| e.input == Input::Forked);
    let earlier = landmarks(&run).into_iter().all(|at| at < forked);
    // Checks that a replay detects errors: a corrupted observation of the driver is found.
    let at = landmarks(&run)[3];
    run.must_diverge(at, |e| e.output = Output::Look(Look::Yours));
    run.must_diverge(forked + 1, |e| e.output = Output::Look(Look::Yours));
    i32::from(!earlier || run.entries.len() < forked + 20)
}

/// All in one run: four threads and more that queue and wait, churn, a take-over by the worker, a driver that
/// loses its role, a fork. It replays bit for bit in the parent, and in the child, whose half goes on from
/// the fork.
#[test]
fn churn_a_take_over_a_silent_driver_and_a_fork_in_one_run_replay_bit_for_bit() {
    quiescent_core::needs!(fork);
    let done = AtomicBool::new(false);
    let quiet = Barrier::new(2);
    std::thread::scope(|scope| {
        let recorder = Recorder::start();
        scope.spawn(|| busy_readers(&done));
        scope.spawn(|| {
            short_lived();
            quiet.wait(); // queued
            quiet.wait(); // and not looked after
        });
        quiet.wait();
        // More than once: a thread of the test before this one may be draining still, and then it runs them.
        (0..5).for_each(|_| left_to_the_worker(crate::defer));
        for n in 0..4 {
            let done = &done;
            scope.spawn(move || {
                let mut turn = n;
                while !done.load(Ordering::Relaxed) {
                    deed(turn);
                    turn += 1;
                }
            });
        }
        for _ in 0..20 {
            let unregistered: Vec<_> = (0..6).map(|_| scope.spawn(short_lived)).collect();
            unregistered
                .into_iter()
                .for_each(|t| t.join().expect("it only queues"));
        }
        let silent = scope.spawn(silent_driver);
        crate::synchronize();
        while !silent.is_finished() {
            crate::synchronize();
        }
        let (recorder, status) = in_child(recorder, check_all_in_child);
        done.store(true, Ordering::Relaxed);
        quiet.wait();
        let run = recorder.stop();
        run.check();
        landmarks(&run);
        assert_eq!(status, 0, "the child's recording");
    });
}
