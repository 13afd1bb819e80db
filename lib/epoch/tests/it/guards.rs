//! Sections, collectors, and when what is deferred runs.

use crossbeam_epoch::{self as epoch, Atomic, Collector, Owned, default_collector, pin};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};
use std::sync::{Arc, mpsc};
use std::thread;

/// Counts how many of them there are.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Counted {
        count.fetch_add(1, SeqCst);
        Counted(count.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

/// A word that shares its cache lines with no other one.
#[derive(Default)]
#[repr(align(256))]
struct Line(AtomicUsize);

/// Two threads on one processor would never run at the same time.
fn stay_on_processor(nth: usize) {
    #[cfg(target_os = "linux")]
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of_val(&set), &mut set);
        let all = 0..libc::CPU_SETSIZE as usize;
        let allowed: Vec<usize> = all.filter(|cpu| libc::CPU_ISSET(*cpu, &set)).collect();
        libc::CPU_ZERO(&mut set);
        libc::CPU_SET(allowed[nth % allowed.len()], &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &set);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = nth;
}

/// What a thread stored before `pin` is seen by what another one loads after `pin`, or the other way around.
/// Before that, each stores to lines that the other one has, so that its store takes a while to be seen.
#[test]
fn pin_is_a_full_fence() {
    /// Rounds that both threads begin at the same time.
    const ENOUGH: usize = 20_000;
    /// On a busy machine, or with one processor, the other thread does not run for so many long whiles.
    const WAITS: usize = 1000;
    let (stored, round, before) = (
        <[Line; 2]>::default(),
        <[Line; 2]>::default(),
        <[Line; 2]>::default(),
    );
    let last = AtomicUsize::new(0);
    let missed = thread::scope(|scope| {
        let (stored, round, before, last) = (&stored, &round, &before, &last);
        let threads = [0, 1].map(|me| {
            scope.spawn(move || {
                stay_on_processor(me);
                let (mut missed, mut together, mut waits) = (Vec::new(), 0, 0);
                loop {
                    let now = missed.len() + 1;
                    if me == 0 && (together == ENOUGH || waits > WAITS) {
                        last.store(now, SeqCst);
                    }
                    // After both have ended the last one.
                    round[me].0.store(now, SeqCst);
                    let mut spins = 0u32;
                    while round[1 - me].0.load(SeqCst) < now {
                        std::hint::spin_loop();
                        spins += 1;
                        if spins.is_multiple_of(50_000) {
                            waits += 1;
                            thread::yield_now();
                        }
                    }
                    if last.load(SeqCst) == now {
                        return missed;
                    }
                    together += usize::from((1..1000).contains(&spins)); // the other one runs
                    if spins == 0 {
                        // The other one sees a little later that both are here.
                        (0..now % 8).for_each(|_| std::hint::spin_loop());
                    }
                    before.iter().for_each(|line| line.0.store(now, Relaxed));
                    stored[me].0.store(now, Relaxed);
                    let guard = pin();
                    missed.push(stored[1 - me].0.load(Relaxed) < now);
                    drop(guard);
                }
            })
        });
        threads.map(|thread| thread.join().unwrap())
    });
    let rounds = missed[0].iter().zip(&missed[1]);
    let both = rounds.filter(|(one, other)| **one && **other).count();
    assert_eq!(both, 0, "of {} rounds", missed[0].len());
}

#[test]
fn guards_know_their_collectors() {
    let (one, other) = (Collector::new(), Collector::default());
    let (at_one, at_other) = (one.register(), other.register());
    let (first, second, third) = (at_one.pin(), at_other.pin(), pin());
    assert_eq!(first.collector(), Some(&one));
    assert_eq!(first.collector(), Some(&one.clone()));
    assert_eq!(second.collector(), Some(at_other.collector()));
    assert_eq!(third.collector(), Some(default_collector()));
    assert_eq!(
        default_collector().clone().register().pin().collector(),
        Some(default_collector())
    );
    assert_ne!(first.collector(), second.collector());
    assert_ne!(first.collector(), third.collector());
    assert_ne!(one, other);
    assert_eq!(unsafe { epoch::unprotected() }.collector(), None);
    assert_eq!(
        format!("{first:?} {at_one:?} {one:?}"),
        "Guard { .. } LocalHandle { .. } Collector { .. }"
    );
}

#[test]
fn a_collector_is_pinned_while_one_of_its_guards_is_there() {
    let handle = Collector::new().register();
    let other = handle.collector().register();
    assert!(!handle.is_pinned());
    let outer = handle.pin();
    let inner = handle.pin();
    drop(outer);
    assert!(handle.is_pinned() && other.is_pinned() && !Collector::new().register().is_pinned());
    drop(inner);
    assert!(!handle.is_pinned());
    assert_eq!(
        default_collector().register().is_pinned(),
        epoch::is_pinned()
    );
}

