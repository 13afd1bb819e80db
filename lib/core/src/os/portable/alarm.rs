//! Timers: a thread that sleeps with a deadline. So setting a timer to an earlier time wakes the thread that
//! waits for it, for a moment; setting a later one, or none, does not. It notices that when the old time has
//! come, and goes on sleeping.

use std::io;
use std::sync::atomic::AtomicU32;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::now_ns;
use crate::os::Woken;
use crate::os::pressure::PressureSources;

/// A time, and whether a thread was called.
#[derive(Debug)]
struct Due {
    /// 0: none.
    deadline: u64,
    /// The time until which the thread sleeps; 0 if it does not.
    asleep_until: u64,
    called: bool,
}

/// A timer that one thread waits for, or for a call.
#[derive(Debug)]
pub struct Timer {
    due: Mutex<Due>,
    bell: Condvar,
}

#[allow(clippy::unused_self, reason = "the same methods as on other systems")]
impl Timer {
    pub const fn new() -> Timer {
        let due = Due {
            deadline: 0,
            asleep_until: 0,
            called: false,
        };
        Timer {
            due: Mutex::new(due),
            bell: Condvar::new(),
        }
    }

    fn due(&self) -> MutexGuard<'_, Due> {
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It is always there.
    pub fn open(&self) -> bool {
        true
    }

    /// Sets it to an absolute time; 0 stops it.
    pub fn set(&self, deadline: u64) {
        let mut due = self.due();
        due.deadline = deadline;
        if deadline != 0 && deadline < due.asleep_until {
            self.bell.notify_all();
        }
    }

    /// True if a thread sleeps.
    #[cfg(test)]
    pub(super) fn is_awaited(&self) -> bool {
        self.due().asleep_until != 0
    }

    /// Calls the thread.
    fn call(&self) {
        self.due().called = true;
        self.bell.notify_all();
    }

    /// Nanoseconds until it expires; 0 if it is not set.
    pub fn left(&self) -> u64 {
        self.due().deadline.saturating_sub(now_ns())
    }

    /// Sleeps until it expires.
    pub fn wait(&self) -> bool {
        self.sleep();
        true
    }

    /// It cannot be closed.
    pub fn forget(&self) {}

    /// It cannot be closed.
    pub fn close(&self) {}

    /// Sleeps until the time has come, or a call; returns which of them it was, each true once.
    fn sleep(&self) -> (bool, bool) {
        let mut due = self.due();
        loop {
            let now = now_ns();
            let come = due.deadline != 0 && due.deadline <= now;
            if come || due.called {
                if come {
                    due.deadline = 0;
                }
                return (come, std::mem::take(&mut due.called));
            }
            due.asleep_until = match due.deadline {
                0 => u64::MAX,
                deadline => deadline,
            };
            due = match due.deadline {
                0 => (self.bell.wait(due)).unwrap_or_else(PoisonError::into_inner),
                deadline => {
                    let left = Duration::from_nanos(deadline - now);
                    let slept = self.bell.wait_timeout(due, left);
                    slept.unwrap_or_else(PoisonError::into_inner).0
                }
            };
            due.asleep_until = 0;
        }
    }
}

/// What wakes the worker: a timer, and calls.
#[derive(Debug)]
pub struct Wakeups(pub(super) Timer);

#[allow(
    clippy::unused_self,
    clippy::unnecessary_wraps,
    reason = "the same methods as on other systems"
)]
impl Wakeups {
    pub const fn new() -> Wakeups {
        Wakeups(Timer::new())
    }

    /// There is nothing to open.
    ///
    /// # Errors
    /// Never.
    pub fn open(&self) -> io::Result<()> {
        Ok(())
    }

    /// There is nothing to close.
    pub fn close(&self) {}

    /// As above.
    pub fn end(&self) {}

    /// No memory pressure is reported.
    pub fn listen(&self) {}

    pub fn ignore(&self) {}

    pub fn open_sources(&self) {}

    pub fn set_sources_wanted(&self, _wanted: bool) {}

    pub fn sources(&self) -> PressureSources {
        PressureSources::default()
    }

    /// Sets the timer to an absolute time; 0 stops it.
    pub fn set_timer(&self, deadline: u64) {
        self.0.set(deadline);
    }

    pub fn wake(&self, _word: &AtomicU32) {
        self.0.call();
    }

    pub fn sleep(&self, _word: &AtomicU32, _asleep: u32) -> Woken {
        let (timer, kick) = self.0.sleep();
        Woken {
            timer,
            kick,
            ..Woken::default()
        }
    }
}
