//! Waiters of barriers: the state under the core's lock beside the engine's part, and the check of a barrier.

use quiescent_engine::Seq;

use crate::domain::state::Core;
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
    failures: u32,
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

#[cfg(all(test, not(quiescent_model)))]
mod tests {
    use super::*;
    use crate::testing::program;

    static WORD: AtomicU32 = AtomicU32::new(7);

    fn in_flight(look: Look) -> Option<(u32, bool)> {
        match look {
            Look::InFlight(Seen { word, call }) => Some((word, call)),
            Look::Over | Look::Free => None,
        }
    }

    #[test]
    fn those_who_wait_are_counted_until_they_wake() {
        let mut core = program().env.state.lock();
        let mut ticket = core.ticket();
        assert!(matches!(
            core.look(&mut ticket, Who::Thread, &WORD),
            Look::Free
        ));
        let _ = core.barrier.start(ticket.snap);
        for who in [
            Who::Thread,
            Who::Thread,
            Who::Passing,
            Who::Sleeper,
            Who::Task,
        ] {
            let seen = in_flight(core.look(&mut ticket, who, &WORD));
            assert_eq!(seen, Some((7, false)));
        }
        assert_eq!(core.gate.open(), (2, true));
        assert_eq!(core.gate.open(), (2, false), "tasks are woken once");
        core.gate.wakes_up();
        assert_eq!(core.gate.open().0, 1);
        core.gate.forked();
        assert_eq!(core.gate.open(), (0, true));
        core.gate.wakes_up();
        assert_eq!(core.gate.open().0, 0, "one that slept at the fork");
    }

    /// One that waits calls the worker that has given up, once.
    #[test]
    fn a_worker_that_gave_up_is_called_by_the_next_who_waits() {
        let mut core = program().env.state.lock();
        let mut ticket = core.ticket();
        let _ = core.barrier.start(ticket.snap);
        core.gate.give_up();
        for (who, call) in [
            (Who::Passing, false),
            (Who::Task, true),
            (Who::Thread, false),
        ] {
            let seen = in_flight(core.look(&mut ticket, who, &WORD));
            assert_eq!(seen, Some((7, call)));
        }
        core.gate.give_up();
        core.gate.forked();
        let seen = in_flight(core.look(&mut ticket, Who::Thread, &WORD));
        assert_eq!(seen, Some((7, false)), "in the child it is not called for");
    }

    #[test]
    fn a_ticket_is_renewed_when_a_barrier_has_failed() {
        let mut core = program().env.state.lock();
        let first = core.ticket();
        let _ = core.barrier.start(first.snap);
        let mut kept = first;
        let _ = core.look(&mut kept, Who::Passing, &WORD);
        assert_eq!((kept.snap, kept.failures), (first.snap, first.failures));
        core.gate.fail();
        let _ = core.look(&mut kept, Who::Passing, &WORD);
        assert_eq!(kept.failures, core.ticket().failures);
        assert_ne!(
            kept.snap, first.snap,
            "that one is in flight, and covers nothing"
        );
    }
}
