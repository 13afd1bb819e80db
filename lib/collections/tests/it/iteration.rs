//! Iteration over a map that changes its size meanwhile.

use std::collections::BTreeSet;

use quiescent_collections::RcuHashMap;

/// Iterates over keys that stay, and calls `change` after so many of them.
fn visit(change_after: impl Fn(usize) -> Option<bool>) {
    let map = RcuHashMap::new();
    let pinned = map.pin();
    for n in 0..2000_u64 {
        pinned.insert(n, n);
    }
    let mut seen = BTreeSet::new();
    let mut others = 2000..;
    for (at, (key, value)) in pinned.iter().enumerate() {
        assert_eq!(key, value);
        assert!(seen.insert(*key) || *key >= 2000, "{key} was visited twice");
        match change_after(at) {
            Some(true) => others
                .by_ref()
                .take(20_000)
                .for_each(|n| assert!(pinned.insert(n, n).is_none() || n < 2000)),
            Some(false) => {
                pinned.retain(|key, _| *key < 2000);
                pinned.shrink_to_fit();
            }
            None => {}
        }
    }
    assert_eq!(seen.range(..2000).count(), 2000);
}

#[test]
fn a_map_that_grows_meanwhile() {
    visit(|at| (at == 700).then_some(true));
}

#[test]
fn a_map_that_shrinks_meanwhile() {
    visit(|at| {
        [(0, true), (1333, false)]
            .iter()
            .find(|it| it.0 == at)
            .map(|it| it.1)
    });
}

#[test]
fn a_map_that_grows_and_shrinks_several_times() {
    visit(|at| (at % 400 == 7).then_some(at % 800 == 7));
}

#[test]
fn a_map_that_shrinks_after_each_entry() {
    visit(|at| {
        (at < 3 || at == 900)
            .then_some(at < 3)
            .or((at % 50 == 49).then_some(false))
    });
}
