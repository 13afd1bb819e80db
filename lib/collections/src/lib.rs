//! Structures on read-copy-update, for what programs put behind RCU: readers take no lock, execute no fence,
//! and write to no memory that other threads write. [`quiescent`] explains sections, guards and domains.
//!
//! | structure | for |
//! |---|---|
//! | [`RcuHashMap`] | keys that are looked up often, and inserted and removed now and then, by any thread |
//!
//! ```
//! use quiescent_collections::RcuHashMap;
//!
//! let routes = RcuHashMap::new();
//! routes.pin().insert("/", "index");
//! let found = routes.pin().get("/").copied();
//! assert_eq!(found, Some("index"));
//! ```
//!
//! # Which structure
//! * A table that changes rarely and as a whole: a `HashMap` in an [`RcuCell`](quiescent::RcuCell). It reads
//!   as fast, and a reader sees one state of it.
//! * Entries that change one by one: [`RcuHashMap`]. Two reads may see two states.
//! * Values that are changed more often than they are read: a lock (or, in the map, values that are atomic).
//!
//! # Features
//! `serde`: `Serialize` and `Deserialize` for the map.

#![deny(missing_docs)]

mod bounds;
mod map;
mod prim;
mod slab;
mod table;

pub use bounds::{Hashes, Key, Stored};
pub use map::{Change, Iter, Occupied, Pinned, RcuHashMap};
