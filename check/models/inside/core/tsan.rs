//! Locks for ThreadSanitizer, in builds with `--cfg quiescent_tsan`, and the reasons for no other substitute.
//!
//! ThreadSanitizer searches for two unordered accesses, at least one of them a plain write. It derives the
//! order from the code that it instrumented: atomic accesses, and calls of the C library. It does not see
//! fences, nor the prebuilt standard library.
//!
//! # Locks
//! The standard lock is taken inside that library whenever it is contended, so every race that it prevents
//! would be reported. [`Mutex`] is that lock and a word: stored (release) before the lock is released, loaded
//! (acquire) once it is taken. Holders follow one another, so each load reads the store of the previous
//! holder: the word orders exactly what the lock orders.
//!
//! # Fences
//! Fences get no substitute. A light fence stays a compiler fence, a heavy one stays `membarrier(2)`, and a
//! full one an instruction. Each could be replaced by an operation on a shared word. But such an operation
//! orders any two readers that pass it one after the other, and a reader and an updater likewise:
//! ThreadSanitizer would then see no races between them, and could find none.
//!
//! * *This hides no relevant race*: ThreadSanitizer sees fewer edges than the product has, never more.
//! * *It causes no false report*, since no plain access of the product is ordered by a fence alone. Fences
//!   decide *what is seen* (a section by the scan, a flag by a reader, a limit by an owner). That what was
//!   seen is also *over*, or complete, follows from a release and an acquire each time: `RD-2`, `REG-2`,
//!   `WT-1`, `POLL-1`, `PTR-1`, `RET-1` and the locks. A plain access that needs a fence for its order is
//!   reported, and is a defect: its edge is not in docs/ordering.md.
//!
//! # Limits
//! ThreadSanitizer does not see a missing fence, unless the CPU reorders the accesses before it in that very
//! run; then it would see the block freed beside the reader. (The instrumentation makes that less likely.)
//! Nor does it see the order of atomic accesses among themselves. The models check both. (It does not see the
//! load of a reader's flag either, which is assembly; that is a relaxed load of an atomic word.)

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{self, LockResult, PoisonError, TryLockError, TryLockResult};

/// The standard lock, in a form that ThreadSanitizer can observe.
#[derive(Debug)]
pub struct Mutex<T> {
    handed_over: AtomicU32,
    lock: sync::Mutex<T>,
}

impl<T> Mutex<T> {
    pub const fn new(value: T) -> Mutex<T> {
        Mutex {
            handed_over: AtomicU32::new(0),
            lock: sync::Mutex::new(value),
        }
    }

    /// As the standard lock's.
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        match self.lock.lock() {
            Ok(lock) => Ok(self.taken(lock)),
            Err(poisoned) => Err(PoisonError::new(self.taken(poisoned.into_inner()))),
        }
    }

    /// As the standard lock's.
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        match self.lock.try_lock() {
            Ok(lock) => Ok(self.taken(lock)),
            Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
            Err(TryLockError::Poisoned(poisoned)) => {
                Err(PoisonError::new(self.taken(poisoned.into_inner())).into())
            }
        }
    }

    fn taken<'a>(&'a self, lock: sync::MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.handed_over.load(Ordering::Acquire);
        MutexGuard {
            handed_over: &self.handed_over,
            lock,
        }
    }
}

/// Releases the lock when it is dropped.
#[derive(Debug)]
pub struct MutexGuard<'a, T> {
    handed_over: &'a AtomicU32,
    lock: sync::MutexGuard<'a, T>,
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.lock
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.lock
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        self.handed_over.store(0, Ordering::Release); // before the field `lock`
    }
}
