//! What is retired inside sections runs at the end of the outermost one.

use std::cell::RefCell;

use quiescent::Runner;

use super::*;

/// Most entries that a thread which retires at full speed leaves in queues, besides those of a section.
const MOST: u64 = 4096;

/// One after the other, in one section each.
fn sections(cell: &RcuCell<Noted>, number: u64, retires: u64) {
    for _ in 0..number {
        let guard = read_lock();
        let before = here();
        (0..retires).for_each(|_| drop(cell.store(Noted(nothing))));
        assert_eq!(here(), before, "inside");
        drop(guard);
        assert!(
            here() - before <= 2 * retires + 8,
            "two for each retire, and few that were owed"
        );
    }
}

#[test]
fn it_costs_no_worker_and_no_budget() {
    needs!(fence);
    isolated(|| {
        begin();
        let cell = noted();
        let mut all = 0;
        for retires in [1, 2, 16, 100, 1000, 10_000] {
            let number = 60_000 / retires;
            sections(&cell, number, retires);
            all += number * retires;
            assert!(
                statistics().queued <= MOST + 3 * retires,
                "{retires}: {:?}",
                statistics()
            );
        }
        assert_eq!(elsewhere(), 0);
        assert_eq!(statistics().over_budget, 0);
        barrier();
        assert_eq!(
            (here() + elsewhere(), DEEPEST.load(Ordering::Relaxed)),
            (all, 1)
        );
    });
}

/// In a section that is nested, or beside one of another domain, nothing runs; at the end of the last one it
/// does, whichever that is.
#[test]
fn the_last_section_pays() {
    needs!(fence);
    isolated(|| {
        static OTHER: Domain = Domain::new();
        static SRCU: Srcu = Srcu::new();
        begin();
        let (cell, in_other) = (noted(), RcuCell::new_in(Noted(nothing), &OTHER));
        let both = || {
            drop(cell.store(Noted(nothing)));
            drop(in_other.store(Noted(nothing)));
        };
        for round in 0..6 {
            (0..5000).for_each(|_| both());
            synchronize();
            OTHER.synchronize();
            (0..10).for_each(|_| both());
            let before = here();
            let (inner, outer, other) = (read_lock(), read_lock(), OTHER.read_lock());
            let srcu = SRCU.read_lock();
            INSIDE.set(true);
            (0..10).for_each(|_| both());
            drop(srcu);
            match round % 3 {
                0 => [inner, outer].into_iter().for_each(drop),
                1 => {
                    drop(inner);
                    drop(other);
                    (0..10).for_each(|_| both());
                    assert_eq!(here(), before);
                    INSIDE.set(false);
                    drop(outer);
                    assert!(here() > before + 20, "the process's section pays");
                    continue;
                }
                _ => {
                    // What it owes goes from the one section to the other: nothing is retired in between.
                    [outer, inner].into_iter().for_each(drop);
                    assert_eq!(here(), before);
                    INSIDE.set(false);
                    drop(other);
                    assert!(here() > before + 10, "the debt was passed on");
                    continue;
                }
            }
            (0..10).for_each(|_| both());
            assert_eq!(here(), before);
            INSIDE.set(false);
            drop(other);
            assert!(here() > before + 20, "the other domain's section pays");
        }
        barrier();
        OTHER.barrier();
        assert_eq!(statistics().callback_panics, 0, "inside a section");
    });
}

#[test]
fn repin_pays_too() {
    needs!(fence);
    isolated(|| {
        begin();
        let cell = noted();
        let mut guard = read_lock();
        let (mut ran, mut stored) = (0, 0u64);
        static OVER: AtomicBool = AtomicBool::new(false);
        // Without a driver that waits, `repin` keeps the section, and nothing is done.
        let waits = thread::spawn(|| {
            while !OVER.load(Ordering::Relaxed) {
                synchronize();
            }
        });
        until("much has run", || {
            for _ in 0..100 {
                drop(cell.store(Noted(nothing)));
                stored += 1;
                assert_eq!(here(), ran);
                guard.repin();
                ran = here();
            }
            ran > 15_000
        });
        OVER.store(true, Ordering::Relaxed);
        drop(guard);
        waits.join().expect("no panic");
        // Without a driver that waits; again, if the worker has taken what was done.
        until("what is owed is paid", || {
            (0..5000).for_each(|_| drop(cell.store(Noted(nothing))));
            synchronize();
            (0..10).for_each(|_| drop(cell.store(Noted(nothing))));
            let mut guard = read_lock();
            (0..10).for_each(|_| drop(cell.store(Noted(nothing))));
            stored += 5020;
            let before = here();
            let nested = read_lock();
            guard.repin();
            assert_eq!(here(), before, "not the outermost");
            drop(nested);
            guard.repin();
            here() > before
        });
        barrier();
        assert_eq!(here() + elsewhere(), stored);
    });
}

