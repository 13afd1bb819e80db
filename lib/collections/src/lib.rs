//! Structures on read-copy-update: what programs put behind RCU.

#![deny(missing_docs)]

mod arc;
mod prim;

pub use arc::{RcuArc, RcuOwner};
