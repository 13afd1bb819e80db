//! The group: whose callbacks one worker looks after, and its timer.
//!
//! Callbacks whose owner does not come back are looked after by a worker, as the kernel's `rcuog` thread
//! looks after those of its group. There is one group a domain so far.
//!
//! The timer is set to the *earliest* deadline of the group's members. (The kernel re-arms from the
//! latest event, which can nearly double a lazy wait; behaviour §7.3.) It is set by whoever queues; that
//! wakes nobody.

use crate::common::global::Global;
use crate::common::parts::threads::{Pressure, Said};

/// State of the group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Group {
    /// What the timer is set to, in nanoseconds.
    pub(crate) armed: Option<u64>,
    pub(crate) pressure: Pressure,
}

impl Group {
    pub(crate) const fn new() -> Group {
        Group {
            armed: None,
            pressure: Pressure::new(),
        }
    }
}

impl Global {
    /// Somebody has to look at `deadline_ns`. Returns what the timer has to be set to, if it has to be: that, or
    /// earlier, if low memory waits for its turn.
    pub fn arm(&mut self, deadline_ns: u64) -> Option<u64> {
        let deadline_ns = match self.group.pressure.said {
            Said::Later => deadline_ns.min(self.group.pressure.not_before),
            _ => deadline_ns,
        };
        if self.group.armed.is_some_and(|armed| armed <= deadline_ns) {
            return None;
        }
        self.group.armed = Some(deadline_ns);
        Some(deadline_ns)
    }

    /// The timer has fired, or is to be stopped: whoever queues next sets it. The worker looks at every
    /// queue after this call, and arms for what it leaves behind.
    pub fn disarm(&mut self) {
        self.group.armed = None;
    }

    /// What the timer is set to, in nanoseconds.
    pub fn armed(&self) -> Option<u64> {
        self.group.armed
    }
}
