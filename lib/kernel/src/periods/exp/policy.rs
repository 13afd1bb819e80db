//! The kind of grace period that a caller gets, and expedited grace periods for pollers.
//!
//! | | asked for normal | asked for expedited |
//! |---|---|---|
//! | `rcu_normal` set | normal | normal |
//! | else, `rcu_expedited` set | expedited | expedited |
//! | else | normal | expedited |

use crate::periods::global::Global;
use crate::periods::host::LeafId;
use crate::periods::polled::{FullCookie, GpKind};
use quiescent_engine::seq::Seq;

/// The settings of `rcu_normal` and `rcu_expedited`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Expedite {
    /// `rcu_normal`: no expedited grace periods.
    pub normal: bool,
    /// `rcu_expedited`: all are expedited.
    pub expedited: bool,
}

/// A poller's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExpPoll {
    /// The cookie in its full form.
    pub full: FullCookie,
    /// The cookie as a single word.
    pub merged: Seq,
    /// Queue the leaf's work: as long as [`Global::exp_poll_work`] returns true, the work waits for an
    /// expedited grace period.
    pub queue_work: bool,
}

impl Expedite {
    /// A booted machine with neither set.
    pub const fn up() -> Expedite {
        Expedite {
            normal: false,
            expedited: false,
        }
    }

    /// The kind for a caller that requests this kind.
    pub const fn choose(&self, asked: GpKind) -> GpKind {
        if !self.normal && (self.expedited || matches!(asked, GpKind::Expedited)) {
            GpKind::Expedited
        } else {
            GpKind::Normal
        }
    }
}

impl Global {
    /// The settings.
    pub fn expedite(&self) -> Expedite {
        self.exp.policy
    }

    /// Changes the settings.
    pub fn set_expedite(&mut self, policy: Expedite) {
        self.exp.policy = policy;
    }

    /// The kind of grace period for a caller that requests this kind.
    pub fn choose(&self, asked: GpKind) -> GpKind {
        self.exp.policy.choose(asked)
    }

    /// Requests expedited grace periods until the returned cookies are done, without waiting.
    /// `leaf` is the caller's own, or 0. There is a tree by now. Same fence rule as
    /// [`exp_snap`](Global::exp_snap).
    ///
    /// # Panics
    /// If there is no tree.
    pub fn start_poll_expedited(&mut self, leaf: LeafId) -> ExpPoll {
        let full = FullCookie::take(self.gp_seq, self.exp_seq);
        let merged = self.polled.state();
        let wanted = self.poll_rq(leaf);
        let queue_work = wanted.is_none();
        // A later cookie replaces an earlier one: when the later one is satisfied, so is the earlier.
        *wanted = Some(merged);
        ExpPoll {
            full,
            merged,
            queue_work,
        }
    }

    /// Has the leaf's work to wait for another expedited grace period? If not, it is over, and the next
    /// [`start_poll_expedited`](Global::start_poll_expedited) queues it again. One may not suffice, since
    /// overlapping grace periods are merged ([`polled`](crate::polled)).
    ///
    /// # Panics
    /// If there is no tree.
    pub fn exp_poll_work(&mut self, leaf: LeafId) -> bool {
        let Some(cookie) = *self.poll_rq(leaf) else {
            return false;
        };
        let done = self.polled.poll(cookie);
        if done {
            *self.poll_rq(leaf) = None;
        }
        !done
    }

    fn poll_rq(&mut self, leaf: LeafId) -> &mut Option<Seq> {
        let tree = self.tree.as_mut();
        let tree = tree.expect("expedited polling before there is a tree: grow one first");
        let leaf = if leaf < tree.leaves() { leaf } else { 0 };
        let node = tree.leaf_node(leaf);
        &mut tree.nodes[node].exp.poll_rq
    }
}
