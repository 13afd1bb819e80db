//! The group: the CPUs whose callbacks one worker serves, and its timer.
//!
//! A worker serves callbacks whose owner is quiet, as the kernel's `rcuog` thread serves those of its group.
//! A domain has one group at present.
//!
//! The timer is set to the *earliest* deadline of the group's members. (The kernel sets it again from the
//! latest event, which can nearly double a lazy wait.) The caller that queues sets it, without waking a
//! thread.

use crate::common::global::Global;
use crate::common::parts::threads::{Pressure, Reported};

/// The timer of the one group, and its reports of low memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct WorkerTimer {
    /// The time to which the timer is set, in nanoseconds.
    pub(crate) armed: Option<u64>,
    pub(crate) pressure: Pressure,
}

impl WorkerTimer {
    pub(crate) const fn new() -> WorkerTimer {
        WorkerTimer {
            armed: None,
            pressure: Pressure::new(),
        }
    }
}

impl Global {
    /// The worker has to run at `deadline_ns`. Returns the new time of the timer, if it changes: this time,
    /// or an earlier one if a report of low memory is pending.
    pub fn arm(&mut self, deadline_ns: u64) -> Option<u64> {
        let deadline_ns = match self.group.pressure.reported {
            Reported::Later => deadline_ns.min(self.group.pressure.not_before),
            _ => deadline_ns,
        };
        if self.group.armed.is_some_and(|armed| armed <= deadline_ns) {
            return None;
        }
        self.group.armed = Some(deadline_ns);
        Some(deadline_ns)
    }

    /// The timer has fired, or is to be stopped: the next caller that queues sets it. The worker visits every
    /// queue after this call, and arms for the remaining entries.
    pub fn disarm(&mut self) {
        self.group.armed = None;
    }

    /// The time to which the timer is set, in nanoseconds.
    pub fn armed(&self) -> Option<u64> {
        self.group.armed
    }
}
