//! A lock: a fiber that finds it taken sleeps.

use std::ops::{Deref, DerefMut};
use std::sync::{self, LockResult, PoisonError, TryLockError, TryLockResult};

use crate::shared::try_with;
use crate::time::{before_lock, sleep, wake_first};

/// The standard lock; a fiber that waits for it does not stop its OS thread.
#[derive(Debug)]
pub struct Mutex<T> {
    lock: sync::Mutex<T>,
}

/// Gives the lock up when it is dropped.
#[derive(Debug)]
pub struct MutexGuard<'a, T> {
    mutex: &'a Mutex<T>,
    /// None while it is being dropped.
    guard: Option<sync::MutexGuard<'a, T>>,
}

impl<T> Mutex<T> {
    /// An open one.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex {
            lock: sync::Mutex::new(value),
        }
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// As the standard lock's.
    ///
    /// # Errors
    /// As the standard lock's.
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        before_lock();
        loop {
            match self.try_lock() {
                Ok(guard) => return Ok(guard),
                Err(TryLockError::Poisoned(poisoned)) => return Err(poisoned),
                Err(TryLockError::WouldBlock) => sleep(Some(self.address()), None),
            }
        }
    }

    /// As the standard lock's.
    ///
    /// # Errors
    /// As the standard lock's.
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        match self.lock.try_lock() {
            Ok(guard) => Ok(self.taken(guard)),
            Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
            Err(TryLockError::Poisoned(poisoned)) => {
                Err(PoisonError::new(self.taken(poisoned.into_inner())).into())
            }
        }
    }

    fn taken<'a>(&'a self, guard: sync::MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        try_with(|machine| machine.own(|fiber| fiber.holds += 1));
        MutexGuard {
            mutex: self,
            guard: Some(guard),
        }
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.guard.as_ref().expect("held until it is dropped")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.guard.as_mut().expect("held until it is dropped")
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        self.guard = None;
        try_with(|machine| machine.own(|fiber| fiber.holds -= 1));
        wake_first(self.mutex.address());
    }
}
