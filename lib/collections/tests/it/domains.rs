//! Maps of domains take guards of these.

use std::panic::{AssertUnwindSafe, catch_unwind};

use quiescent::{Domain, Guard, Srcu};
use quiescent_collections::RcuHashMap;

#[test]
fn a_guard_of_another_domain_is_refused() {
    let (domain, other) = (Domain::new(), Domain::new());
    let map = RcuHashMap::new_in(domain.clone());
    let guard = other.read_lock();
    let refused = |call: &dyn Fn()| catch_unwind(AssertUnwindSafe(call)).is_err();
    assert!(refused(&|| assert!(map.get(&1, &guard).is_none())));
    assert!(refused(&|| assert!(map.insert(1, 1, &guard).is_none())));
    assert!(refused(&|| assert!(map.remove(&1, &guard).is_none())));
    assert!(refused(&|| map.clear(&guard)));
    assert!(refused(&|| assert_eq!(map.iter(&guard).count(), 0)));
    assert!(refused(&|| drop(map.with_guard(other.read_lock()))));
    assert!(map.insert(1, 1, &domain.read_lock()).is_none());
    assert_eq!(map.len(), 1);
}

#[test]
fn all_handles_of_a_domain_do() {
    let srcu = Srcu::new();
    let map = RcuHashMap::new_in(srcu.clone());
    map.insert(1, 1, &srcu.read_lock_send());
    map.insert(2, 2, &Guard::new_in(srcu.clone()));
    assert_eq!(map.with_guard(srcu.read_lock()).iter().count(), 2);
}
