//! `shutdown`: what it gives back, what it leaves, where it is refused; and everything at the same time.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use crate::common::backlog::{ENTERED, MANY, OUT_OF_ORDER, RAN, pile_up, two_processors};
#[cfg(target_os = "linux")]
use crate::common::children::fork;
use crate::common::deferral::library_threads;
use crate::common::tasks::block_on;
use crate::common::{isolated, until};
use quiescent::{Domain, RcuCell, Shutdown, Srcu, SyncError, shutdown};

const LONG: Duration = Duration::from_secs(60);

/// The number of descriptors of this process, if the system says so.
fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

/// Returns how much it has run.
fn complete(limit: Duration) -> u64 {
    let done = shutdown(limit).expect("not inside anything");
    assert!(done.is_complete(), "{done:?}");
    done.ran
}

/// The program drains on threads of its choice.
#[test]
fn it_leaves_what_the_program_drains() {
    isolated(|| {
        let domain = Domain::new();
        domain.set_destructors(quiescent::Runner::Drained);
        let ran = Arc::new(AtomicBool::new(false));
        let runs = ran.clone();
        domain.defer(move || runs.store(true, Ordering::SeqCst));
        let done = shutdown(LONG).expect("not inside anything");
        assert!(
            !ran.load(Ordering::SeqCst) && done.left.len() == 1,
            "{done:?}"
        );
        assert_eq!(
            (domain.drain(LONG).left, ran.load(Ordering::SeqCst)),
            (0, true)
        );
    });
}

#[test]
fn it_gives_back_threads_and_descriptors_and_the_next_call_starts_again() {
    isolated(|| {
        let before = descriptors();
        complete(LONG); // nothing was ever started
        static RAN: AtomicU64 = AtomicU64::new(0);
        for round in 1..=5 {
            // A backlog, for the overflow worker; callbacks, for the stand-by.
            let count = || _ = RAN.fetch_add(1, Ordering::Relaxed);
            (0..20_000).for_each(|_| quiescent::defer(count));
            quiescent::defer_hurry(count);
            quiescent::barrier();
            assert!(quiescent::statistics().helper_threads > 0);
            let domain = Domain::new();
            let cell = RcuCell::new_in(String::from("old"), &domain);
            drop(cell.store(String::from("new")));
            quiescent::defer_lazy(count);
            assert_eq!(complete(LONG), 2);
            assert_eq!(RAN.load(Ordering::Relaxed), 20_002 * round);
            assert_eq!(quiescent::statistics().helper_threads, 0);
            assert!(library_threads().is_empty(), "they are joined");
            assert_eq!(descriptors(), before);
            assert_eq!(complete(LONG), 0, "a second one finds nothing");
        }
    });
}

#[test]
fn it_is_refused_inside_a_section_and_inside_a_callback() {
    isolated(|| {
        let zero = Duration::ZERO;
        let (domain, srcu) = (Domain::new(), Srcu::new());
        let inside = Err(SyncError::InsideSection);
        quiescent::read(|_| assert_eq!(shutdown(zero), inside));
        domain.read(|_| assert_eq!(shutdown(zero), inside));
        srcu.read(|_| assert_eq!(shutdown(zero), inside));
        static SEEN: Mutex<Vec<Result<Shutdown, SyncError>>> = Mutex::new(Vec::new());
        let see = || {
            SEEN.lock()
                .expect("no panic")
                .push(shutdown(Duration::ZERO))
        };
        quiescent::defer_hurry(see);
        quiescent::barrier();
        struct Drops(fn());
        impl Drop for Drops {
            fn drop(&mut self) {
                (self.0)();
            }
        }
        let cell = RcuCell::new_in(Drops(see), domain.clone());
        cell.store(Drops(|| ())).retire();
        drop(cell);
        let _ = domain.free_now().expect("the last handle");
        // On the worker, but in no callback.
        quiescent::report::on_report(|_| {
            SEEN.lock()
                .expect("no panic")
                .push(shutdown(Duration::ZERO));
        });
        std::panic::set_hook(Box::new(|_| ()));
        quiescent::defer_hurry(|| panic!("to be reported"));
        quiescent::barrier();
        until("it is reported", || {
            SEEN.lock().expect("no panic").len() == 3
        });
        for seen in SEEN.lock().expect("no panic").iter() {
            assert_eq!(*seen, Err(SyncError::InsideCallback));
        }
        complete(LONG);
    });
}

