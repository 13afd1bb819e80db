//! What loom shows and does not show: the properties that the models rely on.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use quiescent_models::loom::Ordering::{Acquire, Relaxed, Release, SeqCst};
use quiescent_models::loom::*;

type Words = [AtomicU32; 2];

/// Every pair of values that these two threads can return.
fn outcomes(
    left: impl Fn(&Words) -> u32 + Copy + Send + Sync + 'static,
    right: impl Fn(&Words) -> u32 + Copy + Send + Sync + 'static,
) -> BTreeSet<(u32, u32)> {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let out = seen.clone();
    model(move || {
        let _ = register_heavy_fence();
        let words = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let other = words.clone();
        let thread = thread::spawn(move || right(&other));
        let mine = left(&words);
        let theirs = thread.join().expect("it only accesses words");
        out.lock().expect("not poisoned").insert((mine, theirs));
    });
    let outcomes = seen.lock().expect("not poisoned").clone();
    assert!(outcomes.len() > 1, "there were schedules: {outcomes:?}");
    outcomes
}

/// Store buffering with these fences.
fn store_buffering(fences: [fn(); 2]) -> bool {
    let body = |me: usize| {
        move |words: &Words| {
            words[me].store(1, Relaxed);
            fences[me]();
            words[1 - me].load(Relaxed)
        }
    };
    outcomes(body(0), body(1)).contains(&(0, 0))
}

fn heavy() {
    heavy_fence().expect("it never fails");
}

#[test]
fn light_pairs_with_heavy_and_with_nothing_else() {
    let pair = || store_buffering([light_fence, heavy]);
    let lights = || store_buffering([light_fence, light_fence]);
    let full = || store_buffering([|| fence(SeqCst), heavy]);
    let mixed = || store_buffering([light_fence, || fence(SeqCst)]);
    assert!(
        pair() && lights() && !full(),
        "fenced models: light is nothing"
    );
    assert!(!with_membarrier(pair), "either sees the other");
    assert!(!with_membarrier(full));
    assert!(with_membarrier(lights));
    assert!(with_membarrier(mixed));
}

#[test]
fn a_light_fence_is_no_release() {
    let send = |w: &Words| {
        w[0].store(1, Relaxed);
        light_fence();
        w[1].store(1, Relaxed);
        0
    };
    let receive = |w: &Words| {
        let flag = w[1].load(Acquire);
        light_fence();
        10 * flag + w[0].load(Relaxed)
    };
    assert!(with_membarrier(|| outcomes(send, receive)).contains(&(0, 10)));
    let receive = |w: &Words| {
        let flag = w[1].load(Acquire);
        heavy();
        10 * flag + w[0].load(Relaxed)
    };
    // Right: a heavy fence after the flag comes after the light fence before it.
    assert!(!with_membarrier(|| outcomes(send, receive)).contains(&(0, 10)));
}

#[test]
fn message_passing_needs_release_and_acquire() {
    let send = |order| {
        move |w: &Words| {
            w[0].store(1, Relaxed);
            w[1].store(1, order);
            0
        }
    };
    let receive = |order| move |w: &Words| 10 * w[1].load(order) + w[0].load(Relaxed);
    assert!(outcomes(send(Relaxed), receive(Acquire)).contains(&(0, 10)));
    assert!(outcomes(send(Release), receive(Relaxed)).contains(&(0, 10)));
    assert!(!outcomes(send(Release), receive(Acquire)).contains(&(0, 10)));
}

#[test]
fn known_limit_load_buffering_is_never_seen() {
    let body = |me: usize| {
        move |w: &Words| {
            let seen = w[me].load(Relaxed);
            w[1 - me].store(1, Relaxed);
            seen
        }
    };
    assert!(
        !outcomes(body(0), body(1)).contains(&(1, 1)),
        "C11 allows it: does loom show it now?"
    );
}

#[test]
fn cells_and_clocks_belong_to_a_thread_and_begin_anew() {
    model(|| {
        assert_eq!(tls_get(1), 0, "in every execution");
        tls_set(1, 5);
        let cells = thread::spawn(|| (tls_get(1), now_ns()))
            .join()
            .expect("it only reads");
        assert_eq!(cells, (0, 100));
        assert_eq!(tls_get(1), 5);
        assert!(now_ns() < now_ns());
    });
}

#[test]
fn a_futex_waits_for_the_word() {
    model(|| {
        let words = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let other = words.clone();
        let thread = thread::spawn(move || {
            other[1].store(1, Relaxed);
            other[0].store(1, Release);
            futex_wake(&other[0]);
        });
        futex_wait(&words[0], 0, None);
        assert_eq!(words[0].load(Acquire), 1);
        assert_eq!(words[1].load(Relaxed), 1);
        yield_now();
        thread.join().expect("it only stores");
    });
}
