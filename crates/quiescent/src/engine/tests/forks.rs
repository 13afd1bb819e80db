//! A recording that goes on in the child of a fork.

use std::sync::atomic::{AtomicBool, Ordering};

use quiescent_engine::replay::{BarrierInput, CpuInput, Input};

use super::super::recording::Recorder;
use super::{busy_readers, deed, find};

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
        // SAFETY: the child uses this library and the allocator, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let check = || check_in_child(recorder);
            let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(check));
            // SAFETY: takes a number.
            unsafe { libc::_exit(failed.unwrap_or(2)) };
        }
        let mut status = 0;
        // SAFETY: `status` is writable.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        done.store(true, Ordering::Relaxed);
        recorder.stop().check();
        assert_eq!(status, 0, "the child's recording");
    });
}
