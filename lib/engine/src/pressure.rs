//! The worker's timer, and memory pressure: a report of low memory ends laziness.
//!
//! # The timer
//! A worker serves callbacks whose owner is quiet. Its timer is set to the *earliest* deadline of
//! the domain's queues. The caller that queues sets it, without waking a thread.
//!
//! # Low memory
//! A host calls [`memory_low`](Global::memory_low) for every report, of the kernel or of the program. The
//! worker calls [`take_pressure`](Global::take_pressure) at each of its passes; where that is true, every
//! queue with a deadline is [due](crate::Cpu::due) now, and one grace period serves all of them.
//!
//! # The rate
//! Reports come in storms: from every thread whose allocation failed, from the kernel at every reclaim. The
//! engine acts on them at most once in [`Defer::pressure_ns`](crate::credit::Defer): an earlier report is
//! remembered, and the timer is set to the end of that time. So a storm costs one pass and one grace
//! period in that time, and no report is lost.
//!
//! # Invariants
//! * For a report not yet acted upon, either a worker was woken (`Reported::Now`), or a timer is set no later
//!   than the end of that time (`Reported::Later`); [`arm`](Global::arm) sets it.
//! * Where nothing is queued no thread is woken: a host reports only if something is held, and a worker that
//!   leaves nothing behind forgets deferred reports ([`calm`](Global::calm)).
//!
//! Complexity: every call is O(1).

use crate::global::{Global, Reported};
use crate::host::Now;

/// The result of a report of low memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[must_use = "a worker that is not woken leaves memory where it is"]
pub struct Low {
    /// Wake the worker.
    pub kick: bool,
    /// Set the timer to this (monotonic nanoseconds).
    pub arm: Option<u64>,
}

impl Global {
    /// The worker has to run at `deadline_ns`. Returns the new time of the timer, if it changes: this time,
    /// or an earlier one if a report of low memory is pending.
    #[inline]
    pub fn arm(&mut self, deadline_ns: u64) -> Option<u64> {
        let timer = &mut self.timer;
        let deadline_ns = match timer.low {
            Reported::Later => deadline_ns.min(timer.not_before),
            _ => deadline_ns.min(u64::MAX - 1),
        };
        let sooner = deadline_ns < timer.armed;
        timer.armed = timer.armed.min(deadline_ns);
        sooner.then_some(deadline_ns)
    }

    /// The timer has fired, or is to be stopped: the next caller that queues sets it. The worker visits every
    /// queue after this call, and arms for the remaining entries.
    pub fn disarm(&mut self) {
        self.timer.armed = u64::MAX;
    }

    /// The time to which the timer is set, in nanoseconds.
    pub fn armed(&self) -> Option<u64> {
        Some(self.timer.armed).filter(|&at| at != u64::MAX)
    }

    /// A report of low memory.
    pub fn memory_low(&mut self, now: Now) -> Low {
        let timer = &mut self.timer;
        if timer.low != Reported::No {
            return Low::default(); // it is on the way
        }
        let at = timer.not_before;
        if now.ns >= at {
            timer.low = Reported::Now;
            return Low {
                kick: true,
                arm: None,
            };
        }
        timer.low = Reported::Later;
        Low {
            kick: false,
            arm: self.arm(at),
        }
    }

    /// Was low memory reported, and not acted upon?
    pub fn memory_is_said_low(&self) -> bool {
        self.timer.low != Reported::No
    }

    /// The worker visits all queues. True, once, if it has to take all of them for low memory.
    pub fn take_pressure(&mut self, now: Now) -> bool {
        let timer = &mut self.timer;
        let take = match timer.low {
            Reported::No => false,
            Reported::Now => true,
            Reported::Later => now.ns >= timer.not_before,
        };
        if take {
            timer.low = Reported::No;
            timer.not_before = now.ns.saturating_add(self.config.defer.pressure_ns);
            self.counts.pressure += 1;
        }
        take
    }

    /// The worker has visited every queue since [`disarm`](Global::disarm), and none has a deadline: a report
    /// of low memory would have no effect.
    pub fn calm(&mut self) {
        let timer = &mut self.timer;
        if timer.armed == u64::MAX && timer.low == Reported::Later {
            timer.low = Reported::No;
        }
    }
}
