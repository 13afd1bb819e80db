//! Memory pressure: a report of low memory ends laziness.
//!
//! A host calls [`memory_low`](Global::memory_low) for every report, of the kernel or of the program. The
//! worker calls [`take_pressure`](Global::take_pressure) at each of its passes; where that is true, every
//! queue with a deadline is [due](crate::Cpu::due) now, and one grace period serves all of them.
//!
//! # The rate
//! Reports come in storms: from every thread whose allocation failed, from the kernel at every reclaim. The
//! engine acts on them at most once in [`Defer::pressure_ns`](crate::credit::Defer): an earlier report is
//! remembered, and the group's timer is set to the end of that time. So a storm costs one pass and one grace
//! period in that time, and no report is lost.
//!
//! # Invariants
//! * For a report not yet acted upon, either a worker was woken (`Reported::Now`), or a timer is set no later
//!   than the end of that time (`Reported::Later`); [`arm`](Global::arm) sets it.
//! * Where nothing is queued no thread is woken: a host reports only if something is held, and a worker that
//!   leaves nothing behind forgets deferred reports ([`calm`](Global::calm)).
//!
//! Complexity: every call is O(1).

use crate::common::global::Global;
use crate::common::host::Now;
use crate::common::parts::threads::Reported;

/// The result of a report of low memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[must_use = "a worker that is not woken leaves memory where it is"]
pub struct Low {
    /// Wake the worker.
    pub kick: bool,
    /// Set the group's timer to this (monotonic nanoseconds).
    pub arm: Option<u64>,
}

impl Global {
    /// A report of low memory.
    pub fn memory_low(&mut self, now: Now) -> Low {
        let pressure = &mut self.group.pressure;
        if pressure.reported != Reported::No {
            return Low::default(); // it is on the way
        }
        let at = pressure.not_before;
        if now.ns >= at {
            pressure.reported = Reported::Now;
            return Low {
                kick: true,
                arm: None,
            };
        }
        pressure.reported = Reported::Later;
        Low {
            kick: false,
            arm: self.arm(at),
        }
    }

    /// Was low memory reported, and not acted upon?
    pub fn memory_is_said_low(&self) -> bool {
        self.group.pressure.reported != Reported::No
    }

    /// The worker visits all queues. True, once, if it has to take all of them for low memory.
    pub fn take_pressure(&mut self, now: Now) -> bool {
        let pressure = &mut self.group.pressure;
        let take = match pressure.reported {
            Reported::No => false,
            Reported::Now => true,
            Reported::Later => now.ns >= pressure.not_before,
        };
        if take {
            pressure.reported = Reported::No;
            pressure.not_before = now.ns.saturating_add(self.config.defer.pressure_ns);
            self.counts.pressure += 1;
        }
        take
    }

    /// The worker has visited every queue since [`disarm`](Global::disarm), and none has a deadline: a report
    /// of low memory would have no effect.
    pub fn calm(&mut self) {
        let pressure = &mut self.group.pressure;
        if self.group.armed.is_none() && pressure.reported == Reported::Later {
            pressure.reported = Reported::No;
        }
    }
}
