//! Memory pressure: somebody says that memory is low, and what is lazy is not lazy any more.
//!
//! A host tells [`memory_low`](Global::memory_low), whoever said so: the kernel, or the program. The worker asks
//! [`take_pressure`](Global::take_pressure) at each of its passes; where that is true, every queue that somebody would
//! have to look at later is [due](crate::Cpu::due) now, and one grace period serves all of them.
//!
//! # The rate
//! Low memory is said in storms: by every thread whose allocation failed, by the kernel at every reclaim. It is acted
//! upon at most once in [`Defer::pressure_ns`](crate::credit::Defer): what is said sooner after the last time is
//! remembered, and the group's timer is set to the end of that time. So a storm costs one pass and one grace
//! period in that time, and nothing that was said is lost.
//!
//! # Invariants
//! * What was said and not acted upon has a worker that was woken for it (`Said::Now`), or a timer no later than
//!   the end of the time (`Said::Later`): [`arm`](Global::arm) sees to the second.
//! * Where nothing is queued nobody is woken: a host asks only if something is held, and a worker that leaves nothing
//!   behind forgets what was to be done later ([`calm`](Global::calm)).
//!
//! Complexity: every call is O(1).

use crate::common::global::Global;
use crate::common::host::Now;
use crate::common::parts::threads::Said;

/// What comes of low memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[must_use = "a worker that is not woken leaves memory where it is"]
pub struct Low {
    /// Wake the worker.
    pub kick: bool,
    /// Set the group's timer to this (monotonic nanoseconds).
    pub arm: Option<u64>,
}

impl Global {
    /// Memory is low, somebody says.
    pub fn memory_low(&mut self, now: Now) -> Low {
        let pressure = &mut self.group.pressure;
        if pressure.said != Said::No {
            return Low::default(); // it is on the way
        }
        let at = pressure.not_before;
        if now.ns >= at {
            pressure.said = Said::Now;
            return Low {
                kick: true,
                arm: None,
            };
        }
        pressure.said = Said::Later;
        Low {
            kick: false,
            arm: self.arm(at),
        }
    }

    /// Was low memory said, and not acted upon?
    pub fn memory_is_said_low(&self) -> bool {
        self.group.pressure.said != Said::No
    }

    /// The worker looks at all queues. True, once, if it has to take all of them for low memory.
    pub fn take_pressure(&mut self, now: Now) -> bool {
        let pressure = &mut self.group.pressure;
        let take = match pressure.said {
            Said::No => false,
            Said::Now => true,
            Said::Later => now.ns >= pressure.not_before,
        };
        if take {
            pressure.said = Said::No;
            pressure.not_before = now.ns.saturating_add(self.config.defer.pressure_ns);
            self.counts.pressure += 1;
        }
        take
    }

    /// The worker has looked at every queue since [`disarm`](Global::disarm), and nobody has to look at any of them:
    /// there is nothing that low memory could be said of.
    pub fn calm(&mut self) {
        let pressure = &mut self.group.pressure;
        if self.group.armed.is_none() && pressure.said == Said::Later {
            pressure.said = Said::No;
        }
    }
}
