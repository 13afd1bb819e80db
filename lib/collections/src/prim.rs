//! The primitives: the other modules take atomics and locks from here only, so that a model can replace them.

pub use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering, fence};
