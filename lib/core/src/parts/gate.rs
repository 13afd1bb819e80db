//! Waiters of barriers: the state under the core's lock beside the engine's part, and the check of a barrier.

use quiescent_engine::Seq;

use crate::parts::state::Core;
use crate::prim::{AtomicU32, Ordering};

/// The barrier state that the core's lock protects, beside the engine's part.
#[derive(Debug)]
pub struct Gate {
    /// Threads that sleep on the word, or are about to.
    sleepers: u32,
    /// The list may contain tasks.
    pub awaited: bool,
    /// Number of barriers that failed, that is, ended without covering their callbacks.
    failures: u32,
    /// The worker gave up, and has not been called since.
    stopped: bool,
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

    /// The threads that run callbacks cannot continue.
    pub fn give_up(&mut self) {
        self.stopped = true;
    }

    /// The barrier's state has changed: returns the number of threads to wake, and whether the list may
    /// contain tasks.
    pub fn open(&mut self) -> (u32, bool) {
        (self.sleepers, std::mem::take(&mut self.awaited))
    }

    /// In the child of a fork: no thread sleeps, and the barrier in flight was the parent's.
    pub fn forked(&mut self) {
        let Gate {
            sleepers,
            awaited,
            failures: _, // counts on
            stopped,
        } = self;
        *sleepers = 0;
        *awaited = true; // tasks that waited at the fork are in the list
        *stopped = false;
        self.fail();
    }
}

/// Identifies the barrier that a caller waits for.
#[derive(Clone, Copy, Debug)]
pub struct Ticket {
    /// The sequence number that the barrier has to reach.
    pub snap: Seq,
    failures: u32,
}

/// The state of a waiter that has no thread: a future.
#[derive(Debug)]
pub struct Awaited {
    pub ticket: Ticket,
    /// The place in the list; 0 for none.
    pub place: u64,
}

impl Clone for Awaited {
    fn clone(&self) -> Awaited {
        Awaited {
            ticket: self.ticket,
            place: 0,
        }
    }
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
    InFlight(Seen),
}

/// A barrier in flight.
pub struct Seen {
    /// The value of the futex to sleep on.
    pub word: u32,
    /// The caller must call the threads that run callbacks.
    pub call: bool,
}

impl Core {
    /// The barrier that covers everything queued until now.
    pub fn ticket(&self) -> Ticket {
        Ticket {
            snap: self.barrier.snap(),
            failures: self.gate.failures,
        }
    }

    /// The state of the ticket's barrier. If a barrier has failed since the ticket was taken, it may have
    /// been this one: the ticket is renewed.
    pub fn look(&mut self, ticket: &mut Ticket, who: Who, word: &AtomicU32) -> Look {
        if ticket.failures != self.gate.failures {
            ticket.failures = self.gate.failures;
            ticket.snap = self.barrier.snap();
        }
        let over = self.barrier.seq().done(ticket.snap);
        let in_flight = self.barrier.in_flight();
        let gate = &mut self.gate;
        if over || !in_flight {
            if who == Who::Sleeper {
                gate.wakes_up();
            }
            return if over { Look::Over } else { Look::Free };
        }
        match who {
            Who::Thread => gate.sleepers += 1,
            Who::Task => gate.awaited = true,
            Who::Sleeper | Who::Passing => {}
        }
        let waits = who != Who::Passing;
        Look::InFlight(Seen {
            word: word.load(Ordering::Relaxed), // [BAR-1]
            call: waits && std::mem::take(&mut gate.stopped),
        })
    }
}
