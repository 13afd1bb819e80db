//! The list: each call, compared with a model in one thread; and readers beside writers with an oracle that
//! knows what an iteration must see, must not see, and what must not be freed yet.

mod oracle;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::common::{Numbers, SHORT, in_both_modes, isolated, panic_text};
use quiescent::{
    FenceMode, Options, RcuList, Runner, barrier, defer, read, read_lock, statistics, synchronize,
};

/// What an iteration sees now.
fn elements<T: Copy + Send + Sync>(list: &RcuList<T>) -> Vec<T> {
    read(|guard| list.iter(guard).copied().collect())
}

#[test]
fn each_call_does_what_it_says() {
    isolated(|| {
        let list = RcuList::new();
        assert!(list.is_empty() && elements(&list).is_empty());
        assert_eq!((list.clear(), list.retain(|_| false)), (0, 0));
        assert!(list.remove_first(|_| true).is_none());
        assert_eq!(list.replace(1, |_| true), Err(1));

        list.push_front(3);
        list.push_front(1);
        list.insert_before(2, |&n| n == 3);
        list.insert_before(9, |_| false);
        list.insert_before(0, |_| true);
        assert_eq!(elements(&list), [0, 1, 2, 3, 9]);
        assert!(!list.is_empty());

        assert_eq!(list.replace(8, |&n| n > 1), Ok(()));
        assert_eq!(elements(&list), [0, 1, 8, 3, 9]);
        assert_eq!(list.replace(7, |&n| n == 100), Err(7));

        assert!(list.remove_first(|&n| n == 8).is_some());
        assert!(list.remove_first(|&n| n == 8).is_none());
        assert!(list.remove_first(|&n| n == 0).is_some());
        assert!(list.remove_first(|&n| n == 9).is_some());
        assert_eq!(elements(&list), [1, 3]);

        assert_eq!(list.retain(|_| true), 0);
        list.insert_before(5, |_| false);
        assert_eq!(list.retain(|&n| n == 3), 2);
        assert_eq!(elements(&list), [3]);
        list.push_front(4);
        assert_eq!(read(|guard| list.front(guard).copied()), Some(4));
        assert_eq!(
            list.pop_front().map(|node| node.wait().into_inner()),
            Some(4)
        );
        list.push_front(4);
        assert_eq!((list.len(), list.clear(), list.len()), (2, 2, 0));
        assert!(list.pop_front().is_none() && read(|guard| list.front(guard).is_none()));
        assert!(list.is_empty() && elements(&list).is_empty());
    });
}

#[test]
fn made_from_values_and_shown() {
    isolated(|| {
        let list = RcuList::from_iter(0..5);
        assert_eq!(elements(&list), [0, 1, 2, 3, 4]);
        assert_eq!(format!("{list:?}"), "[0, 1, 2, 3, 4]");
        let guard = read_lock();
        let mut iter = list.iter(&guard);
        assert_eq!(iter.nth(2), Some(&2));
        assert_eq!(format!("{iter:?}"), "[3, 4]");
        assert!(iter.clone().eq(&[3, 4]) && iter.eq(&[3, 4]));
        assert!(RcuList::<u8>::default().is_empty());
    });
}

/// Adds its number to a record when it is dropped.
struct Recorded(u32, Arc<[AtomicU32]>);

impl Drop for Recorded {
    fn drop(&mut self) {
        self.1[self.0 as usize].fetch_add(1, Ordering::Relaxed);
    }
}

fn recorded(count: u32) -> (RcuList<Recorded>, Arc<[AtomicU32]>) {
    let record: Arc<[AtomicU32]> = (0..count).map(|_| AtomicU32::new(0)).collect();
    let list = RcuList::from_iter((0..count).map(|n| Recorded(n, record.clone())));
    (list, record)
}

fn drops(record: &[AtomicU32]) -> Vec<u32> {
    let counts = record.iter().map(|count| count.load(Ordering::Relaxed));
    counts.collect()
}

