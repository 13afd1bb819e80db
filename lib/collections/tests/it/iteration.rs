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

#[test]
fn threads_that_share_an_iteration_visit_each_key_once() {
    use rayon::prelude::*;
    use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

    const STAY: u64 = 20_000;
    let map: RcuHashMap<u64, u64> = (0..STAY).into_par_iter().map(|n| (n, n)).collect();
    let visits: Vec<AtomicU32> = (0..STAY).map(|_| AtomicU32::new(0)).collect();
    let at = AtomicUsize::new(0);
    map.pin().par_iter().for_each(|(key, value)| {
        assert_eq!(key, value);
        if let Some(visits) = visits.get(*key as usize) {
            visits.fetch_add(1, Ordering::Relaxed);
        }
        // The map grows and shrinks meanwhile.
        match at.fetch_add(1, Ordering::Relaxed) {
            100 | 9_000 => (&map).par_extend((STAY..9 * STAY).into_par_iter().map(|n| (n, n))),
            3_000 | 12_000 => {
                map.pin()
                    .retain(|key, _| *key < 500 || *key % 7 == 0 || *key < STAY);
                map.pin().shrink_to_fit();
            }
            _ => {}
        }
    });
    assert!(visits.iter().all(|it| it.load(Ordering::Relaxed) == 1));
}

/// What `rayon` does with the parts of an iteration, but one part after the other.
#[test]
fn parts_of_an_iteration_do_not_overlap_in_a_smaller_table() {
    use rayon::iter::plumbing::{Folder, UnindexedProducer};
    use rayon::prelude::*;

    struct Keys(Vec<u64>);
    impl<'g> Folder<(&'g u64, &'g u64)> for Keys {
        type Result = Vec<u64>;
        fn consume(mut self, (key, _): (&'g u64, &'g u64)) -> Keys {
            self.0.push(*key);
            self
        }
        fn complete(self) -> Vec<u64> {
            self.0
        }
        fn full(&self) -> bool {
            false
        }
    }
    let map: RcuHashMap<u64, u64> = (0..20_000).map(|n| (n, n)).collect();
    let pinned = map.pin();
    let (mut whole, mut parts) = (vec![pinned.par_iter()], Vec::new());
    while let Some(part) = whole.pop() {
        match part.split() {
            (part, Some(other)) => whole.extend([part, other]),
            (part, None) => parts.push(part),
        }
    }
    assert!(parts.len() > 50, "{}", parts.len());
    // Now each bucket has the entries of many parts.
    pinned.retain(|key, _| *key < 10);
    pinned.shrink_to_fit();
    let keys = parts.into_iter().fold(Keys(Vec::new()), |keys, part| {
        UnindexedProducer::fold_with(part, keys)
    });
    let mut keys = keys.complete();
    keys.sort_unstable();
    assert_eq!(keys, (0..10).collect::<Vec<u64>>());
}