#[test]
fn what_is_left_is_named_and_runs_when_the_worker_is_started_again() {
    isolated(|| {
        static ROUTES: Domain = Domain::new();
        static FREE: Domain = Domain::new();
        static RAN: AtomicU32 = AtomicU32::new(0);
        ROUTES.set_name("routes");
        let (end, ended) = mpsc::channel::<()>();
        let (begin, begun) = mpsc::channel();
        let reader = thread::spawn(move || {
            let _guards = (ROUTES.read_lock(), quiescent::read_lock());
            begin.send(()).expect("listened to");
            let _ = ended.recv();
        });
        begun.recv().expect("it reads");
        let count = || _ = RAN.fetch_add(1, Ordering::Relaxed);
        ROUTES.defer(count);
        ROUTES.defer_hurry(count);
        quiescent::defer(count);
        FREE.defer_lazy(count);
        let done = shutdown(Duration::from_millis(40)).expect("not inside anything");
        assert_eq!(
            (done.threads, done.ran),
            (0, 1),
            "readers of one domain, and not of another"
        );
        let left: Vec<_> = done
            .left
            .iter()
            .map(|it| (it.domain, it.callbacks))
            .collect();
        assert_eq!(left, [("routes", 2), ("process", 1)]);
        assert!(done.left.iter().all(|it| it.bytes > 0) && !done.is_complete());
        assert!(library_threads().is_empty());
        drop(end);
        reader.join().expect("no panic");
        assert_eq!(RAN.load(Ordering::Relaxed), 1);
        // Any call that needs the worker, in whatever domain.
        FREE.defer(count);
        until("all have run", || RAN.load(Ordering::Relaxed) == 5);
        complete(LONG);
    });
}

#[test]
fn a_callback_that_does_not_return_keeps_its_thread_and_nothing_breaks() {
    isolated(|| {
        let (end, ended) = mpsc::channel::<()>();
        let (begin, begun) = mpsc::channel();
        quiescent::defer_hurry(move || {
            begin.send(()).expect("listened to");
            let _ = ended.recv();
        });
        begun.recv().expect("it runs");
        let done = shutdown(Duration::from_millis(1)).expect("not inside anything");
        assert!(done.threads > 0, "{done:?}");
        assert_eq!(done.left.len(), 1, "{done:?}");
        let ran = Arc::new(AtomicBool::new(false));
        let runs = Arc::clone(&ran);
        drop(end);
        quiescent::defer_hurry(move || runs.store(true, Ordering::Relaxed));
        quiescent::barrier();
        assert!(ran.load(Ordering::Relaxed));
        complete(LONG);
        assert!(library_threads().is_empty());
    });
}

/// The overflow worker does not first run all that the program has queued, which may be faster than it.
#[test]
fn a_backlog_is_left() {
    isolated(|| {
        if !two_processors() {
            return;
        }
        // Another one is called for the second.
        for _ in 0..2 {
            ENTERED.store(0, Ordering::SeqCst);
            RAN.store(0, Ordering::SeqCst);
            pile_up(
                || ENTERED.load(Ordering::SeqCst) == 2,
                || {
                    quiescent::defer(|| {
                        ENTERED.fetch_add(1, Ordering::SeqCst);
                        until("the worker has ended", || library_threads().len() == 1);
                    });
                },
            );
            until("another one has it", || ENTERED.load(Ordering::SeqCst) == 2);
            let done = shutdown(Duration::ZERO).expect("not inside anything");
            assert_eq!(
                (done.threads, done.left[0].callbacks),
                (0, MANY),
                "{done:?}"
            );
            assert_eq!(RAN.load(Ordering::SeqCst), 0);
            quiescent::barrier();
            assert_eq!(RAN.load(Ordering::SeqCst), MANY);
        }
        assert_eq!(OUT_OF_ORDER.load(Ordering::SeqCst), 0);
    });
}

