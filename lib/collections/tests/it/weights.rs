//! What removed entries count as, and what that does.

use std::hash::RandomState;

use quiescent::Domain;
use quiescent::tuning::UNWEIGHED;
use quiescent_collections::RcuHashMap;

/// What the library counts for a batch of entries of this type besides what they own: eight times their size.
const fn own<K, V>(entries: u64) -> u64 {
    entries * 8 * (size_of::<(K, V)>() as u64 + 4)
}

/// Entries that own so much are a batch.
const HEAVY: u64 = 256 * UNWEIGHED as u64;

/// A value that owns as much as it says.
struct Large(usize);

impl quiescent::Weigh for Large {
    fn owned_bytes(&self) -> usize {
        self.0
    }
}

/// A map in a domain of its own. It keeps its table, so that only entries are retired.
fn map<K, V>() -> RcuHashMap<K, V, RandomState, Domain> {
    RcuHashMap::with_capacity_and_hasher_in(1024, RandomState::new(), Domain::new())
}

/// Removes so many entries of a map in a domain, in a section in which nothing is freed: returns the bytes
/// that are queued then.
fn queued<V: Send + Sync + 'static>(
    map: RcuHashMap<u64, V, RandomState, Domain>,
    entries: u64,
    value: impl Fn() -> V,
) -> u64 {
    let guard = map.domain().read_lock();
    for n in 0..entries {
        map.insert(n, value(), &guard);
    }
    let before = map.domain().statistics().queued_bytes;
    for n in 0..entries {
        map.remove(&n, &guard);
    }
    map.domain().statistics().queued_bytes - before
}

#[test]
fn an_entry_with_a_destructor_counts_an_estimate() {
    let plain = queued(map(), 256, || 1_u64);
    let owns = queued(map(), 256, String::new);
    // The rest is the batch's own box and entry.
    assert!(
        (own::<u64, u64>(256)..own::<u64, u64>(256) + 200).contains(&plain),
        "{plain}"
    );
    let estimate = own::<u64, String>(256) + 256 * UNWEIGHED as u64;
    assert!(
        (estimate..estimate + estimate / 100).contains(&owns),
        "{owns}"
    );
}

#[test]
fn a_weighed_entry_counts_what_it_says() {
    let queued = |each: usize| queued(map().weighed(), 256, || "x".repeat(each));
    let (small, large) = (queued(16), queued(100_000));
    assert!(small < own::<u64, String>(256) + 256 * 48 + 200, "{small}");
    // The last few may still wait for their batch.
    assert!(large > 25_600_000 - HEAVY, "{large}");
}

/// A string stays the key of an entry whose value is replaced: only the old values wait.
#[test]
fn a_key_that_stays_is_not_counted() {
    let queued = |map: RcuHashMap<String, u64, RandomState, Domain>| {
        let (guard, key) = (map.domain().read_lock(), "x".repeat(100_000));
        map.insert(key.clone(), 0, &guard);
        let before = map.domain().statistics().queued_bytes;
        for n in 0..256 {
            map.insert(key.clone(), n, &guard);
        }
        map.domain().statistics().queued_bytes - before
    };
    let expected = own::<String, u64>(256)..own::<String, u64>(256) + 200;
    let (weighed, estimated) = (queued(map().weighed()), queued(map()));
    assert!(expected.contains(&weighed), "{weighed}");
    assert!(expected.contains(&estimated), "{estimated}");
}

/// A batch is 256 entries; fewer, if they own much.
#[test]
fn few_large_values_are_retired_at_once() {
    let queued = |entries, each| queued(map().weighed(), entries, || Large(each));
    assert_eq!(queued(255, 1000), 0);
    assert!(queued(1, 1 << 20) >= 1 << 20);
    let quarter = HEAVY as usize / 4;
    assert_eq!(queued(3, quarter), 0);
    let seven = queued(7, quarter);
    assert!((HEAVY..2 * HEAVY).contains(&seven), "{seven}");
}

/// The budget sees what is removed behind a reader.
#[test]
fn a_budget_is_exceeded_by_what_entries_own() {
    let over = |weighed: bool| {
        let map = if weighed { map().weighed() } else { map() };
        let domain = map.domain().clone();
        domain.set_budget(1 << 20, 1 << 20);
        queued(map, 1024, String::new);
        domain.statistics().over_budget
    };
    assert!(over(false) > 0, "1024 values of an estimated KiB");
    assert_eq!(over(true), 0, "1024 empty strings");
}
