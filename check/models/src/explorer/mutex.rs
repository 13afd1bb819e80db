//! A lock whose waiting is visible to the explorer.
//!
//! Its owner is a word in the execution's memory: locking and unlocking are read-modify-writes. The data is
//! in a real lock, which is then always free: all fibers share one OS thread.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::AtomicU64 as RealU64;
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

use super::buffer::Loc;
use super::exec::{Execution, Op, State};
use super::runtime::{Plan, blocking, visible, with};

/// A mutex of the explorer.
pub struct Mutex<T> {
    data: std::sync::Mutex<T>,
    place: RealU64,
}

/// Ownership of a [`Mutex`]; dropping it unlocks.
#[derive(Debug)]
pub struct MutexGuard<'a, T> {
    /// `Some` until the guard is dropped.
    data: Option<std::sync::MutexGuard<'a, T>>,
    place: &'a RealU64,
}

fn locate(place: &RealU64, e: &mut Execution) -> Loc {
    e.locate(place, || 0)
}

/// Takes the lock for the current thread, if it is free.
fn acquire(place: &RealU64, e: &mut Execution) -> Result<(), State> {
    let loc = locate(place, e);
    let owner = e.current as u64 + 1;
    match e.modify(loc, |old| (old == 0).then_some(owner)) {
        0 => {
            e.note(|| format!("lock  #{loc}"));
            Ok(())
        }
        by => {
            e.note(|| format!("lock  #{loc} is T{}'s", by - 1));
            Err(State::Lock(loc))
        }
    }
}

impl<T> Mutex<T> {
    /// An unlocked mutex.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex {
            data: std::sync::Mutex::new(value),
            place: RealU64::new(0),
        }
    }

    fn guard<'a>(&'a self, data: std::sync::MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        MutexGuard {
            data: Some(data),
            place: &self.place,
        }
    }

    /// Waits for the mutex and locks it.
    ///
    /// # Errors
    /// As std's: a thread panicked while it held the lock.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        if let Some(loc) = with(|e| locate(&self.place, e)) {
            let taken = blocking(Op::Modify(loc), |e| acquire(&self.place, e));
            if taken.is_none() {
                // A destructor that runs during a panic wants a lock whose owner never runs again.
                eprintln!(
                    "quiescent-models: a destructor waits for a lock during a panic; aborting"
                );
                std::process::abort();
            }
        }
        match self.data.lock() {
            Ok(data) => Ok(self.guard(data)),
            Err(poisoned) => Err(PoisonError::new(self.guard(poisoned.into_inner()))),
        }
    }

    /// Locks the mutex if it is free.
    ///
    /// # Errors
    /// As std's: it is not free, or a thread panicked while it held the lock.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let taken = visible(
            |e| Plan::Visit(Op::Modify(locate(&self.place, e))),
            |e| acquire(&self.place, e).is_ok(),
        );
        if taken == Some(false) {
            return Err(TryLockError::WouldBlock);
        }
        match self.data.try_lock() {
            Ok(data) => Ok(self.guard(data)),
            Err(TryLockError::Poisoned(poisoned)) => {
                let guard = self.guard(poisoned.into_inner());
                Err(TryLockError::Poisoned(PoisonError::new(guard)))
            }
            Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
        }
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Mutex<T> {
        Mutex::new(T::default())
    }
}

impl<T: fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.data.fmt(f)
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.data.as_ref().expect("present until dropped")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.data.as_mut().expect("present until dropped")
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        let (place, data) = (self.place, self.data.take());
        let given = visible(
            |e| Plan::Visit(Op::Modify(locate(place, e))),
            |e| {
                let loc = locate(place, e);
                e.modify(loc, |_| Some(0));
                e.wake(|state| state == State::Lock(loc));
                e.note(|| format!("unlock #{loc}"));
            },
        );
        // The data becomes free with the word: there is no point in between.
        drop(data);
        let _ = given;
    }
}
