//! Sections of an `Srcu` in the child of a fork: those of guards that stay on their thread have ended with
//! the threads that are not there; those of guards that may be sent are open, and reported as the parent's.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use quiescent::report::{Report, on_report};
use quiescent::stats::Holdout;
use quiescent::{RcuCell, Srcu, SyncError};

use crate::common::children::{in_child, works_and_rests};
use crate::common::healed;
use crate::common::{PATIENCE, in_both_modes, until};

/// Short, where something has to take longer than this.
const SHORT: Duration = Duration::from_millis(10);

fn leaked() -> &'static Srcu {
    Box::leak(Box::new(Srcu::new()))
}

/// A thread that has what `open` returns until this is dropped.
struct Holder {
    end: mpsc::Sender<()>,
    thread: JoinHandle<()>,
}

impl Holder {
    fn new<G>(open: impl FnOnce() -> G + Send + 'static) -> Holder {
        let (end, ended) = mpsc::channel();
        let (ready, is_ready) = mpsc::channel();
        let body = move || {
            let held = open();
            ready.send(()).expect("the test waits");
            let _ = ended.recv();
            drop(held);
        };
        let thread = thread::Builder::new().name("elsewhere".into());
        let thread = thread.spawn(body).expect("room for a thread");
        is_ready.recv().expect("it holds it");
        Holder { end, thread }
    }

    fn end(self) {
        drop(self.end);
        self.thread.join().expect("no panic");
    }
}

/// The count that newcomers join becomes the other one, while a section of this `Srcu` is open elsewhere.
fn turn_over(srcu: &'static Srcu) {
    let turns = srcu.statistics().turns;
    let holds = Holder::new(|| srcu.read_lock());
    let waits = thread::spawn(|| srcu.synchronize());
    until("newcomers join the other count", || {
        srcu.statistics().turns > turns
    });
    holds.end();
    waits.join().expect("no panic");
}

/// What blocks the grace period, by the error of a wait with a limit.
fn blocked_by(srcu: &Srcu) -> Vec<Holdout> {
    match srcu.synchronize_timeout(SHORT) {
        Err(SyncError::TimedOut { holdouts }) => holdouts,
        other => panic!("{other:?}"),
    }
}

/// This number of sections of other threads of the parent is all that blocks it, as far as it says.
fn blames_the_parent(srcu: &Srcu, sections: u32) {
    for holdouts in [blocked_by(srcu), srcu.holdouts()] {
        let [parent] = &holdouts[..] else {
            panic!("{holdouts:?}");
        };
        assert!(parent.inherited && parent.nesting == sections);
        let text = parent.to_string();
        assert!(
            text.ends_with("that other threads of the parent had open"),
            "{text}"
        );
    }
}

/// Values are dropped, and everything works.
fn frees(srcu: &'static Srcu) {
    static DROPPED: AtomicU32 = AtomicU32::new(0);
    struct Value;
    impl Drop for Value {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
    }
    let before = DROPPED.load(Ordering::Relaxed);
    let cell = RcuCell::new_in(Value, srcu);
    (0..100).for_each(|_| drop(cell.store(Value)));
    assert_eq!(srcu.synchronize_timeout(PATIENCE), Ok(()));
    srcu.barrier();
    assert_eq!(DROPPED.load(Ordering::Relaxed) - before, 100);
    assert!(srcu.holdouts().is_empty());
    works_and_rests(srcu);
}

#[test]
fn sections_that_stay_on_other_threads_have_ended_in_the_child() {
    needs!(fork);
    in_both_modes(|| {
        let srcu = leaked();
        let first = Holder::new(|| (srcu.read_lock(), srcu.read_lock()));
        turn_over_while_held(srcu);
        let second = Holder::new(|| srcu.read_owned()); // in the other count
        assert_eq!(blocked_by(srcu).len(), 1);
        in_child(|| {
            frees(srcu);
            in_child(|| frees(srcu));
        });
        assert_eq!(blocked_by(srcu)[0].name.as_deref(), Some("elsewhere"));
        first.end();
        second.end();
        frees(srcu);
    });
}

/// A grace period has begun, and waits for the sections of the count that they joined.
fn turn_over_while_held(srcu: &'static Srcu) {
    let cookie = srcu.start_grace_period();
    until("newcomers join the other count", || {
        assert!(!cookie.is_done());
        srcu.statistics().turns > 0
    });
}

