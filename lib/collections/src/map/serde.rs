//! The map for the crate `serde`.

use std::fmt;
use std::marker::PhantomData;

use quiescent::Handle;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use super::RcuHashMap;
use crate::bounds::{Hashes, Key, Stored};

/// The entries as [`iter`](RcuHashMap::iter) finds them, in one section.
impl<K, V, S: Hashes, D: Handle + 'static> Serialize for RcuHashMap<K, V, S, D>
where
    K: Key + Serialize,
    V: Stored + Serialize,
{
    fn serialize<Z: Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
        let pinned = self.pin();
        // Formats that write the number of entries first must not find another number.
        let entries: Vec<(&K, &V)> = pinned.iter().collect();
        serializer.collect_map(entries)
    }
}

/// Of a key that is there twice, the last value.
impl<'de, K: Key + Deserialize<'de>, V: Stored + Deserialize<'de>, S: Hashes + Default>
    Deserialize<'de> for RcuHashMap<K, V, S>
{
    fn deserialize<Z: Deserializer<'de>>(deserializer: Z) -> Result<RcuHashMap<K, V, S>, Z::Error> {
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

struct Entries<K, V, S>(PhantomData<(K, V, S)>);

impl<'de, K: Key + Deserialize<'de>, V: Stored + Deserialize<'de>, S: Hashes + Default> Visitor<'de>
    for Entries<K, V, S>
{
    type Value = RcuHashMap<K, V, S>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        // Not the number that the input claims: it is not trusted.
        let map = RcuHashMap::default();
        while let Some((key, value)) = entries.next_entry()? {
            map.pin().insert(key, value);
        }
        Ok(map)
    }
}
