//! What ThreadSanitizer has to be told, and why nothing else: locks, in builds with `--cfg quiescent_tsan`.
//!
//! ThreadSanitizer looks for two accesses, one of them a plain write, that nothing orders. What orders is
//! what it sees in code that it instrumented: atomic accesses, and the C library's calls. It does not see
//! fences, nor what the prebuilt standard library does.
//!
//! # Locks
//! The standard lock is taken inside that library whenever it is contended, so every race that it prevents
//! would be reported. [`Mutex`] is that lock and a word: stored (release) before the lock is given up,
//! loaded (acquire) once it is taken. Holders follow one another, so each load reads the store of the holder
//! before: the word orders what the lock orders, and nothing else.
//!
//! # Fences
//! Get no substitute. A light fence stays a compiler fence, a heavy one stays `membarrier(2)`, and a full
//! one an instruction. One could turn each into an operation on a shared word. But such an operation orders
//! any two readers that pass it one after the other, and a reader and an updater likewise: the races between
//! them are then no races any more for ThreadSanitizer, and it has nothing to find.
//!
//! * *No race that matters is hidden by this*: there are fewer edges than the product has, never more.
//! * *No false one is reported*, since no plain access of the product is ordered by a fence alone. Fences
//!   decide *what is seen* (a section by the scan, a flag by a reader, a limit by an owner). That what was
//!   seen is also *over*, or complete, is said by a release and an acquire each time: `RD-2`, `REG-2`,
//!   `WT-1`, `POLL-1`, `PTR-1`, `RET-1` and the locks. A plain access that does need a fence for its order
//!   shows as a report, and is a defect: its edge is not in docs/ordering.md.
//!
//! # What it cannot see
//! A missing fence, as long as the processor does not reorder the accesses before it in the very run; then it
//! would see the block freed beside the reader. (The instrumentation makes that less likely than it is.) The
//! order of atomic accesses among themselves. Those are the business of the models. (Nor does it see the look
//! at a reader's flag, which is assembly; it is one of an atomic word, and relaxed.)

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{self, LockResult, PoisonError, TryLockError, TryLockResult};

/// The standard lock, visibly.
#[derive(Debug)]
pub(crate) struct Mutex<T> {
    handed_over: AtomicU32,
    lock: sync::Mutex<T>,
}

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Mutex<T> {
        Mutex {
            handed_over: AtomicU32::new(0),
            lock: sync::Mutex::new(value),
        }
    }

    /// As the standard lock's.
    pub(crate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        match self.lock.lock() {
            Ok(lock) => Ok(self.taken(lock)),
            Err(poisoned) => Err(PoisonError::new(self.taken(poisoned.into_inner()))),
        }
    }

    /// As the standard lock's.
    pub(crate) fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
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

/// Gives the lock up when it is dropped.
#[derive(Debug)]
pub(crate) struct MutexGuard<'a, T> {
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
