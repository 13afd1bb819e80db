//! Ends of laziness: when a queue requests a grace period, and for which [`Cause`].

use super::Cause;
use crate::common::cblist::CbList;
use crate::common::cpu::Cpu;
use crate::common::global::Global;
use crate::common::host::{Host, Now};

impl Cpu {
    /// Has another thread to take this queue over now, and why? Its time has passed, or a hurried entry has
    /// found no free segment for its stamp. Where memory is `low`, any time has passed.
    pub fn due(&self, now: Now, low: bool) -> Option<Cause> {
        let over = |deadline: Option<u64>| deadline.is_some_and(|deadline| deadline <= now.ns);
        let unstamped = || self.lists.iter().any(|list| list.unstamped() > 0);
        if over(self.credit.deadline) {
            let prompt = over(self.credit.prompt);
            return Some(if prompt { Cause::Prompt } else { Cause::Lazy });
        }
        if self.is_hurried() && unstamped() {
            return Some(Cause::Hurry);
        }
        (low && self.credit.deadline.is_some()).then_some(Cause::Pressure)
    }

    /// Requests the grace period of all stamps given so far, or an earlier one.
    pub(super) fn flush(&mut self, global: &mut Global, cause: Cause, host: &impl Host) {
        if self.lists.iter().any(CbList::pending) {
            let _ = global.request(self.leaf_id(global), host);
            global.counts.flushes.add(cause);
        }
    }
}