#[test]
fn sections_that_may_have_been_sent_stay_open_and_are_those_of_the_parent() {
    needs!(fork);
    in_both_modes(|| {
        let srcu = leaked();
        let holder = Holder::new(|| {
            (
                srcu.read_lock_send(),
                srcu.read_lock_send(),
                srcu.read_lock(),
            )
        });
        in_child(|| {
            let own = srcu.read_lock_send();
            let holdouts = blocked_by(srcu);
            assert_eq!(holdouts.len(), 2, "{holdouts:?}");
            assert_eq!(holdouts[1].thread_id, std::process::id());
            drop(own);
            blames_the_parent(srcu, 2);
            in_child(|| blames_the_parent(srcu, 2));
            // SAFETY: those guards are on a stack that no thread of the child has.
            assert_eq!(unsafe { srcu.forget_sent_sections() }, 2);
            frees(srcu);
            in_child(|| frees(srcu));
        });
        assert_eq!(blocked_by(srcu)[0].nesting, 3);
        holder.end();
        frees(srcu);
    });
}

/// Reports of stalls in this process.
static REPORTED: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn note(report: &Report) {
    if let Report::Stalled(stall) = report {
        let mut reported = REPORTED.lock().expect("no panic");
        reported.push(stall.to_string());
        reported.push(stall.to_json());
    }
}

