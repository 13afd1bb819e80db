//! Cells: what an exchange returns and to which thread, and that concurrent updates are not lost.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::common::{isolated, panic_text};
use quiescent::{
    Domain, Exchanged, Held, RcuCell, RcuOption, in_section, read, read_lock, synchronize,
};

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

#[test]
fn an_update_may_answer_decline_and_fail() {
    isolated(|| {
        let cell = RcuCell::new(1_u32);
        let (old, answer) = cell.update_with(|n| (Some(n + 1), "done"));
        assert_eq!((old.map(|old| *old.wait()), answer), (Some(1), "done"));
        let (old, answer) = cell.update_with(|n| (None, *n));
        assert_eq!((old.is_none(), answer, cell.get_cloned()), (true, 2, 2));
        let old = cell.try_update(|n| n.checked_add(1).ok_or("too many"));
        assert_eq!(old.map(|old| *old.wait()), Ok(2));
        let failed = cell.try_update(|n| if *n > 2 { Err("too many") } else { Ok(0) });
        assert_eq!(
            (failed.map(|_| ()), cell.into_inner()),
            (Err("too many"), 3)
        );

        let option = RcuOption::new(Some(1));
        let none = None::<Option<i32>>;
        assert_eq!(option.update_with(|n| (none, n.copied())).1, Some(1));
        let (old, ()) = option.update_with(|_| (Some(None), ()));
        assert_eq!(old.map(|old| *old.wait()), Some(1));
        let (old, absent) = option.update_with(|n| (Some(Some(5)), n.is_none()));
        assert!(old.is_none() && absent);
        assert!(option.try_update(|_| Err(())).is_err());
        assert_eq!(option.get_cloned(), Some(5));
        assert!(
            option
                .try_update(|_| Ok::<_, ()>(None))
                .is_ok_and(|old| old.is_some())
        );
        assert_eq!((option.get_cloned(), option.take().is_none()), (None, true));
        option.store(Some(6));
        assert_eq!(
            (option.take().map(|old| *old.wait()), option.into_inner()),
            (Some(6), None)
        );
    });
}

#[test]
fn answers_are_those_of_the_call_that_succeeded() {
    isolated(|| {
        const THREADS: u64 = 4;
        const TIMES: u64 = 500;
        let cell = RcuCell::new(0);
        thread::scope(|scope| {
            let add = || (0..TIMES).map(|_| cell.update_with(|n| (Some(n + 1), n + 1)).1);
            let threads = [(); THREADS as usize].map(|()| scope.spawn(move || add().sum::<u64>()));
            let sum = threads
                .map(|it| it.join().expect("it ends"))
                .iter()
                .sum::<u64>();
            assert_eq!(sum, (1..=THREADS * TIMES).sum::<u64>());
        });
    });
}

/// Calls of a function that stores to the cell in each of them, until it panics or has been called so often.
fn store_in_updates(most: u32) -> (u32, Option<String>) {
    let (cell, mut calls) = (RcuCell::new(0), 0);
    let mut update = || {
        cell.update(|n| {
            calls += 1;
            if calls < most {
                cell.store(7);
            }
            n + 1
        });
    };
    let text = (most > 1000).then(|| panic_text(&mut update));
    if text.is_none() {
        update();
        assert_eq!(cell.into_inner(), 8);
    }
    (calls, text)
}

#[test]
fn an_update_that_stores_in_each_call_panics_and_one_that_stores_at_times_does_not() {
    isolated(|| {
        assert_eq!(
            [2, 100, 1000].map(|most| store_in_updates(most).0),
            [2, 100, 1000]
        );
        let (calls, text) = store_in_updates(u32::MAX);
        let text = text.expect("it panics");
        assert!(
            text.starts_with("an update of a cell never ends: "),
            "{text}"
        );
        assert_eq!(calls, 1000);
        assert!(!in_section());
        // An update inside, an update of another cell between, all the calls that store.
        let (cell, other) = (RcuCell::new(0), RcuOption::new(Some(0)));
        let changes: [&dyn Fn(); 4] = [
            &|| drop(cell.update(|n| n + 1)),
            &|| drop(cell.try_update(|n| Ok::<_, ()>(n + 1))),
            &|| read(|guard| drop(cell.compare_exchange(cell.load(guard), 1, guard))),
            &|| {
                other.update_with(|n| {
                    cell.store(1);
                    (None, *n.expect("it holds one"))
                });
            },
        ];
        for change in changes {
            let update = || {
                cell.update_with(|n| {
                    change();
                    (Some(*n), ())
                });
            };
            assert!(panic_text(update).starts_with("an update of a cell never ends: "));
        }
        // Stores to other cells are no matter.
        for n in 0..2000 {
            cell.update(|_| {
                other.store(Some(n));
                n
            });
        }
    });
}

/// What other threads do makes no update panic, however often they are faster.
#[test]
fn an_update_that_others_delay_goes_on() {
    isolated(|| {
        let (cell, asked) = (RcuCell::new(0_u32), AtomicUsize::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                for n in 1..=1200 {
                    while asked.load(Ordering::Acquire) < n {
                        thread::yield_now();
                    }
                    cell.store(1);
                    asked.store(0, Ordering::Release);
                }
            });
            let mut calls = 0;
            cell.update(|n| {
                if calls < 1200 {
                    calls += 1;
                    asked.store(calls, Ordering::Release);
                    while asked.load(Ordering::Acquire) != 0 {
                        thread::yield_now();
                    }
                }
                n + 1
            });
            assert_eq!((calls, cell.get_cloned()), (1200, 2));
        });
    });
}

#[test]
fn a_held_value_keeps_its_section_and_a_part_is_held_alike() {
    isolated(|| {
        struct Pair(Counted<'static>, Vec<u64>);
        static THERE: AtomicUsize = AtomicUsize::new(0);
        fn second(cell: &RcuCell<Pair>) -> Option<Held<'_, u64>> {
            cell.hold(read_lock()).try_map(|pair| pair.1.get(1))
        }
        let cell = RcuCell::new(Pair(Counted::new(1, &THERE), vec![1, 2]));
        let held = second(&cell).expect("two of them");
        let count = cell.hold(read_lock()).map(|pair| &pair.0.0);
        assert_eq!(
            (*held, *count, format!("{held:?}")),
            (2, 1, "Held(2)".into())
        );
        thread::scope(|scope| {
            let waits =
                scope.spawn(|| cell.store(Pair(Counted::new(2, &THERE), vec![])).wait().0.0);
            thread::sleep(crate::common::SHORT);
            assert_eq!((*held, *count, THERE.load(Ordering::Relaxed)), (2, 1, 2));
            drop(held);
            assert!(in_section());
            drop(count);
            assert_eq!(waits.join().expect("it ends"), 1);
        });
        assert_eq!(THERE.load(Ordering::Relaxed), 1);
        assert!(second(&cell).is_none() && !in_section());
        // A panic in the function ends the section.
        let text = panic_text(|| drop(cell.hold(read_lock()).map(|_| -> &u64 { panic!("no") })));
        assert_eq!((text.as_str(), in_section()), ("no", false));
        assert!(RcuOption::<u8>::empty().hold(read_lock()).is_none() && !in_section());
        let (one, other) = (Domain::new(), Domain::new());
        let option = RcuOption::new_in(Some(1), &one);
        assert_eq!(option.hold(one.read_lock()).as_deref(), Some(&1));
        let text = panic_text(|| drop(option.hold(other.read_lock())));
        assert_eq!(
            text,
            "a guard of another domain: this cell is not read under it"
        );
    });
}