/// Code in a destructor: what it retires is queued, waiting is refused, its sections end as others do.
#[test]
fn a_destructor_at_an_end_may_do_what_others_may() {
    needs!(fence);
    isolated(|| {
        static REFUSED: AtomicU64 = AtomicU64::new(0);
        fn busy() {
            read(|_| drop(RcuCell::new(String::from("a")).store(String::from("b"))));
            drop(RcuCell::new(Noted(nothing)).store(Noted(nothing)));
            let refused = try_synchronize() == Err(SyncError::InsideCallback);
            REFUSED.fetch_add(u64::from(refused), Ordering::Relaxed);
        }
        begin();
        let cell = noted();
        (0..20_000).for_each(|_| read(|_| drop(cell.store(Noted(busy)))));
        assert!(REFUSED.load(Ordering::Relaxed) > 5_000);
        drop(cell);
        (0..4).for_each(|_| barrier());
        assert_eq!((statistics().queued, statistics().callback_panics), (0, 0));
        assert_eq!(
            REFUSED.load(Ordering::Relaxed),
            19_999,
            "all but the first, and the cell's last"
        );
    });
}

#[test]
fn a_panic_at_an_end_is_contained_and_an_unwinding_thread_runs_none() {
    needs!(fence);
    isolated(|| {
        fn panics() {
            DEPTH.set(0);
            panic!("at an end");
        }
        begin();
        std::panic::set_hook(Box::new(|_| ()));
        let cell = noted();
        (0..5000).for_each(|_| read(|_| drop(cell.store(Noted(panics)))));
        let before = here();
        assert!(before > 1000);
        assert_eq!(
            statistics().callback_panics,
            before - 1,
            "the first is quiet"
        );
        let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _guard = read_lock();
            (0..10).for_each(|_| drop(cell.store(Noted(nothing))));
            panic!("the program's own");
        }));
        assert!(unwound.is_err());
        assert_eq!(here(), before, "while it unwinds");
        (0..10).for_each(|_| read(|_| drop(cell.store(Noted(nothing)))));
        assert!(here() > before, "afterwards");
    });
}

/// The thread-local is dropped while the thread ends, and its guard with it.
#[test]
fn a_thread_that_ends_leaves_its_debt() {
    needs!(fence);
    isolated(|| {
        thread_local! {
            static KEPT: RefCell<Vec<quiescent::Guard>> = const { RefCell::new(Vec::new()) };
        }
        static MADE: AtomicU64 = AtomicU64::new(0);
        for _ in 0..50 {
            on_thread("ends inside", || {
                KEPT.with_borrow_mut(|kept| kept.push(read_lock()));
                let cell = noted();
                for _ in 0..4000 {
                    drop(cell.store(Noted(nothing)));
                    MADE.fetch_add(1, Ordering::Relaxed);
                }
            });
            MADE.fetch_add(1, Ordering::Relaxed); // the cell's last
        }
        until("all are dropped", || {
            barrier();
            here() + elsewhere() == MADE.load(Ordering::Relaxed)
        });
        assert_eq!(statistics().queued, 0);
    });
}

#[test]
fn the_worker_s_settings_hold_at_ends_too() {
    needs!(fence);
    isolated(|| {
        tuning::set_destructors(Runner::Worker);
        begin();
        let cell = noted();
        sections(&cell, 10_000, 1);
        barrier();
        assert_eq!((here(), elsewhere()), (0, 10_000));
    });
}

/// A thread that would yield, but for its section, does so at the section's end.
#[test]
fn a_full_budget_slows_the_thread_at_the_end_of_its_section() {
    needs!(fence);
    isolated(|| {
        tuning::set_budget(u64::MAX, 100);
        let cell = RcuCell::new(0u64);
        let blocked = read_lock();
        for n in 0..1000 {
            read(|_| drop(cell.store(n)));
        }
        let inside = statistics().gave_way;
        assert_eq!(inside, 0);
        drop(blocked);
        assert_eq!(statistics().gave_way, 1);
    });
}