#[test]
fn a_stall_report_in_the_child_says_how_many_the_parent_had_open() {
    needs!(fork);
    in_both_modes(|| {
        healed::expected();
        on_report(note);
        let srcu = leaked();
        let holder = Holder::new(|| (srcu.read_lock_send(), srcu.read_lock()));
        in_child(|| {
            srcu.set_stall_after(SHORT);
            srcu.defer_hurry(|| ());
            let reported = || REPORTED.lock().expect("no panic").clone();
            until("it is reported", || !reported().is_empty());
            let [text, json] = &reported()[..2] else {
                unreachable!("two at a time");
            };
            assert!(text.contains("\n  1 section that other threads of the parent had open"));
            assert!(!text.contains("thread "), "{text}");
            assert!(json.contains(r#""nesting":1,"inherited":true"#), "{json}");
            // SAFETY: as above.
            unsafe { srcu.forget_sent_sections() };
            srcu.barrier();
        });
        holder.end();
    });
}

/// In the child the thread that forks is inside its own sections, of both kinds and in both counts, until it
/// drops their guards.
#[test]
fn the_sections_of_the_thread_that_forks_stay_open_and_end() {
    needs!(fork);
    in_both_modes(|| {
        let srcu = leaked();
        drop(srcu.read_lock());
        let cell: &'static _ = Box::leak(Box::new(RcuCell::new_in(vec![7; 100], srcu)));
        let holder = Holder::new(|| (srcu.read_lock(), srcu.read_lock_send()));
        let first = (srcu.read_lock(), srcu.read_lock_send(), srcu.read_lock());
        let turns = srcu.statistics().turns;
        thread::scope(|scope| {
            let waits = scope.spawn(|| {
                let _ = srcu.synchronize_timeout(PATIENCE);
            });
            until("newcomers join the other count", || {
                srcu.statistics().turns > turns
            });
            let mut guards = Some((first, srcu.read_lock(), srcu.read_lock_send()));
            let seen = cell.load(&guards.as_ref().expect("made above").1).as_ptr();
            in_child(|| {
                // SAFETY: a section of this thread has the vector in which it lies.
                let intact = || (0..100).all(|at| unsafe { *seen.add(at) } == 7);
                let waits = thread::spawn(|| {
                    drop(cell.store(Vec::new()));
                    blocked_by(srcu)
                });
                let holdouts = waits.join().expect("no panic");
                let own = |holdout: &Holdout| holdout.thread_id == std::process::id();
                assert!(holdouts.iter().any(own), "{holdouts:?}");
                assert_eq!(srcu.try_synchronize(), Err(SyncError::InsideSection));
                assert!(srcu.in_section() && intact());
                let ((here, sent, nested), last, last_sent) = guards.take().expect("made above");
                drop((here, sent));
                assert!(srcu.in_section());
                drop(nested);
                assert!(srcu.in_section() && intact());
                drop(last);
                assert!(!srcu.in_section());
                drop(last_sent);
                blames_the_parent(srcu, 1);
                // SAFETY: that guard is on a stack that no thread of the child has.
                assert_eq!(unsafe { srcu.forget_sent_sections() }, 1);
                frees(srcu);
            });
            drop(guards);
            holder.end();
            waits.join().expect("no panic");
        });
        frees(srcu);
    });
}

/// A guard is opened on one thread and dropped on another, so that one of them has ended more than it has
/// begun.
#[test]
fn guards_that_were_dropped_elsewhere_before_the_fork_are_set_off() {
    needs!(fork);
    in_both_modes(|| {
        for count in 0..2 {
            let new = || {
                let srcu = leaked();
                (0..count).for_each(|_| turn_over(srcu));
                srcu
            };
            let srcu = new();
            // Begun by another thread, which stays; ended here.
            let (sender, receiver) = mpsc::channel();
            let other = Holder::new(move || {
                (0..3).for_each(|_| sender.send(srcu.read_lock_send()).expect("the test waits"));
                srcu.read_lock_send()
            });
            receiver.iter().take(3).for_each(drop);
            in_child(|| {
                blames_the_parent(srcu, 1);
                in_child(|| {
                    blames_the_parent(srcu, 1);
                    // SAFETY: as above.
                    assert_eq!(unsafe { srcu.forget_sent_sections() }, 1);
                    frees(srcu);
                });
            });
            other.end();
            // Begun here, ended by another thread, which stays.
            let srcu = new();
            let (first, second) = (srcu.read_lock_send(), srcu.read_lock_send());
            let other = Holder::new(move || drop(first));
            let mut second = Some(second);
            in_child(|| {
                let holdouts = blocked_by(srcu);
                assert_eq!(holdouts.len(), 1, "{holdouts:?}");
                assert_eq!((holdouts[0].nesting, holdouts[0].inherited), (1, false));
                assert_eq!(holdouts[0].thread_id, std::process::id());
                drop(second.take());
                frees(srcu);
            });
            drop(second);
            other.end();
            frees(srcu);
        }
    });
}

/// A thread that ended inside a section keeps its slot, and is not in the child; a thread that ended outside
/// has passed its slot on, and its sent section with it.
#[test]
fn sections_of_threads_that_had_ended_before_the_fork() {
    needs!(fork);
    in_both_modes(|| {
        let srcu = leaked();
        let ends_inside = || std::mem::forget(srcu.read_lock());
        thread::spawn(ends_inside).join().expect("no panic");
        let sent = thread::spawn(|| srcu.read_lock_send())
            .join()
            .expect("no panic");
        let mut sent = Some(sent);
        in_child(|| {
            drop(sent.take());
            frees(srcu);
        });
        drop(sent);
        let holdouts = blocked_by(srcu);
        assert_eq!(holdouts.len(), 1, "{holdouts:?}");
        assert_eq!(holdouts[0].name, None, "its thread has ended: {holdouts:?}");
        in_child(|| frees(srcu));
    });
}

/// The grace period that another thread drives, or has left, in each of its phases.
#[test]
fn a_fork_in_the_middle_of_a_grace_period() {
    needs!(fork);
    in_both_modes(|| {
        let srcu = leaked();
        let checks = |sent: bool| {
            in_child(|| {
                if sent {
                    blames_the_parent(srcu, 1);
                    // SAFETY: as above.
                    unsafe { srcu.forget_sent_sections() };
                }
                frees(srcu);
            });
        };
        for sent in [false, true] {
            let hold = move || {
                let here = srcu.read_lock();
                (sent.then(|| srcu.read_lock_send()), here)
            };
            // Requested only.
            let holder = Holder::new(hold);
            let cookie = srcu.start_grace_period();
            checks(sent);
            // Begun by a poll, without a driver.
            assert!(!cookie.is_done());
            checks(sent);
            // A driver sleeps, for the count that they joined, with newcomers in the other one.
            let sleeps = srcu.statistics().sleeps;
            let waits = thread::spawn(|| srcu.synchronize());
            until("its driver sleeps", || srcu.statistics().sleeps > sleeps);
            let newer = Holder::new(move || srcu.read_lock());
            checks(sent);
            holder.end();
            newer.end();
            waits.join().expect("no panic");
            frees(srcu);
        }
        // Whatever the phase is at that moment.
        let stop = std::sync::atomic::AtomicBool::new(false);
        let rounds = AtomicU32::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    srcu.synchronize();
                    rounds.fetch_add(1, Ordering::Relaxed);
                }
            });
            for _ in 0..2 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        let (here, sent) = (srcu.read_lock(), srcu.read_lock_send());
                        drop((sent, here));
                    }
                });
            }
            for _ in 0..20 {
                let before = rounds.load(Ordering::Relaxed);
                until("it goes on", || rounds.load(Ordering::Relaxed) > before);
                in_child(|| {
                    // SAFETY: as above.
                    assert!(unsafe { srcu.forget_sent_sections() } <= 2);
                    frees(srcu);
                });
            }
            stop.store(true, Ordering::Relaxed);
        });
    });
}
