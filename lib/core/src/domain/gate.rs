//! What a domain's lock protects of its [barrier](crate::domain::barrier), beside the engine's part: its
//! waiters.

use quiescent_engine::Seq;

/// The barrier state that the core's lock protects, beside the engine's part.
#[derive(Debug)]
pub struct Gate {
    /// Threads that sleep on the word, or are about to.
    pub(super) sleepers: u32,
    /// The list may contain tasks.
    pub awaited: bool,
    /// Number of barriers that failed, that is, ended without covering their callbacks.
    pub(super) failures: u32,
    /// The worker gave up, and has not been called since.
    pub(super) stopped: bool,
}

impl Gate {
    pub const fn new() -> Gate {
        Gate {
            sleepers: 0,
            awaited: false,
            failures: 0,
            stopped: false,
        }
    }

    /// A sleeping thread wakes. (After a fork the count is already 0.)
    pub fn wakes_up(&mut self) {
        self.sleepers = self.sleepers.saturating_sub(1);
    }

    /// A barrier ends without covering its callbacks.
    pub fn fail(&mut self) {
        self.failures = self.failures.wrapping_add(1);
    }

    /// The barrier's state has changed: returns the number of threads to wake, and whether the list may
    /// contain tasks.
    pub fn open(&mut self) -> (u32, bool) {
        (self.sleepers, std::mem::take(&mut self.awaited))
    }

    /// In the child of a fork: no thread sleeps, and the barrier in flight was the parent's. Failures
    /// count on.
    #[cfg(feature = "fork")]
    pub fn forked(&mut self) {
        self.sleepers = 0;
        self.awaited = true; // tasks that waited at the fork are in the list
        self.stopped = false;
        self.fail();
    }
}

/// Identifies the barrier that a caller waits for.
#[derive(Clone, Copy, Debug)]
pub struct Ticket {
    /// The sequence number that the barrier has to reach.
    pub snap: Seq,
    pub(super) failures: u32,
}

/// The kind of caller that inspects a barrier.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// A thread that goes to sleep if a barrier is in flight.
    Thread,
    /// A thread that has slept, and counts as a sleeper.
    Sleeper,
    /// A task whose waker is in the list.
    Task,
    /// A caller that does not wait yet.
    Passing,
}

/// The result of inspecting a barrier.
pub enum Look {
    Over,
    Free,
    /// The value of the futex to sleep on, and whether the caller must call the threads that run callbacks.
    InFlight {
        word: u32,
        call: bool,
    },
}
