//! What a user may have written: settings that threads read while one thread replaces them. In a model a
//! value holds one of loom's cells, and its destructor writes to that: so loom reports a reader that does not
//! come before.

use loom::cell::UnsafeCell;
use quiescent::{Guard, Handle, RcuCell, Reads};

/// Settings.
#[derive(Debug)]
pub struct Settings(UnsafeCell<u32>);

// SAFETY: loom checks each access.
unsafe impl Sync for Settings {}
// SAFETY: as above.
unsafe impl Send for Settings {}

impl Settings {
    pub fn new(limit: u32) -> Settings {
        Settings(UnsafeCell::new(limit))
    }

    /// The limit that these settings have; 0 once they were dropped.
    pub fn limit(&self) -> u32 {
        // SAFETY: loom checks that no write is concurrent.
        self.0.with(|limit| unsafe { *limit })
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        // SAFETY: loom checks that no access is concurrent.
        self.0.with_mut(|limit| unsafe { *limit = 0 });
    }
}

/// The settings that are valid now.
#[derive(Debug)]
pub struct Current<D: Handle>(pub RcuCell<Settings, D>);

impl<D: Handle> Current<D> {
    /// The limit, read in this section.
    pub fn limit<E: Handle + Reads<D::Brand>>(&self, guard: &Guard<E>) -> u32 {
        self.0.load(guard).limit()
    }

    /// The settings. **Wrong**: the reference outlives the section.
    pub fn unguarded<E: Handle + Reads<D::Brand>>(&self, guard: Guard<E>) -> &'static Settings {
        let settings: *const Settings = self.0.load(&guard);
        // SAFETY: there is no reason why this would be sound.
        unsafe { &*settings }
    }
}
