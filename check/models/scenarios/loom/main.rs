//! The loom models: the library under the C11 memory model.

use quiescent_on_loom as rcu;

mod common;
#[path = "../side.rs"]
mod side;

mod asking;
mod bucket;
mod deferral;
mod domains;
mod fenced;
mod fences;
mod locks;
mod membarrier;
mod srcu;

/// What the sources of a bucket take from their crate.
mod prim {
    pub use quiescent_models::loom::{AtomicU32, AtomicU64, Ordering};

    pub fn wait(_spins: &mut u32) {
        quiescent_models::loom::yield_now();
    }
}

/// As above.
mod slab {
    pub const END: u32 = 1 << 31;

    #[allow(dead_code, reason = "only the map has slabs")]
    pub trait Unit {
        const SHIFT: u32;
        const BATCH: usize;
        const READY: usize;
    }
}
