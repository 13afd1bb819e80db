//! Who waits for a barrier, and for which: what is under the lock of the core, beside the engine's part, and a look at it.

use quiescent_engine::Seq;

use crate::inner::domain::process::Core;
use crate::inner::prim::{AtomicU32, Ordering};

/// What the lock of the core protects of the barrier, beside the engine's part.
#[derive(Debug)]
pub(crate) struct Gate {
    /// Threads that sleep on the word, or are about to.
    sleepers: u32,
    /// There may be tasks in the list.
    pub(super) awaited: bool,
    /// Barriers so far that covered nobody.
    failures: u32,
    /// How often those who run callbacks could not go on.
    given_up: u32,
    /// … and nobody has called them since.
    stopped: bool,
    /// They are to wake the tasks of a barrier that has ended.
    due: bool,
}

impl Gate {
    pub(crate) const fn new() -> Gate {
        Gate {
            sleepers: 0,
            awaited: false,
            failures: 0,
            given_up: 0,
            stopped: false,
            due: false,
        }
    }

    /// Tasks are to be woken later.
    pub(crate) fn set_due(&mut self) {
        self.due = true;
    }

    /// It is time to.
    pub(crate) fn take_due(&mut self) -> bool {
        std::mem::take(&mut self.due)
    }

    /// A thread sleeps no more. (None is left after a fork.)
    pub(super) fn wakes_up(&mut self) {
        self.sleepers = self.sleepers.saturating_sub(1);
    }

    /// A barrier ends that covers nobody.
    pub(super) fn fail(&mut self) {
        self.failures = self.failures.wrapping_add(1);
    }

    /// Those who run callbacks cannot go on.
    pub(super) fn give_up(&mut self) {
        self.given_up = self.given_up.wrapping_add(1);
        self.stopped = true;
    }

    /// Everybody is to look: how many threads have to be woken, and whether there may be tasks.
    pub(super) fn open(&mut self) -> (u32, bool) {
        (self.sleepers, std::mem::take(&mut self.awaited))
    }

    /// In the child of a fork: nobody waits, and what was in flight was the parent's.
    #[cfg(not(quiescent_model))]
    pub(crate) fn forked(&mut self) {
        self.sleepers = 0;
        self.awaited = false;
        self.stopped = false;
        self.due = false;
        self.fail();
    }
}

/// Which barrier somebody waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket {
    pub(super) snap: Seq,
    failures: u32,
    /// How often those who run callbacks had given up when this was waited for first.
    given_up: Option<u32>,
}

/// What somebody keeps who waits without a thread.
#[derive(Debug)]
pub struct Awaited {
    pub(super) ticket: Ticket,
    /// The place in the list; 0 for none.
    pub(super) place: u64,
}

impl Clone for Awaited {
    fn clone(&self) -> Awaited {
        Awaited {
            ticket: self.ticket,
            place: 0,
        }
    }
}

/// Who looks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    /// It goes to sleep if one is in flight.
    Thread,
    /// It has done so, and counts as a sleeper.
    Sleeper,
    /// It has its waker in the list.
    Task,
    /// It waits for nothing yet.
    Passing,
}

/// What there is to see.
pub(crate) enum Look {
    Over,
    Free,
    InFlight(Seen),
}

/// A barrier in flight.
pub(crate) struct Seen {
    pub(super) word: u32,
    /// Those who run callbacks have given up since the last look.
    pub(super) gave_up: bool,
    /// They have to be called.
    pub(super) call: bool,
}

impl Core {
    /// The barrier that covers everything queued until now.
    pub(super) fn ticket(&self) -> Ticket {
        Ticket {
            snap: self.barrier.snap(),
            failures: self.gate.failures,
            given_up: None,
        }
    }

    /// How the barrier of this ticket stands. If one has failed meanwhile, it may have been this: the ticket is made anew.
    pub(super) fn look(&mut self, ticket: &mut Ticket, who: Who, word: &AtomicU32) -> Look {
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
        let given_up = *ticket.given_up.get_or_insert(gate.given_up);
        match who {
            Who::Thread => gate.sleepers += 1,
            Who::Task => gate.awaited = true,
            Who::Sleeper | Who::Passing => {}
        }
        let waits = who != Who::Passing;
        if waits {
            ticket.given_up = Some(gate.given_up);
        }
        Look::InFlight(Seen {
            word: word.load(Ordering::Relaxed), // [BAR-1]
            gave_up: waits && given_up != gate.given_up,
            call: waits && std::mem::take(&mut gate.stopped),
        })
    }
}
