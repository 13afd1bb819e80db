//! The hash table of this crate.

use std::collections::HashMap;

/// A table without order, as all of them are: what is shown is sorted first.
pub(crate) type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;
