//! Cells: what an exchange returns and to which thread, and that concurrent updates are not lost.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::common::isolated;
use quiescent::{Exchanged, RcuCell, RcuOption, read, read_lock, synchronize};

/// Counts how many there are.
struct Counted<'a>(u64, &'a AtomicUsize);

impl Counted<'_> {
    fn new(value: u64, there: &AtomicUsize) -> Counted<'_> {
        there.fetch_add(1, Ordering::Relaxed);
        Counted(value, there)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn who_comes_too_late_gets_its_value_back_with_what_is_there() {
    isolated(|| {
        static THERE: AtomicUsize = AtomicUsize::new(0);
        let cell = RcuCell::new(Counted::new(1, &THERE));
        let guard = read_lock();
        let seen = cell.load(&guard);
        let old = cell.store(Counted::new(2, &THERE));
        let late = cell.compare_exchange(seen, Counted::new(3, &THERE), &guard);
        let Err(Exchanged { new, current }) = late else {
            panic!("the cell had changed");
        };
        assert_eq!((new.0, current.0, cell.load(&guard).0), (3, 2, 2));
        // An equal value is not the same object.
        let equal = Counted::new(2, &THERE);
        assert!(cell.compare_exchange(&equal, new, &guard).is_err());
        // The first is still whole: this section may have found it. The third one was dropped with the error.
        assert_eq!((seen.0, THERE.load(Ordering::Relaxed)), (1, 3));
        drop(guard);
        drop((old.wait(), equal));
        assert_eq!(THERE.load(Ordering::Relaxed), 1, "what the cell holds");
        assert_eq!(cell.into_inner().0, 2);
        assert_eq!(THERE.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn an_option_is_exchanged_for_nothing_and_back() {
    isolated(|| {
        let mut option = RcuOption::new(Some(7));
        *option.get_mut().expect("a value") += 1;
        let guard = read_lock();
        assert!(matches!(
            option.compare_exchange(None, Some(9), &guard),
            Err(Exchanged {
                new: Some(9),
                current: Some(8)
            })
        ));
        let seen = option.load(&guard);
        let old = option.compare_exchange(seen, None, &guard);
        let old = old.expect("the only writer").expect("there was one");
        assert_eq!(option.load(&guard), None);
        let none = option.compare_exchange(None, Some(9), &guard);
        assert!(none.expect("it holds nothing").is_none());
        drop(guard);
        assert_eq!(*old.wait(), 8);
        assert_eq!(option.into_inner(), Some(9));
        static EMPTY: RcuOption<u32> = RcuOption::empty();
        assert_eq!(read(|guard| EMPTY.load(guard).copied()), None);
        assert_eq!(RcuOption::<u32>::empty().into_inner(), None);
    });
}

#[test]
fn no_update_is_lost() {
    isolated(|| {
        const THREADS: u64 = 4;
        const TIMES: u64 = 500;
        let (cell, option) = (RcuCell::new([0; 2]), RcuOption::new(None));
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for _ in 0..TIMES {
                        drop(cell.update(|[a, b]| [a + 1, b + 2]));
                        drop(option.update(|n: Option<&u64>| Some(n.map_or(1, |n| n + 1))));
                        // Torn, or freed too early: another pair.
                        read(|guard| {
                            let [a, b] = cell.load(guard);
                            assert_eq!(2 * a, *b);
                        });
                    }
                });
            }
        });
        synchronize();
        assert_eq!(cell.into_inner(), [THREADS * TIMES, 2 * THREADS * TIMES]);
        assert_eq!(option.into_inner(), Some(THREADS * TIMES));
    });
}

#[test]
fn a_guard_that_repins_sees_what_came_meanwhile() {
    isolated(|| {
        let cell = RcuCell::new(1);
        let mut guard = read_lock();
        assert_eq!(*cell.load(&guard), 1);
        thread::scope(|scope| {
            let writer = scope.spawn(|| *cell.store(2).wait());
            // It waits for this section, which ends here and not with the guard. As often as it takes: a scan
            // may lie in between.
            while !writer.is_finished() {
                guard.repin();
                thread::yield_now();
            }
            assert_eq!(writer.join().expect("it ends"), 1);
        });
        assert_eq!(*cell.load(&guard), 2);
    });
}
