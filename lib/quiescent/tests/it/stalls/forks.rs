//! The child of a fork: reports there do not blame the parent's readers.

use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;

use quiescent::report::{on_report, set_stall_after};
use quiescent::{barrier, defer_hurry, statistics, synchronize, synchronize_timeout};

use super::{REPORTED, TIME, listen, reported, until_reported};
use crate::common::children::{fork, in_child, limit};
use crate::common::healed;
use crate::common::{Reader, in_both_modes, sleepers, until};

#[test]
fn a_child_blames_its_own_readers_only() {
    needs!(fork);
    in_both_modes(|| {
        listen(TIME);
        let slow = Reader::inside("the parent's");
        // In the middle of a stalled grace period, with its driver asleep.
        thread::scope(|scope| {
            let callers = sleepers(scope, 1, synchronize);
            until_reported(1);
            let child = fork(|| {
                REPORTED.lock().expect("no panic").clear();
                thread::sleep(5 * TIME);
                synchronize();
                assert_eq!((reported(), statistics().stalls), (vec![], 0));
                let own = Reader::inside("the child's");
                let _ = synchronize_timeout(3 * TIME);
                let report = reported().swap_remove(0).0;
                assert_eq!((report.report, report.readers.len()), (1, 1));
                let name = report.readers[0].holdout.name.as_deref();
                assert_eq!(name, Some("the child's"));
                own.end();
                synchronize();
            });
            child.join();
            slow.end();
            for caller in callers {
                caller.join().expect("no panic");
            }
        });
    });
}

#[test]
fn a_child_that_is_inside_itself_says_so() {
    needs!(fork);
    in_both_modes(|| {
        listen(TIME);
        quiescent::read(|_| {
            in_child(|| {
                defer_hurry(|| ());
                let report = until_reported(1).swap_remove(0).0;
                let reader = &report.readers[0];
                assert_eq!(reader.holdout.thread_id, std::process::id());
            });
        });
    });
}

static FORKED: AtomicI32 = AtomicI32::new(0);

/// A reporter that forks. Waiters at that time continue to wait, in both processes; in the child
/// there is no reader to wait for.
#[test]
fn a_reporter_may_fork() {
    needs!(fork);
    in_both_modes(|| {
        healed::expected();
        on_report(|_| {
            if FORKED.load(Ordering::Acquire) == 0 {
                // SAFETY: the child does what children may do.
                let pid = unsafe { libc::fork() };
                FORKED.store(if pid == 0 { -1 } else { pid }, Ordering::Release);
            }
        });
        set_stall_after(TIME);
        let slow = Reader::inside("slow");
        thread::scope(|scope| {
            let caller = scope.spawn(|| {
                synchronize();
                if FORKED.load(Ordering::Acquire) == -1 {
                    limit();
                    synchronize();
                    let own = Reader::inside("the child's");
                    let timed_out = synchronize_timeout(TIME).is_err();
                    own.end();
                    defer_hurry(|| ());
                    barrier();
                    let code = if timed_out { 7 } else { 1 };
                    // SAFETY: takes a number.
                    unsafe { libc::_exit(code) };
                }
            });
            until("the reporter forks", || FORKED.load(Ordering::Acquire) != 0);
            let mut status = 0;
            let child = FORKED.load(Ordering::Acquire);
            assert!(child > 0, "fork: {}", std::io::Error::last_os_error());
            // SAFETY: `status` is writable.
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            assert!(libc::WIFEXITED(status), "{status:#x}");
            assert_eq!(libc::WEXITSTATUS(status), 7);
            slow.end();
            caller.join().expect("no panic");
        });
    });
}