#[test]
fn removed_values_are_dropped_once_and_after_their_readers() {
    isolated(|| {
        let (list, record) = recorded(6);
        std::thread::scope(|s| {
            let guard = read_lock();
            let mut iter = list.iter(&guard);
            assert_eq!(iter.nth(1).map(|r| r.0), Some(1)); // stands on 1
            let new = Recorded(0, Arc::from([AtomicU32::new(0)]));
            assert!(list.remove_first(|r| r.0 == 1).is_some());
            assert!(list.remove_first(|r| r.0 == 2).is_some()); // 1 still leads to it
            assert!(list.replace(new, |r| r.0 == 4).is_ok());
            assert_eq!(list.retain(|r| r.0 != 5), 1);
            let reclaimed = s.spawn(barrier);
            std::thread::sleep(SHORT);
            // From the removed element on: its successor when it was removed, and what that led to then.
            let rest: Vec<u32> = iter.map(|r| r.0).collect();
            assert_eq!(rest, [2, 3, 0], "1 leads to 2, 2 to 3, 3 to the new one");
            assert_eq!(drops(&record), [0; 6], "freed under a reader");
            drop(guard);
            reclaimed.join().expect("the grace period ends");
        });
        assert_eq!(drops(&record), [0, 1, 1, 0, 1, 1]);
        drop(list); // the rest, at once
        assert_eq!(drops(&record), [1; 6]);
    });
}

#[test]
fn clear_leaves_the_elements_to_those_who_are_among_them() {
    isolated(|| {
        let (list, record) = recorded(4);
        let guard = read_lock();
        let mut iter = list.iter(&guard);
        iter.next();
        assert_eq!(list.clear(), 4);
        assert_eq!(list.iter(&guard).count(), 0);
        assert!(iter.map(|r| r.0).eq([1, 2, 3]));
        assert_eq!(drops(&record), [0; 4]);
        drop(guard);
        barrier();
        assert_eq!(drops(&record), [1; 4]);
    });
}

#[test]
fn a_closure_that_panics_leaves_a_list_that_works() {
    isolated(|| {
        let (list, record) = recorded(4);
        let text = panic_text(|| {
            list.retain(|r| {
                assert!(r.0 < 2, "enough");
                r.0 != 1
            });
        });
        assert_eq!(text, "enough");
        let numbers = || read(|guard| list.iter(guard).map(|r| r.0).collect::<Vec<_>>());
        assert_eq!(numbers(), [0, 2, 3]);
        assert!(list.remove_first(|r| r.0 == 3).is_some());
        assert_eq!(numbers(), [0, 2]);
        barrier();
        assert_eq!(drops(&record), [0, 1, 0, 1]);
    });
}

#[test]
fn what_is_removed_is_returned_and_weighed() {
    isolated(|| {
        static LIST: RcuList<String> = RcuList::new().with_weight(|_| {
            LIST.push_front("weighed".into()); // the lock is free
            1 << 20
        });
        let list = &LIST;
        list.push_front("two".into());
        list.push_front("one".into());
        let guard = read_lock();
        let first = list.front(&guard).expect("two elements");
        let removed = list.remove_first(|_| true).expect("two elements");
        assert_eq!((removed.as_str(), first.as_str()), ("one", "one"));
        assert_eq!(format!("{removed:?}"), "Retired(\"one\")");
        removed.retire();
        assert!(statistics().queued_bytes > 1 << 20);
        drop(guard);
        let two = list.remove_first(|name| name == "two");
        assert_eq!(two.expect("one").wait().into_inner(), "two");
        assert_eq!(list.clear(), 2);
        let text = panic_text(|| {
            let list = RcuList::from_iter([String::new()]).with_weight(|_| panic!("heavy"));
            drop(list.pop_front());
        });
        assert_eq!(text, "heavy");
        barrier();
        assert_eq!(statistics().queued, 0);
    });
}

