//! The reader-writer lock of the standard library: the usual choice where readers take long and writers may
//! wait.

use super::Subject;
use super::loops::{self, Peer, VALUE, Value};
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
}

pub(super) fn rwlock() -> Subject {
    loops::subject::<Std>("std-rwlock")
}
