//! The set: what it adds to the map.

use std::collections::HashSet;
use std::sync::{Arc, Barrier};
use std::thread;

use quiescent::{Domain, Srcu};
use quiescent_collections::{RcuHashMap, RcuHashSet};
use rayon::prelude::*;

/// Random calls on the set and on one of the standard library have the same results.
#[test]
fn it_does_what_the_set_of_the_standard_library_does() {
    let (set, mut model) = (RcuHashSet::new(), HashSet::new());
    let mut random = 0x1234_5678_9abc_def1_u64;
    for _ in 0..50_000 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let (call, n) = (random % 8, random >> 40 & 0x3ff);
        let (set, text) = (set.pin(), n.to_string());
        match call {
            0..3 => assert_eq!(set.insert(text.clone()), model.insert(text)),
            3 => assert_eq!(set.remove(text.as_str()), model.remove(&text)),
            4 => assert_eq!(set.take(text.as_str()).cloned(), model.take(&text)),
            5 => assert_eq!(set.get(text.as_str()), model.get(&text)),
            6 => assert_eq!(set.contains(text.as_str()), model.contains(&text)),
            _ if n == 0 => {
                set.retain(|it| it.len() != 3);
                model.retain(|it| it.len() != 3);
            }
            _ => {
                assert_eq!(set.get_or_insert(text.clone()), &text);
                model.insert(text);
            }
        }
    }
    assert_eq!(set.len(), model.len());
    assert_eq!(
        set.pin().iter().cloned().collect::<HashSet<_>>(),
        model.clone()
    );
    assert_eq!(set.into_iter().collect::<HashSet<_>>(), model);
}

#[test]
fn the_first_of_equal_elements_stays() {
    let set = RcuHashSet::new();
    let set = set.pin();
    let (first, second) = (Arc::new(1), Arc::new(1));
    assert!(set.insert(first.clone()) && !set.insert(second.clone()));
    assert!(Arc::ptr_eq(set.get(&1).unwrap(), &first));
    assert!(Arc::ptr_eq(set.get_or_insert(second), &first));
}

#[test]
fn traits() {
    let one: RcuHashSet<u64> = (0..100).collect();
    let mut other = RcuHashSet::default();
    other.extend((0..100).rev());
    assert_eq!(one, other);
    assert!(other.pin().remove(&7));
    assert_ne!(one, other);
    assert!(other.pin().insert(100));
    assert_ne!(one, other); // as many
    other.pin().clear();
    assert!(other.is_empty());
    assert_eq!(format!("{:?}", RcuHashSet::from(["a"])), r#"{"a"}"#);

    let text = serde_json::to_string(&one).unwrap();
    assert_eq!(serde_json::from_str::<RcuHashSet<u64>>(&text).unwrap(), one);
    let all: RcuHashSet<u64> = (0..100).into_par_iter().collect();
    assert_eq!(all, one);
}

#[test]
fn sets_of_domains() {
    let srcu = Srcu::new();
    let set = RcuHashSet::new_in(srcu.clone());
    assert!(set.pin().insert(1));
    let view = set.with_guard(srcu.read_owned_send());
    thread::scope(|scope| {
        scope.spawn(move || assert_eq!(view.iter().next(), Some(&1)));
    });
    let domain = Domain::new();
    let set = RcuHashSet::from_map(RcuHashMap::new_in(domain.clone()).weighed());
    assert!(set.pin().insert("x".repeat(1000)));
    assert_eq!(set.as_map().len(), 1);
}

/// Threads that add the same elements are given the same ones.
#[test]
fn equal_elements_are_added_once() {
    let set = RcuHashSet::<Arc<str>>::new();
    let begin = Barrier::new(4);
    let all: Vec<Vec<Arc<str>>> = thread::scope(|scope| {
        let work = || {
            begin.wait();
            let one = |n: usize| set.pin().get_or_insert(n.to_string().into()).clone();
            (0..5000).map(one).collect()
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|it| it.join().unwrap()).collect()
    });
    for other in &all[1..] {
        let same = all[0].iter().zip(other).all(|(a, b)| Arc::ptr_eq(a, b));
        assert!(same);
    }
    assert_eq!(set.len(), 5000);
}
