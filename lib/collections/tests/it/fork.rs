//! The child of a fork reads and changes the map.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::alone::alone;
use quiescent_collections::RcuHashMap;

/// Forks; what the child does returns true, and does not wait for ever.
#[track_caller]
fn in_a_child(body: impl FnOnce() -> bool) {
    // SAFETY: the child calls this library, and ends.
    match unsafe { libc::fork() } {
        0 => {
            // SAFETY: a signal that ends this process.
            unsafe { libc::alarm(100) };
            let ok = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
            // SAFETY: ends the process.
            unsafe { libc::_exit(i32::from(!ok.unwrap_or(false))) };
        }
        child => {
            let mut status = -1;
            // SAFETY: waits for the child made above; `status` is writable.
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            assert_eq!(status, 0);
        }
    }
}

#[test]
fn the_child_uses_the_map() {
    let map = RcuHashMap::new();
    std::thread::scope(|scope| {
        // A thread that the child does not have, with lists of its own.
        scope.spawn(|| {
            (0..5000).for_each(|n| {
                map.pin().insert(n, n.to_string());
            })
        });
    });
    (0..1000).for_each(|n| assert!(map.pin().remove(&n).is_some()));
    in_a_child(|| {
        let found = (1000..5000).all(|n| map.pin().get(&n) == Some(&n.to_string()));
        (0..3000).for_each(|n| assert_eq!(map.pin().insert(n, String::new()).is_some(), n >= 1000));
        (2000..5000).for_each(|n| assert!(map.pin().remove(&n).is_some()));
        found && map.len() == 2000 && map.pin().iter().count() == 2000
    });
    assert_eq!(map.len(), 4000);
}

/// At any moment of another thread's changes and resizes the child can read: nothing that it waits for.
#[test]
fn a_child_made_amid_changes_reads_the_map() {
    alone(|| {
        let map = RcuHashMap::new();
        (0..500).for_each(|n| assert_eq!(map.pin().insert(n, n.to_string()), None));
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 0.. {
                    let others = 500..500 + 3000 * (round % 2);
                    for n in others.clone() {
                        map.pin().insert(n, n.to_string());
                    }
                    others.for_each(|n| assert!(map.pin().remove(&n).is_some()));
                    map.pin().shrink_to_fit();
                    if done.load(Relaxed) {
                        return;
                    }
                }
            });
            for _ in 0..60 {
                in_a_child(|| {
                    let map = map.pin();
                    let mut stay: Vec<u64> = map.keys().copied().filter(|&n| n < 500).collect();
                    stay.sort_unstable();
                    let found = (0..500).all(|n| map.get(&n) == Some(&n.to_string()));
                    found && stay.into_iter().eq(0..500)
                });
            }
            done.store(true, Relaxed);
        });
    });
}