/// What other threads do while it ends, is over, and begins: nothing is lost, and none of them hangs.
#[test]
fn it_may_come_at_any_time() {
    isolated(|| {
        static OVER: AtomicBool = AtomicBool::new(false);
        static QUEUED: AtomicU64 = AtomicU64::new(0);
        static RAN: AtomicU64 = AtomicU64::new(0);
        static DOMAIN: Domain = Domain::new();
        fn count() {
            RAN.fetch_add(1, Ordering::Relaxed);
        }
        fn queue(defer: impl FnOnce(fn())) {
            QUEUED.fetch_add(1, Ordering::Relaxed);
            defer(count);
        }
        /// Threads that have made a step.
        static AT_WORK: AtomicU32 = AtomicU32::new(0);
        fn busy(mut step: impl FnMut() + Send + 'static) -> thread::JoinHandle<()> {
            thread::spawn(move || {
                step();
                AT_WORK.fetch_add(1, Ordering::Relaxed);
                while !OVER.load(Ordering::Relaxed) {
                    step();
                }
            })
        }
        let cell = RcuCell::new(String::from("a value"));
        let threads = [
            busy(|| {
                queue(quiescent::defer_hurry);
                quiescent::barrier();
            }),
            busy(|| {
                queue(|count| DOMAIN.defer(count));
                DOMAIN.barrier();
            }),
            busy(|| {
                queue(|count| DOMAIN.defer_hurry(count));
                block_on(quiescent::barrier_async());
                block_on(DOMAIN.grace_period());
            }),
            busy(move || {
                // A worker ends when it has run what was ready. Of millions that takes it a second.
                let behind =
                    || QUEUED.load(Ordering::Relaxed) - RAN.load(Ordering::Relaxed) > 10_000;
                while behind() && !OVER.load(Ordering::Relaxed) {
                    thread::yield_now();
                }
                queue(quiescent::defer_lazy);
                drop(cell.store(String::from("another value")));
                quiescent::read(|guard| assert!(!cell.load(guard).is_empty()));
            }),
            busy(|| _ = shutdown(Duration::ZERO).expect("not inside anything")),
        ];
        for _ in 0..200 {
            let done = shutdown(Duration::from_millis(1)).expect("not inside anything");
            assert!(done.threads <= 3, "{done:?}");
        }
        until("each has made a step", || {
            AT_WORK.load(Ordering::Relaxed) == 5 && QUEUED.load(Ordering::Relaxed) > 100
        });
        OVER.store(true, Ordering::Relaxed);
        for thread in threads {
            thread.join().expect("no panic");
        }
        complete(LONG);
        assert_eq!(RAN.load(Ordering::Relaxed), QUEUED.load(Ordering::Relaxed));
        assert!(library_threads().is_empty());
    });
}

/// A sleeping waiter relies on the worker that ends.
#[test]
fn who_waits_for_a_barrier_or_a_grace_period_is_not_forgotten() {
    isolated(|| {
        static DOMAIN: Domain = Domain::new();
        for _ in 0..20 {
            let (end, ended) = mpsc::channel::<()>();
            let (begin, begun) = mpsc::channel();
            let reader = thread::spawn(move || {
                let _guard = DOMAIN.read_lock();
                begin.send(()).expect("listened to");
                let _ = ended.recv();
            });
            begun.recv().expect("it reads");
            DOMAIN.defer(|| ());
            let waits = [
                thread::spawn(|| DOMAIN.barrier()),
                thread::spawn(|| block_on(DOMAIN.barrier_async())),
                thread::spawn(|| block_on(DOMAIN.grace_period())),
            ];
            until("the worker is there", || {
                quiescent::statistics().helper_threads > 0
            });
            let done = shutdown(Duration::from_millis(1)).expect("not inside anything");
            assert_eq!(done.left.len(), 1, "{done:?}");
            drop(end);
            reader.join().expect("no panic");
            for waits in waits {
                waits.join().expect("no panic");
            }
        }
        complete(LONG);
    });
}

#[cfg(target_os = "linux")]
#[test]
fn forks_at_any_time_leave_a_library_that_works() {
    needs!(fork);
    isolated(|| {
        static OVER: AtomicBool = AtomicBool::new(false);
        let ends = thread::spawn(|| {
            while !OVER.load(Ordering::Relaxed) {
                quiescent::defer_hurry(|| ());
                let _ = shutdown(Duration::from_millis(1)).expect("not inside anything");
            }
        });
        for round in 0..40 {
            let child = fork(move || {
                // Whatever the parent's threads were doing.
                if round % 2 == 0 {
                    complete(LONG);
                }
                quiescent::defer_hurry(|| ());
                quiescent::barrier();
                complete(LONG);
                let grandchild = fork(|| {
                    quiescent::defer(|| ());
                    quiescent::barrier();
                });
                grandchild.join();
            });
            child.join();
        }
        OVER.store(true, Ordering::Relaxed);
        ends.join().expect("no panic");
    });
}

/// The process ends while threads are at it.
#[cfg(target_os = "linux")]
#[test]
fn the_process_may_end_meanwhile() {
    needs!(fork);
    isolated(|| {
        for _ in 0..20 {
            let child = fork(|| {
                for _ in 0..3 {
                    thread::spawn(|| {
                        loop {
                            quiescent::defer_hurry(|| ());
                            let _ = shutdown(Duration::from_millis(1));
                        }
                    });
                }
                quiescent::defer(|| ());
                quiescent::barrier();
                std::process::exit(0);
            });
            child.join();
        }
    });
}
