//! Random calls on the map and on one of the standard library have the same results.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};

use proptest::prelude::*;
use quiescent_collections::{Change, RcuHashMap};

/// A hasher that leaves a number of bits of the key, so that keys collide.
#[derive(Clone, Copy, Debug)]
pub struct Weak(u64);

pub struct Writer(u64, u64);

impl BuildHasher for Weak {
    type Hasher = Writer;

    fn build_hasher(&self) -> Writer {
        Writer(0, self.0)
    }
}

impl Hasher for Writer {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0 << 8 | u64::from(*byte);
        }
    }

    fn write_u16(&mut self, number: u16) {
        self.0 = u64::from(number);
    }

    fn finish(&self) -> u64 {
        self.0 & self.1
    }
}

/// A key that is compared without a lock, as those of programs are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Key(u16);

#[derive(Clone, Debug)]
enum Call {
    Insert(u16, u32),
    TryInsert(u16, u32),
    Remove(u16),
    RemoveIf(u16, u32),
    Replace(u16, u32),
    Update(u16, u32),
    Compute(u16, u32),
    GetOrInsert(u16, u32),
    GetMany([u16; 4]),
    Grow(u16, u16),
    Retain(u32),
    Clear,
    Reserve(u16),
    Shrink,
    Iterate,
}

fn call() -> impl Strategy<Value = Call> {
    let key = || 0..600_u16;
    let value = || 0..8_u32;
    prop_oneof![
        8 => (key(), value()).prop_map(|(k, v)| Call::Insert(k, v)),
        4 => (key(), value()).prop_map(|(k, v)| Call::TryInsert(k, v)),
        6 => key().prop_map(Call::Remove),
        3 => (key(), value()).prop_map(|(k, v)| Call::RemoveIf(k, v)),
        2 => (key(), value()).prop_map(|(k, v)| Call::Replace(k, v)),
        3 => (key(), value()).prop_map(|(k, v)| Call::Update(k, v)),
        3 => (key(), value()).prop_map(|(k, v)| Call::Compute(k, v)),
        3 => (key(), value()).prop_map(|(k, v)| Call::GetOrInsert(k, v)),
        2 => [key(), key(), key(), key()].prop_map(Call::GetMany),
        3 => (key(), key()).prop_map(|(from, to)| Call::Grow(from, to)),
        1 => value().prop_map(Call::Retain),
        1 => Just(Call::Clear),
        1 => (0..2000_u16).prop_map(Call::Reserve),
        1 => Just(Call::Shrink),
        2 => Just(Call::Iterate),
    ]
}

fn run(calls: &[Call], hasher: Weak) {
    let map = RcuHashMap::with_hasher(hasher);
    let mut model = HashMap::new();
    for call in calls {
        let map = map.pin();
        match *call {
            Call::Insert(k, v) => {
                assert_eq!(map.insert(Key(k), v).copied(), model.insert(Key(k), v));
            }
            Call::TryInsert(k, v) => {
                let was = model.get(&Key(k)).copied();
                let result = map.try_insert(Key(k), v);
                assert_eq!(result.err().map(|it| *it.current), was);
                model.entry(Key(k)).or_insert(v);
            }
            Call::Remove(k) => assert_eq!(map.remove(&Key(k)).copied(), model.remove(&Key(k))),
            Call::RemoveIf(k, v) => {
                let removed = map.remove_if(&Key(k), |_, &it| it == v).copied();
                let expected = (model.get(&Key(k)) == Some(&v)).then(|| model.remove(&Key(k)));
                assert_eq!(removed, expected.flatten());
            }
            Call::Replace(k, v) => {
                let was = model.get_mut(&Key(k)).map(|it| std::mem::replace(it, v));
                assert_eq!(map.replace(Key(k), v).copied(), was);
            }
            Call::Update(k, v) => {
                let new = map.update(Key(k), |it| it + v).copied();
                let expected = model.get_mut(&Key(k)).map(|it| {
                    *it += v;
                    *it
                });
                assert_eq!(new, expected);
            }
            Call::Compute(k, v) => {
                let change = |it: Option<&u32>| match it {
                    None => Change::Put(v),
                    Some(it) if *it == v => Change::Remove,
                    Some(it) if *it < v => Change::Keep,
                    Some(it) => Change::Put(it - 1),
                };
                let (old, new) = map.compute(Key(k), change);
                let was = model.get(&Key(k)).copied();
                assert_eq!(old.copied(), was);
                match change(was.as_ref()) {
                    Change::Keep => assert_eq!(new, old),
                    Change::Put(v) => {
                        assert_eq!(new, Some(&v));
                        model.insert(Key(k), v);
                    }
                    Change::Remove => {
                        assert_eq!(new, None);
                        model.remove(&Key(k));
                    }
                }
            }
            Call::GetOrInsert(k, v) => {
                let is = map.get_or_insert_with(Key(k), || v);
                assert_eq!(is, model.entry(Key(k)).or_insert(v));
            }
            Call::GetMany(keys) => {
                let keys = keys.map(Key);
                let found = map.get_many([&keys[0], &keys[1], &keys[2], &keys[3]]);
                assert_eq!(found.to_vec(), keys.map(|key| model.get(&key)).to_vec());
            }
            Call::Grow(from, to) => {
                for k in from..to {
                    assert_eq!(map.insert(Key(k), 1).copied(), model.insert(Key(k), 1));
                }
            }
            Call::Retain(v) => {
                map.retain(|_, it| *it > v);
                model.retain(|_, it| *it > v);
            }
            Call::Clear => {
                map.clear();
                model.clear();
            }
            Call::Reserve(count) => map.reserve(count.into()),
            Call::Shrink => map.shrink_to_fit(),
            Call::Iterate => {
                let mut all: Vec<_> = map.iter().map(|(k, v)| (*k, *v)).collect();
                let mut expected: Vec<_> = model.iter().map(|(k, v)| (*k, *v)).collect();
                all.sort_unstable();
                expected.sort_unstable();
                assert_eq!(all, expected);
            }
        }
        assert_eq!(map.map().len(), model.len());
    }
    for k in 0..600 {
        assert_eq!(map.pin().get(&Key(k)), model.get(&Key(k)));
    }
    let mut rest: Vec<_> = map.into_iter().collect();
    let mut expected: Vec<_> = model.into_iter().collect();
    rest.sort_unstable();
    expected.sort_unstable();
    assert_eq!(rest, expected);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_map_does_what_the_standard_one_does(calls in prop::collection::vec(call(), 1..80)) {
        run(&calls, Weak(u64::MAX));
    }

    #[test]
    fn the_same_with_keys_that_collide(calls in prop::collection::vec(call(), 1..30)) {
        run(&calls, Weak(7));
    }

    #[test]
    fn the_same_with_one_hash_for_all_keys(calls in prop::collection::vec(call(), 1..20)) {
        run(&calls, Weak(0));
    }
}