#[test]
fn the_others_are_dropped_when_a_destructor_of_a_list_panics() {
    isolated(|| {
        struct Panics(bool, Recorded);
        impl Drop for Panics {
            fn drop(&mut self) {
                assert!(!self.0, "number {}", self.1.0);
            }
        }
        for bad in 0..10 {
            let record: Arc<[AtomicU32]> = (0..10).map(|_| AtomicU32::new(0)).collect();
            let value = |n| Panics(n == bad, Recorded(n, record.clone()));
            let list = RcuList::from_iter((0..10).map(value));
            assert_eq!(panic_text(|| drop(list)), format!("number {bad}"));
            assert_eq!(drops(&record), [1; 10]);
        }
    });
}

#[test]
fn a_change_inside_a_change_of_the_same_list_panics() {
    isolated(|| {
        let (list, other) = (RcuList::from_iter([1, 2]), RcuList::new());
        let calls: [(&str, &dyn Fn()); 7] = [
            ("push_front", &|| list.push_front(9)),
            ("insert_before", &|| list.insert_before(9, |_| true)),
            ("replace", &|| assert!(list.replace(9, |_| true).is_ok())),
            ("remove_first", &|| drop(list.remove_first(|_| true))),
            ("remove_first", &|| drop(list.pop_front())),
            ("retain", &|| assert_eq!(list.retain(|_| true), 2)),
            ("clear", &|| assert_eq!(list.clear(), 2)),
        ];
        for (name, call) in calls {
            let text = panic_text(|| {
                list.retain(|_| {
                    call();
                    true
                });
            });
            assert!(
                text.starts_with(&format!("RcuList::{name}: called by")),
                "{text}"
            );
            // Readers and other lists are no matter; and the lock is free again.
            list.retain(|&n| {
                other.push_front(n);
                list.len() == 2
            });
        }
        assert_eq!((elements(&list), other.len()), (vec![1, 2], 14));
        // Also while another thread waits for the lock.
        std::thread::scope(|s| {
            let text = panic_text(|| {
                list.retain(|_| {
                    crate::common::sleepers(s, 1, || list.push_front(3));
                    list.push_front(9);
                    true
                });
            });
            assert!(text.starts_with("RcuList::push_front: called by"), "{text}");
        });
        assert_eq!(elements(&list), [3, 1, 2]);
    });
}

/// A long list is not freed by recursion.
#[test]
fn a_long_list_is_dropped() {
    isolated(|| {
        let list = RcuList::from_iter(0..300_000_u32);
        assert_eq!(read(|guard| list.iter(guard).count()), 300_000);
        drop(list);
    });
}

/// One random change, to the list and to its model. Elements are numbers that are used once.
fn change(numbers: &mut Numbers, list: &RcuList<u64>, model: &mut Vec<u64>, fresh: u64) {
    // The place of an element, or behind the last: no such element.
    let at = numbers.below(model.len() + 1);
    let target = model.get(at).copied();
    let is_target = |&n: &u64| Some(n) == target;
    match numbers.below(16) {
        0 | 1 => {
            list.push_front(fresh);
            model.insert(0, fresh);
        }
        2..=6 => {
            list.insert_before(fresh, is_target);
            model.insert(at, fresh);
        }
        7..=9 => {
            let expected = match model.get_mut(at) {
                Some(element) => {
                    *element = fresh;
                    Ok(())
                }
                None => Err(fresh),
            };
            assert_eq!(list.replace(fresh, is_target), expected);
        }
        10..=13 => {
            let removed = list.remove_first(is_target);
            assert_eq!(removed.map(|node| **node), target);
            model.retain(|n| !is_target(n));
        }
        14 => {
            let keep = |n: &u64| !(n + fresh).is_multiple_of(4);
            let before = model.len();
            model.retain(keep);
            assert_eq!(list.retain(keep), before - model.len());
        }
        _ if numbers.below(8) == 0 => {
            assert_eq!(list.clear(), model.len());
            model.clear();
        }
        _ => assert_eq!(list.is_empty(), model.is_empty()),
    }
}

