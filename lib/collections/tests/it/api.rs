//! Calls that the examples do not show.

use std::hash::{BuildHasherDefault, DefaultHasher};
use std::sync::Arc;

use quiescent::{Domain, Srcu};
use quiescent_collections::RcuHashMap;

/// A map in a static: the hasher's constructor is constant.
static NUMBERS: RcuHashMap<u32, u32, BuildHasherDefault<DefaultHasher>> =
    RcuHashMap::with_hasher(BuildHasherDefault::new());

#[test]
fn a_map_in_a_static() {
    assert_eq!(NUMBERS.pin().get(&1), None);
    assert_eq!(NUMBERS.pin().insert(1, 2), None);
    assert_eq!(NUMBERS.pin().get(&1), Some(&2));
}

#[test]
fn equality_and_debug_and_collect() {
    let one: RcuHashMap<_, _> = (0..100).map(|n| (n, n)).collect();
    let other = RcuHashMap::new();
    (&other).extend((0..100).rev().map(|n| (n, n)));
    assert_eq!(one, other);
    other.pin().insert(5, 0);
    assert_ne!(one, other);
    other.pin().insert(5, 5);
    other.pin().remove(&7);
    assert_ne!(one, other);
    assert_eq!(format!("{:?}", RcuHashMap::from([(1, "a")])), r#"{1: "a"}"#);
}

#[test]
fn maps_may_be_sent_and_shared() {
    fn is<T: Send + Sync>() {}
    is::<RcuHashMap<String, Vec<u8>>>();
    is::<RcuHashMap<String, Vec<u8>, std::hash::RandomState, Srcu>>();
    fn is_send<T: Send>(value: T) -> T {
        value
    }
    let srcu = Srcu::new();
    let map = Arc::new(RcuHashMap::new_in(srcu.clone()));
    map.pin().insert(1, 1);
    let view = is_send(map.with_guard(srcu.read_owned_send()));
    assert_eq!(is_send(view.iter()).count(), 1);
}

#[test]
fn a_map_of_a_domain_lets_it_go() {
    let domain = Domain::new();
    let map = RcuHashMap::new_in(domain.clone());
    for n in 0..1000 {
        map.pin().insert(n, n.to_string());
    }
    for n in 0..900 {
        map.pin().remove(&n);
    }
    assert!(domain.clone().free_now().is_err()); // the map has a handle
    drop(map);
    assert_eq!(domain.free_now().unwrap().left, 0);
}

#[test]
fn room_is_made_and_given_back() {
    let map = RcuHashMap::with_capacity(10_000);
    for n in 0..10_000 {
        map.pin().insert(n, n);
    }
    map.pin().reserve(100_000);
    map.pin().retain(|n, _| n % 100 == 0);
    map.pin().shrink_to_fit();
    assert_eq!(map.len(), 100);
    assert!((0..10_000).all(|n| map.pin().contains_key(&n) == (n % 100 == 0)));
}

/// Each table that is replaced waits for the guard.
#[test]
fn room_that_was_asked_for_stays() {
    let domain = Domain::new();
    let hasher = std::hash::RandomState::new();
    let map = RcuHashMap::with_capacity_and_hasher_in(100_000, hasher, domain.clone());
    let guard = domain.read_lock();
    let queued = || domain.statistics().queued_bytes;
    let insert =
        |n: std::ops::Range<u32>| n.for_each(|n| assert!(map.insert(n, n, &guard).is_none()));
    insert(0..200);
    assert_eq!(queued(), 0);
    map.reserve(1_000_000, &guard);
    let replaced = queued();
    assert!(replaced > 0);
    insert(200..500);
    assert_eq!(queued(), replaced);
    map.shrink_to_fit(&guard);
    assert!(queued() > 2 * replaced);
}

#[test]
fn there_and_back_through_json() {
    let map: RcuHashMap<String, u32> = (0..100).map(|n| (n.to_string(), n)).collect();
    let text = serde_json::to_string(&map).unwrap();
    let back: RcuHashMap<String, u32> = serde_json::from_str(&text).unwrap();
    assert_eq!(map, back);
}
