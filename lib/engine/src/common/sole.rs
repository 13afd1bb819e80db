//! The grace period of a sole participant, in one call.
//!
//! A caller of `synchronize` that is the only registered thread waits for no other thread. Its grace period
//! needs no fence and has no holdout, so it starts and ends in one call under one hold of the host's lock:
//! no driver role, no steps, no effects but the numbers to publish.
//!
//! # The case
//! The host's policy is that of threads; no driver, no grace period in flight, no other waiter; the tree is
//! large enough and has one leaf to visit, whose participants are those of the last grace period: the caller,
//! or none, or two [counts](crate::indexed) that only the caller has used; and all of them are outside of
//! every section. In every other case the call changes nothing, and the caller takes a
//! [ticket](Global::wait_for_gp). A request that is pending is no obstacle: this grace period serves it.
//!
//! # Why it is right
//! It makes the changes of [`Global::step`] with the functions of the steps, in their order; the search
//! compares both in every state (rule *i*). The host drops its lock between two steps only for waits, none of
//! which occurs here. One order differs: readers are observed before the number starts, not after. A
//! participant's section can change meanwhile only in the calling thread, which is in here; and a thread that
//! registers after [`Host::present`] was asked has executed a full fence since, and sees everything that
//! precedes the call, as a thread that registers during the steps does.
//!
//! # Cost
//! O(levels), about a tenth of the instructions of the steps.

use crate::common::config::Readers;
use crate::common::global::{Global, Phase};
use crate::common::host::{CpuId, Host};
use crate::common::leaves::Bits;
use crate::common::seq::Seq;

impl Global {
    /// A `synchronize` caller on `cpu`, if that CPU takes part: a full grace period, if the caller is alone.
    /// The number to be published, of its end; `None`: nothing has happened. Same fence rule as
    /// [`wait_for_gp`](Global::wait_for_gp).
    pub fn sole_gp(
        &mut self,
        cpu: Option<CpuId>,
        expedited: bool,
        host: &impl Host,
    ) -> Option<Seq> {
        let free =
            self.phase == Phase::Idle && self.driver.is_none() && !self.waiters.any_waiting();
        if !free || !self.is_sole(cpu, host) {
            return None;
        }
        let _ = self.waiters.push(expedited);
        self.silent_since = None;
        self.lost_in_row = 0;
        self.counts.steps += 1;
        self.begin();
        self.counts.sole += 1;
        self.counts.scans += 1;
        let satisfied = self.conclude();
        debug_assert!(satisfied.is_some());
        Some(self.published())
    }

    /// Is there one leaf with readers at most, with no reader but the caller, and all outside?
    #[inline]
    fn is_sole(&self, cpu: Option<CpuId>, host: &impl Host) -> bool {
        let Some(leaves) = &self.leaves else {
            return false;
        };
        if host.cpus() > leaves.cpus() {
            return false;
        }
        let Some(leaf) = leaves.occupied_from(0, host) else {
            return self.config.readers == Readers::Cpus || both_outside(host);
        };
        if leaves.occupied_from(leaf + 1, host).is_some() {
            return false;
        }
        let own = cpu.map(|cpu| leaves.place_of(cpu));
        let own = own.map_or(0, |(own, bit)| if own == leaf { bit } else { 0 });
        let present = host.present(leaf);
        let lo = leaves.lo(leaf);
        present & !own == 0 && Bits(present).all(|bit| host.observe(lo + bit).outside)
    }
}

/// Are no counted sections open? The caller is the only thread that may have used the counts.
fn both_outside(host: &impl Host) -> bool {
    (0..2).all(|count| host.observe(count).outside)
}
