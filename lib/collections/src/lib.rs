//! Structures on read-copy-update, for what programs put behind RCU: readers take no lock, execute no fence,
//! and write to no memory that other threads write. [`quiescent`] explains sections, guards and domains.
//!
//! * [`RcuHashMap`]: keys that are looked up often, and inserted and removed by any thread.
//! * [`RcuHashSet`]: the same without values.
//! * [`RcuArc`]: one object that many threads refer to for long; counting writes no shared memory.
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
//! | the data | structure |
//! |---|---|
//! | a table that changes rarely, or as a whole | a `HashMap` in an [`RcuCell`](quiescent::RcuCell) |
//! | entries that change one by one | [`RcuHashMap`]: two reads may see two states; [`RcuHashSet`] |
//! | the same, read across an `await` or by threads that wait | `new_in` with an [`Srcu`](quiescent::Srcu) |
//! | one object, used for long by many threads, then closed | [`RcuArc`] |
//! | values that are changed more often than they are read | a lock; or, in the map, values that are atomic |
//!
//! [The guide](quiescent::guide::which_structure) says more: numbers, costs, and when none of them.
//! `lib/collections/examples` has complete programs: a routing table, a registry of connections, interning,
//! and a cache in an async service.
//!
//! # Features
//! * `serde`: `Serialize` and `Deserialize` for the map and the set.
//! * `rayon`: `par_iter` of a pinned map, `par_extend` and `collect` of a parallel iterator for
//!   both.

#![cfg_attr(not(quiescent_model), deny(missing_docs))]
// Pages say which feature or system an item needs; not which primitives, which are for checkers.
#![cfg_attr(docsrs, feature(doc_cfg), doc(auto_cfg(hide(quiescent_model))))]

mod arc;
mod bounds;
mod map;
mod prim;
mod set;
mod slab;
mod table;

pub use arc::{RcuArc, RcuOwner};
pub use bounds::{Hashes, Key, Stored};
#[cfg(feature = "rayon")]
pub use map::ParIter;
pub use map::{Change, Iter, Occupied, Pinned, RcuHashMap};
pub use set::{PinnedSet, RcuHashSet};

/// Parts that models use by themselves.
#[cfg(quiescent_model)]
#[allow(unused_imports)]
pub mod check {
    pub use crate::slab::{Desk, Full, Magazines, Removed, Slab, Unit};
    pub use crate::table::{Bucket, Table, Tags, tag_of};
}

/// The example of the package's README, compiled as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub mod readme {}
