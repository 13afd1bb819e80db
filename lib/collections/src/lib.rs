//! Structures on read-copy-update: what programs put behind RCU.

#![deny(missing_docs)]

mod map;
mod prim;
mod slab;
mod table;
mod thread;

pub use map::{Change, IntoIter, Iter, IterMut, Keys, Occupied, Pinned, RcuHashMap, Values};
