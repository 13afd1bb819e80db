//! The library's lock on the store-buffer machine: `prim/lock.rs`.

use std::rc::Rc;

use crate::common::check;
use quiescent_core::prim::lock::{FREE, release, take};
use quiescent_models::explorer::Ordering::Relaxed;
use quiescent_models::explorer::{AtomicU32, JoinHandle, spawn};

/// So many threads that take the lock, each once: no addition is lost, and no thread sleeps for ever.
fn scenario(threads: usize) {
    let shared = Rc::new((AtomicU32::new(FREE), AtomicU32::new(0)));
    let all: Vec<JoinHandle<()>> = (0..threads)
        .map(|_| {
            let shared = shared.clone();
            spawn(move || {
                let (word, sum) = &*shared;
                take(word);
                sum.store(sum.load(Relaxed) + 1, Relaxed);
                release(word);
            })
        })
        .collect();
    all.into_iter().for_each(JoinHandle::join);
    assert_eq!(
        shared.1.load(Relaxed),
        threads as u32,
        "lost under the lock"
    );
}

#[test]
fn sleepers_are_woken_one_after_the_other() {
    check("locks: two", 2, 3, || scenario(2));
    check("locks: three", 2, 2, || scenario(3));
}
