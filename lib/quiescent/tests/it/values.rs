//! Values of the API by themselves: equal cookies, weights, a list's lock.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::common::{isolated, sleepers, until};
use quiescent::{Cookie, RcuList, Weigh, read, start_grace_period, synchronize};

#[test]
fn cookies_of_one_grace_period_are_equal_and_others_are_not() {
    isolated(|| {
        let (one, same) = (start_grace_period(), start_grace_period());
        synchronize();
        synchronize();
        let other = start_grace_period();
        assert_eq!(one, same);
        assert_ne!(one, other);
        assert_eq!(Cookie::COMPLETED, Cookie::COMPLETED);
        // Each is found again, and the equal ones are one.
        let all: HashSet<Cookie> = [one, same, other].into_iter().collect();
        assert_eq!(all.len(), 2);
        assert!(all.contains(&one) && all.contains(&other));
    });
}

#[test]
fn what_is_shared_or_borrowed_weighs_nothing_and_a_tree_by_its_nodes() {
    let shared = Arc::new([0u8; 1000]);
    let alone = shared.owned_bytes();
    assert!((1016..1100).contains(&alone), "{alone}");
    let second = Arc::clone(&shared);
    assert_eq!((shared.owned_bytes(), second.owned_bytes()), (0, 0));
    assert_eq!((&[0u8; 1000]).owned_bytes(), 0);
    // Eight elements a node, eleven places in it, and the links.
    let tree = |n: usize| (0..n as u64).collect::<BTreeSet<u64>>().owned_bytes();
    assert_eq!(tree(0), 0);
    assert_eq!((tree(1), tree(9)), (tree(8), 2 * tree(8)));
    assert!(
        (11 * 8 + 4 * size_of::<usize>()..200).contains(&tree(8)),
        "{}",
        tree(8)
    );
    // Wide elements: nearly all of it is theirs.
    let wide = (0..8u8)
        .map(|n| [n; 1000])
        .collect::<BTreeSet<[u8; 1000]>>()
        .owned_bytes();
    assert!((11_000..12_000).contains(&wide), "{wide}");
}

#[test]
fn writers_that_sleep_for_a_lists_lock_are_woken_one_after_the_other() {
    isolated(|| {
        let (list, inside, go) = (
            RcuList::new(),
            AtomicBool::new(false),
            AtomicBool::new(false),
        );
        list.push_front(1);
        let (list, inside, go) = (&list, &inside, &go);
        thread::scope(|scope| {
            scope.spawn(move || {
                list.retain(|_| {
                    inside.store(true, Ordering::SeqCst);
                    until("the others sleep", || go.load(Ordering::SeqCst));
                    true
                })
            });
            until("it has the lock", || inside.load(Ordering::SeqCst));
            let waiting = sleepers(scope, 2, move || list.push_front(2));
            go.store(true, Ordering::SeqCst);
            until("both are woken", || {
                waiting.iter().all(thread::ScopedJoinHandle::is_finished)
            });
        });
        assert!(read(|guard| list.iter(guard).eq(&[2, 2, 1])));
    });
}
