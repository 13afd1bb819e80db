//! Structures on read-copy-update: what programs put behind RCU.

#![deny(missing_docs)]

mod arc;
mod bounds;
mod map;
mod prim;
mod slab;
mod table;

pub use arc::{RcuArc, RcuOwner};
pub use bounds::{Hashes, Key, Stored};
pub use map::{Change, Iter, Occupied, Pinned, RcuHashMap};