/// What an iteration that began with `first`, ended with `last`, and met `ever` may see.
fn judge(seen: &[u64], throughout: &[u64], ever: &[u64]) {
    let stayed: Vec<u64> = seen
        .iter()
        .copied()
        .filter(|n| throughout.contains(n))
        .collect();
    assert_eq!(stayed, throughout, "exactly once and in order: {seen:?}");
    for (i, n) in seen.iter().enumerate() {
        assert!(ever.contains(n), "{n} was not there: {seen:?}");
        assert!(!seen[..i].contains(n), "{n} is seen twice: {seen:?}");
    }
}

#[test]
fn behaves_as_a_vector_does_and_iterators_go_on() {
    isolated(|| {
        for seed in 0..300 {
            let mut numbers = Numbers(seed);
            let (list, mut model) = (RcuList::new(), Vec::new());
            let mut fresh = 0;
            for _ in 0..40 {
                let guard = read_lock();
                let mut iter = list.iter(&guard);
                let steps = numbers.below(6);
                let mut seen: Vec<u64> = iter.by_ref().take(steps).copied().collect();
                let (mut throughout, mut ever) = (model.clone(), model.clone());
                for _ in 0..numbers.below(8) {
                    fresh += 1;
                    change(&mut numbers, &list, &mut model, fresh);
                    assert_eq!(elements(&list), model, "seed {seed}");
                    throughout.retain(|n| model.contains(n));
                    ever.extend(&model);
                    seen.extend(iter.by_ref().take(numbers.below(3)));
                }
                seen.extend(iter);
                judge(&seen, &throughout, &ever);
            }
        }
        barrier();
    });
}

/// Changes the list that it was in when it is dropped.
struct Busybody {
    /// As often as this, it leaves another one of its kind.
    left: u32,
}

static STREET: RcuList<Busybody> = RcuList::new();
static MADE: AtomicU32 = AtomicU32::new(0);
static GONE: AtomicU32 = AtomicU32::new(0);
/// Dropped by the thread that writes, while it writes.
static HERE: AtomicU32 = AtomicU32::new(0);

fn busybody(left: u32) -> Busybody {
    MADE.fetch_add(1, Ordering::Relaxed);
    Busybody { left }
}

impl Drop for Busybody {
    fn drop(&mut self) {
        let here = std::thread::current().name() == Some("writer");
        HERE.fetch_add(u32::from(here), Ordering::Relaxed);
        let gone = GONE.fetch_add(1, Ordering::Relaxed);
        let Some(left) = self.left.checked_sub(1) else {
            STREET.retain(|_| true);
            return;
        };
        match gone % 4 {
            0 => STREET.push_front(busybody(left)),
            1 => STREET.insert_before(busybody(left), |_| false),
            2 => drop(STREET.replace(busybody(0), |_| true)),
            _ => {
                STREET.remove_first(|other| other.left == left);
            }
        }
    }
}

#[test]
fn values_that_change_the_list_when_they_are_dropped() {
    needs!(native);
    in_both_modes(|| {
        Options::new()
            .closures(Runner::Owner)
            .apply()
            .expect("possible");
        crate::common::on_thread("writer", || {
            for n in 0..3000 {
                for left in 0..3 {
                    STREET.push_front(busybody(left));
                }
                match n % 4 {
                    0 => drop(STREET.replace(busybody(1), |other| other.left == 2)),
                    1 => {
                        STREET.retain(|other| other.left != 1);
                    }
                    2 => {
                        STREET.clear();
                    }
                    _ => while STREET.remove_first(|other| other.left > 0).is_some() {},
                }
                defer(|| ()); // runs what is ready, of whatever kind
                if n % 64 == 0 {
                    synchronize();
                }
            }
        });
        while !STREET.is_empty() || statistics().queued > 0 {
            STREET.clear();
            barrier();
        }
        let made = MADE.load(Ordering::Relaxed);
        assert!(made > 9000, "{made}");
        assert_eq!(GONE.load(Ordering::Relaxed), made);
        // Fenced readers leave it to the worker.
        let inline = statistics().fence_mode == FenceMode::Membarrier;
        assert!(!inline || HERE.load(Ordering::Relaxed) > 1000);
    });
}

#[test]
fn readers_beside_writers() {
    in_both_modes(oracle::run);
}
