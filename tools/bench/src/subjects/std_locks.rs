//! The reader-writer lock of the standard library: the usual choice where readers take long and writers may
//! wait.

use super::loops::{Peer, VALUE, Value, loops};
use super::{Language, Subject, nothing};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

static LOCK: RwLock<Value> = RwLock::new(VALUE);

pub(super) struct Std;

impl Peer for Std {
    type Held = RwLockReadGuard<'static, Value>;

    fn new() -> Self {
        Std
    }

    #[inline(always)]
    fn enter(&self) -> Self::Held {
        LOCK.read().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline(always)]
    fn read(&self, held: &mut Self::Held) -> u64 {
        held.0
    }

    #[inline(always)]
    fn repin(&self, held: Self::Held) -> Self::Held {
        drop(held);
        self.enter()
    }
}

pub(super) fn rwlock() -> Subject {
    Subject {
        name: "std-rwlock",
        language: Language::Rust,
        attach: nothing,
        detach: nothing,
        loops: loops::<Std>(),
        waiting: None,
    }
}
