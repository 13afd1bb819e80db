//! A reader and an updater that each store a word and then load the other's, with a fence in between, for the
//! explorer and for loom: at least one of the two sees the other's store.

use crate::model::Ordering::Relaxed;
use crate::model::{AtomicU32, light_fence};

/// The words of the two sides.
#[derive(Default)]
pub struct Words {
    readers: AtomicU32,
    updaters: AtomicU32,
}

impl Words {
    /// The reader's part.
    pub fn store(&self) {
        self.readers.store(1, Relaxed);
        light_fence();
    }

    pub fn load(&self) -> u32 {
        self.updaters.load(Relaxed)
    }

    /// The updater's part; what it has seen.
    pub fn update(&self, fence: impl FnOnce()) -> u32 {
        self.updaters.store(1, Relaxed);
        fence();
        self.readers.load(Relaxed)
    }

    /// The updater's part beside a reader, which returns what it has seen.
    pub fn update_beside(&self, fence: impl FnOnce(), reader: impl FnOnce() -> u32) {
        let seen = self.update(fence);
        expect_an_order(reader(), seen);
    }
}

/// One of the two has seen the other's store.
pub fn expect_an_order(saw: u32, seen: u32) {
    assert!(
        saw == 1 || seen == 1,
        "neither saw the other: no fence came between"
    );
}
