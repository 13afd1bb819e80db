//! The child of a fork: nobody there is blamed for what the parent's readers do.

use std::thread;

use quiescent::{call_hurry, statistics, synchronize, synchronize_timeout};

use super::common::children::{fork, in_child};
use super::common::deferral::in_both_modes;
use super::common::{Reader, sleepers};
use super::{TIME, TOLD, listen, told, until_told};

#[test]
fn a_child_blames_its_own_readers_only() {
    in_both_modes("forks::a_child_blames_its_own_readers_only", || {
        listen(TIME);
        let slow = Reader::inside("the parent's");
        // In the middle of a stalled grace period, with its driver asleep.
        thread::scope(|scope| {
            let callers = sleepers(scope, 1, synchronize);
            until_told(1);
            let child = fork(|| {
                TOLD.lock().expect("no panic").clear();
                thread::sleep(5 * TIME);
                synchronize();
                assert_eq!((told(), statistics().stalls), (vec![], 0));
                let own = Reader::inside("the child's");
                let _ = synchronize_timeout(3 * TIME);
                let report = told().swap_remove(0).0;
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
    in_both_modes("forks::a_child_that_is_inside_itself_says_so", || {
        listen(TIME);
        quiescent::read(|_| {
            in_child(|| {
                call_hurry(|| ());
                let report = until_told(1).swap_remove(0).0;
                let reader = &report.readers[0];
                assert_eq!(reader.holdout.thread_id, std::process::id());
            });
        });
    });
}
