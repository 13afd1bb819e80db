//! What keys, values and hashers have to be, each under one name. All types that fit implement these traits.

use std::hash::{BuildHasher, Hash};

/// What threads share, and any of them may drop, later.
pub trait Stored: Send + Sync + 'static {}

impl<T: Send + Sync + 'static> Stored for T {}

/// A key.
pub trait Key: Stored + Hash + Eq {}

impl<T: Stored + Hash + Eq> Key for T {}

/// A hasher. The library's worker uses it, too, perhaps after the map was forgotten: so it borrows nothing.
pub trait Hashes: BuildHasher + Sync + 'static {}

impl<S: BuildHasher + Sync + 'static> Hashes for S {}