#[cfg(target_os = "linux")]
mod linux {
    use super::*;

    fn errno() -> i32 {
        std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
    }

    fn set_errno(to: i32) {
        // SAFETY: the place of this thread's errno.
        unsafe { *libc::__errno_location() = to };
    }

    #[test]
    fn errno_is_kept() {
        isolated(|| {
            begin();
            let cell = RcuCell::new(Noted(|| set_errno(99)));
            for _ in 0..10_000 {
                let guard = read_lock();
                drop(cell.store(Noted(|| set_errno(99))));
                set_errno(7);
                drop(guard);
                assert_eq!(errno(), 7);
            }
            assert!(!in_place() || here() > 5000);
        });
    }

    /// A handler that reads at the very end of a section runs nothing.
    #[test]
    fn never_in_a_signal_handler() {
        needs!(native);
        needs!(fence);
        isolated(|| {
            static HANDLED: AtomicU64 = AtomicU64::new(0);
            extern "C" fn handler(_: libc::c_int) {
                let before = INSIDE.replace(true);
                read(|_| ());
                (0..3).for_each(|_| drop(read_lock()));
                INSIDE.set(before);
                HANDLED.fetch_add(1, Ordering::Relaxed);
            }
            // SAFETY: a handler that only reads, and touches a thread-local without a destructor.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = handler as extern "C" fn(libc::c_int) as usize;
                action.sa_flags = libc::SA_RESTART;
                assert_eq!(
                    libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut()),
                    0
                );
            }
            begin();
            let target = thread_id() as i32;
            static OVER: AtomicBool = AtomicBool::new(false);
            let sender = thread::spawn(move || {
                while !OVER.load(Ordering::Relaxed) {
                    // SAFETY: takes three integers.
                    unsafe {
                        libc::syscall(libc::SYS_tgkill, libc::getpid(), target, libc::SIGUSR1)
                    };
                    (0..300).for_each(|_| std::hint::spin_loop());
                }
            });
            let cell = noted();
            // On a busy machine few signals meet the thread.
            let begun = std::time::Instant::now();
            let handled = || HANDLED.load(Ordering::Relaxed);
            while handled() < 20_000 && begun.elapsed() < Duration::from_secs(15) {
                read(|_| drop(cell.store(Noted(nothing))));
            }
            OVER.store(true, Ordering::Relaxed);
            sender.join().expect("no panic");
            barrier();
            assert!(handled() > 0);
            assert_eq!(statistics().callback_panics, 0, "inside a handler");
        });
    }

    /// The child goes on at the end of the section, and owes nothing.
    #[test]
    fn a_destructor_at_an_end_may_fork() {
        needs!(fence);
        needs!(fork);
        isolated(|| {
            static FORKS: AtomicU32 = AtomicU32::new(0);
            static PARENT: AtomicU32 = AtomicU32::new(0);
            fn forks() {
                if here() % 2000 != 7 || PARENT.load(Ordering::Relaxed) != std::process::id() {
                    return;
                }
                FORKS.fetch_add(1, Ordering::Relaxed);
                // SAFETY: both go on with calls that the library allows in a child.
                if unsafe { libc::fork() } != 0 {
                    let mut status = 0;
                    // SAFETY: a place for the status.
                    unsafe { libc::wait(&raw mut status) };
                    assert_eq!(status, 0, "the child is right");
                }
            }
            begin();
            PARENT.store(std::process::id(), Ordering::Relaxed);
            let cell = noted();
            for _ in 0..10_000 {
                read(|_| drop(cell.store(Noted(forks))));
                if std::process::id() != PARENT.load(Ordering::Relaxed) {
                    (0..1000).for_each(|_| read(|_| drop(cell.store(Noted(nothing)))));
                    let _ = drain(Duration::from_secs(10));
                    let right = statistics().queued == 0 && statistics().callback_panics == 0;
                    // SAFETY: ends the process at once.
                    unsafe { libc::_exit(i32::from(!right)) };
                }
            }
            assert!(FORKS.load(Ordering::Relaxed) >= 4);
            barrier();
            assert_eq!(here() + elsewhere(), 10_000);
        });
    }
}
