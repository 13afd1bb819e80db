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

use crate::common::config::{Config, EarlyQs, Pace};
use crate::common::event::{Event, FqsEvent, GpEvent};
use crate::common::global::{Global, Phase};
use crate::common::host::{CpuId, Host, LeafId, Published};
use crate::common::seq::Seq;
use crate::common::tree::{Bits, Tree};

/// The most participants of a leaf: the two counts.
const MOST: usize = 2;

/// The leaf that the grace period visits.
struct Sole {
    leaf: LeafId,
    /// Its participants, all of them outside.
    mask: u64,
    /// Their stamps, in order.
    stamps: [u64; MOST],
}

impl Global {
    /// A `synchronize` caller on `cpu`, if that CPU takes part: a full grace period, if the caller is alone.
    /// The numbers to be published, of its end; `None`: nothing has happened. Same fence rule as
    /// [`wait_for_gp`](Global::wait_for_gp).
    pub fn sole_gp<H: Host>(
        &mut self,
        cpu: Option<CpuId>,
        expedited: bool,
        host: &H,
    ) -> Option<Published> {
        let Sole { leaf, mask, stamps } = self.sole_case(cpu, host)?;
        let _ = self.take_ticket(expedited, host);
        if H::TRACES {
            let _ = self.request(leaf, host); // the end makes the numbers of all its nodes equal
        }
        self.silent_since = None;
        self.lost_in_row = 0;
        self.counts.steps += 1;
        self.begin(host);
        self.counts.sole += 1;
        self.visit(|tree, node, seq| {
            tree.init_node(node, seq, host);
            false
        });
        if mask != 0 {
            self.scan_begins(host);
            self.credit_sole(leaf, mask, stamps, host);
        }
        let _ = self.begin_cleanup();
        self.wanted |= self.visit(|tree, node, seq| tree.clean_node(node, seq.end(), host));
        let satisfied = self.conclude(host);
        debug_assert!(satisfied.is_some_and(|s| s.deferred_until.is_none()));
        Some(self.published())
    }

    /// Is this the case? Observes the readers.
    #[inline]
    fn sole_case(&self, cpu: Option<CpuId>, host: &impl Host) -> Option<Sole> {
        let free = self.phase == Phase::Idle && self.driver.is_none() && self.waiters.are_none();
        if !free || !suits(&self.config) {
            return None;
        }
        let tree = self.tree.as_ref()?;
        let leaf = tree.only_leaf(host)?;
        let index = tree.leaf_node(leaf);
        let (node, room) = (&tree.nodes[index], tree.room(index));
        let mask = host.present(leaf) & room;
        let readers = node.wait_blkd_tasks || node.blkd.any();
        if host.cpus() > self.cpus() || mask != node.qsmaskinit || readers || node.overloaded != 0 {
            return None;
        }
        let own = cpu.and_then(|cpu| 1u64.checked_shl(cpu.checked_sub(node.lo)?));
        if mask & !own.unwrap_or(0) != 0 && tree.occupied_from(leaf, host) == Some(leaf) {
            return None;
        }
        let (mut bits, mut stamps) = (Bits(mask), [0; MOST]);
        for stamp in &mut stamps {
            let Some(bit) = bits.next() else { break };
            let seen = host.observe(node.lo + bit);
            if !seen.outside {
                return None;
            }
            *stamp = seen.stamp;
        }
        (bits.0 == 0).then_some(Sole { leaf, mask, stamps })
    }

    /// Calls this for each node of the grace period, from the root; true if one of the calls returned that.
    #[inline]
    fn visit(&mut self, mut what: impl FnMut(&mut Tree, usize, Seq) -> bool) -> bool {
        let seq = self.gp_seq;
        let tree = self.tree.as_mut().expect("a grace period has a tree");
        let (mut any, mut node) = (false, Some(0));
        while let Some(at) = node {
            any |= what(tree, at, seq);
            node = tree.after(at);
        }
        any
    }

    /// The scan of the leaf, all of whose participants were outside.
    #[inline]
    fn credit_sole(&mut self, leaf: LeafId, mask: u64, stamps: [u64; MOST], host: &impl Host) {
        self.counts.leaves_scanned += 1;
        let seq = self.gp_seq;
        let tree = self.tree.as_mut().expect("a grace period has a tree");
        let node = tree.leaf_node(leaf);
        let lo = tree.nodes[node].lo;
        for (bit, stamp) in Bits(mask).zip(stamps) {
            tree.scan[(lo + bit) as usize].snap = stamp;
            host.trace(&Event::Fqs {
                gp_seq: seq,
                cpu: lo + bit,
                event: FqsEvent::Dti,
            });
        }
        tree.report(node, mask, seq, host);
        self.urgency.scan_ended(true);
        self.trace_gp(GpEvent::Fqsend, host);
    }
}

/// Do the steps of this policy end a grace period without a wait, if no reader blocks it, and wake its waiter
/// directly?
#[inline]
fn suits(config: &Config) -> bool {
    config.sole_needs_no_fence
        && config.early_qs == EarlyQs::Off
        && matches!(config.pace, Pace::Direct { .. })
        && config.escalation.is_none()
        && config.direct_wakes_max > 0
        && config.wait_markers > 0
}

#[cfg(test)]
mod tests;
