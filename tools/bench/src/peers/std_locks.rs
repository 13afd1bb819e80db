//! The reader-writer lock of the standard library: the usual choice where readers take long and writers may
//! wait.

use super::Peers;
use crate::subjects::loops::{self, Peer, Word};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

static LOCK: RwLock<Word> = RwLock::new(Word(42));

struct Std;

impl Peer for Std {
    type Held = RwLockReadGuard<'static, Word>;

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

pub(super) fn peers() -> Peers {
    Peers {
        reading: vec![loops::subject::<Std>("std-rwlock").awaited::<Std>()],
        deferring: Vec::new(),
    }
}
