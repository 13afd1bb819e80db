//! The index that a thread owns: no two living threads have one, the next owner finds what the last one did,
//! and the child of a fork frees those of other threads.

use std::cell::UnsafeCell;
use std::collections::BTreeSet;
use std::sync::Barrier;
use std::thread;

use crate::common::isolated;
use quiescent::{Options, THREAD_INDEXES, fork_generation, read, read_lock, thread_index};

/// Threads that one leaf of slots serves.
const SLOTS: usize = 62;

fn index() -> usize {
    thread_index().expect("an index is free")
}

/// The indexes of so many threads that live at the same time.
fn together(threads: usize) -> BTreeSet<usize> {
    let all = Barrier::new(threads);
    thread::scope(|scope| {
        let indexed = || {
            let own = index();
            all.wait();
            read(|_| assert_eq!(index(), own));
            own
        };
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(indexed)).collect();
        threads
            .into_iter()
            .map(|it| it.join().expect("no panic"))
            .collect()
    })
}

#[test]
fn living_threads_have_different_small_indexes() {
    isolated(|| {
        let own = index();
        for threads in [1, 7, 100] {
            let found = together(threads);
            assert_eq!(found.len(), threads, "{found:?}");
            assert!(!found.contains(&own));
            assert!(
                found
                    .iter()
                    .all(|&index| index <= threads && index < THREAD_INDEXES),
                "{found:?}"
            );
        }
    });
}

/// A count for each index, without atomic operations: only its owner may touch it.
struct Counts([UnsafeCell<u64>; SLOTS]);

// SAFETY: a thread touches the element of its index only. (ThreadSanitizer looks.)
unsafe impl Sync for Counts {}

#[test]
fn an_index_is_used_again_and_nothing_is_lost() {
    static COUNTS: Counts = Counts([const { UnsafeCell::new(0) }; SLOTS]);
    isolated(|| {
        Options::new().max_threads(1).apply().expect("one leaf");
        let add = || {
            // SAFETY: the element of this thread's index.
            unsafe { *COUNTS.0[index()].get() += 1 }
        };
        for _ in 0..100 {
            let threads: [_; 8] = std::array::from_fn(|_| thread::spawn(add));
            threads
                .into_iter()
                .for_each(|it| it.join().expect("no panic"));
        }
        // SAFETY: the threads that wrote were joined.
        let sum = COUNTS.0.iter().map(|it| unsafe { *it.get() }).sum::<u64>();
        assert_eq!(sum, 800);
    });
}

#[test]
fn a_thread_without_a_slot_has_none() {
    isolated(|| {
        Options::new().max_threads(1).apply().expect("one leaf");
        let (taken, freed) = (Barrier::new(SLOTS + 1), Barrier::new(SLOTS + 1));
        thread::scope(|scope| {
            let idle = (0..SLOTS).map(|_| {
                scope.spawn(|| {
                    assert!(index() < SLOTS);
                    taken.wait();
                    freed.wait();
                })
            });
            let idle: Vec<_> = idle.collect();
            taken.wait();
            assert_eq!(thread_index(), None);
            let guard = read_lock();
            freed.wait();
            idle.into_iter().for_each(|it| it.join().expect("no panic"));
            assert_eq!(
                thread_index(),
                None,
                "a section that began without a slot is open"
            );
            drop(guard);
        });
        assert!(index() < SLOTS);
    });
}

#[cfg(target_os = "linux")]
#[test]
fn the_child_of_a_fork_frees_the_indexes_of_other_threads() {
    use crate::common::children::{fork, in_child};
    needs!(fork);
    isolated(|| {
        let own = index();
        let (taken, over) = (Barrier::new(4), Barrier::new(4));
        thread::scope(|scope| {
            let others = (0..3).map(|_| {
                scope.spawn(|| {
                    let own = index();
                    taken.wait();
                    over.wait();
                    own
                })
            });
            let others: Vec<_> = others.collect();
            taken.wait();
            assert_eq!(fork_generation(), 0);
            let child = fork(|| {
                assert_eq!((index(), fork_generation()), (own, 1));
                assert_eq!(together(3), BTreeSet::from([1, 2, 3]));
                in_child(|| assert_eq!((index(), fork_generation()), (own, 2)));
                assert_eq!(fork_generation(), 1);
            });
            let ends_well = child.ends_well();
            over.wait();
            let others: BTreeSet<_> = others
                .into_iter()
                .map(|it| it.join().expect("no panic"))
                .collect();
            assert!(ends_well, "the child failed");
            assert_eq!(fork_generation(), 0);
            assert_eq!(others, BTreeSet::from([1, 2, 3]));
        });
    });
}