/// What is deferred waits for guards of its collector, and for no others.
#[test]
fn only_guards_of_the_collector_are_waited_for() {
    let (collector, other) = (Collector::new(), Collector::new());
    let (sender, receiver) = mpsc::channel();
    let of_other = (other.register(), pin());
    let _open = of_other.0.pin();
    let handle = collector.register();
    thread::scope(|scope| {
        let (opened, is_open) = mpsc::channel();
        let (close, closes) = mpsc::channel::<()>();
        let collector = &collector;
        scope.spawn(move || {
            let handle = collector.register();
            let guard = handle.pin();
            opened.send(()).unwrap();
            closes.recv().unwrap();
            drop(guard);
        });
        is_open.recv().unwrap();
        let guard = handle.pin();
        guard.defer(move || sender.send(()).unwrap());
        guard.flush();
        drop(guard);
        handle.pin().flush();
        assert_eq!(receiver.try_recv(), Err(mpsc::TryRecvError::Empty));
        close.send(()).unwrap();
    });
    handle.pin().flush();
    receiver.recv().unwrap();
}

#[test]
fn a_collector_that_goes_frees_everything() {
    let count = Arc::new(AtomicUsize::new(0));
    for objects in [0, 1, 1000] {
        let collector = Collector::new();
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let handle = collector.register();
                    for _ in 0..objects {
                        let guard = handle.pin();
                        let object = Owned::new(Counted::new(&count)).into_shared(&guard);
                        unsafe { guard.defer_destroy(object) };
                        let counted = Counted::new(&count);
                        guard.defer(move || drop(counted));
                    }
                });
            }
        });
        // The guard is the last to have the collector. A section of another one makes no difference.
        let _open = pin();
        let handle = collector.register();
        let guard = handle.pin();
        drop((collector, handle));
        guard.defer(|| ());
        drop(guard);
        assert_eq!(count.load(SeqCst), 0);
    }
}

#[test]
fn without_a_section_what_is_deferred_runs_at_once() {
    let count = Arc::new(AtomicUsize::new(0));
    let mut ran = false;
    unsafe {
        let guard = epoch::unprotected();
        let link = Atomic::new(Counted::new(&count));
        guard.defer_destroy(link.load(Acquire, guard));
        guard.defer_unchecked(|| ran = true);
        guard.flush();
    }
    assert!(ran && count.load(SeqCst) == 0);
}

#[test]
fn repin_after_opens_the_section_again() {
    let collector = Collector::new();
    let handle = collector.register();
    let mut guard = handle.pin();
    assert!(!guard.repin_after(|| handle.is_pinned()));
    assert!(handle.is_pinned());
    assert!(
        catch_unwind(AssertUnwindSafe(
            || guard.repin_after(|| panic!("on purpose"))
        ))
        .is_err()
    );
    assert!(handle.is_pinned() && guard.collector() == Some(&collector));
    let outer = handle.pin();
    assert!(guard.repin_after(|| handle.is_pinned())); // the other guard's section
    guard.repin();
    drop((guard, outer));
    assert!(!handle.is_pinned());
}

/// A destructor of a thread-local may pin, and defer.
#[test]
fn a_thread_that_exits_may_pin() {
    struct AtExit(mpsc::Sender<bool>);
    impl Drop for AtExit {
        fn drop(&mut self) {
            let guard = pin();
            let sender = self.0.clone();
            guard.defer(move || sender.send(true).unwrap());
            guard.flush();
        }
    }
    thread_local!(static AT_EXIT: std::cell::OnceCell<AtExit> = const { std::cell::OnceCell::new() });
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        drop(pin());
        AT_EXIT.with(|cell| assert!(cell.set(AtExit(sender)).is_ok()));
    });
    assert!(receiver.recv().unwrap());
}

/// Where the program drains, the ends of guards are enough.
#[cfg(feature = "drain")]
#[test]
fn the_end_of_a_guard_drains() {
    let count = Arc::new(AtomicUsize::new(0));
    quiescent::tuning::set_destructors(quiescent::Runner::Drained);
    let counted = Counted::new(&count);
    let guard = pin();
    guard.defer(move || drop(counted));
    guard.flush();
    drop(guard);
    while count.load(SeqCst) > 0 {
        drop(pin());
        thread::yield_now();
    }
    quiescent::tuning::set_destructors(quiescent::Runner::Owner);
}
