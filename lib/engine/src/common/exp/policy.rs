//! Which kind of grace period a caller gets, and expedited grace periods for pollers.
//!
//! | | boot, one task | boot, scheduler up | afterwards |
//! |---|---|---|---|
//! | `rcu_normal` set | nothing to do | expedited | normal |
//! | else, asked for expedited | nothing to do | expedited | expedited |
//! | else, `rcu_expedited` set or nesting above 0 | nothing to do | expedited | expedited |
//! | else | nothing to do | expedited | normal |
//!
//! *Nothing to do*: while there is only one task, and it is the caller, nobody reads. The counters are
//! moved on, so that cookies are done ([`Global::pass_boot_gp`]). In the middle of boot there is no
//! grace-period thread yet; the expedited kind is driven by its caller (behaviour §10).

use crate::common::global::{Global, Phase};
use crate::common::host::{LeafId, Published};
use crate::common::polled::{FullCookie, GpKind};
use crate::common::seq::Seq;

use super::ExpPhase;

/// How far the machine has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Boot {
    /// One task only.
    OneTask,
    /// The scheduler is up; there is no grace-period thread yet.
    Middle,
    /// All is up.
    Up,
}

/// The knobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Expedite {
    /// `rcu_normal`: no expedited grace periods.
    pub normal: bool,
    /// `rcu_expedited`: no others.
    pub expedited: bool,
    /// Sections of code that want expedited ones (`rcu_expedite_gp`): boot, suspend.
    pub nesting: u32,
    /// How far the machine has started.
    pub boot: Boot,
}

/// What a caller that wants to wait for a grace period does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Choice {
    /// [`Global::pass_boot_gp`].
    Nothing,
    /// [`Global::wait_for_gp`].
    Normal,
    /// [`Global::exp_snap`], [`Global::exp_climb`] and so on.
    Expedited,
}

/// A poller's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExpPoll {
    /// The cookie in its full form.
    pub full: FullCookie,
    /// And as a single word.
    pub merged: Seq,
    /// Queue the leaf's work: as long as [`Global::exp_poll_work`] says so, it waits for an expedited
    /// grace period.
    pub queue_work: bool,
}

impl Expedite {
    /// A machine that is up, nothing set.
    pub const fn up() -> Expedite {
        Expedite {
            normal: false,
            expedited: false,
            nesting: 0,
            boot: Boot::Up,
        }
    }

    /// A machine that begins to boot: it wants expedited grace periods until it is up.
    pub const fn booting() -> Expedite {
        Expedite {
            nesting: 1,
            boot: Boot::OneTask,
            ..Expedite::up()
        }
    }

    /// The machine is up. `normal_after_boot`: `rcu_normal_after_boot`, on by default in real-time
    /// kernels.
    pub const fn boot_ended(self, normal_after_boot: bool) -> Expedite {
        Expedite {
            normal: self.normal || normal_after_boot,
            nesting: self.nesting.saturating_sub(1),
            boot: Boot::Up,
            ..self
        }
    }

    /// What a caller does that asks for this kind.
    pub const fn choose(&self, asked: GpKind) -> Choice {
        let expedited = self.expedited || self.nesting > 0 || matches!(asked, GpKind::Expedited);
        match self.boot {
            Boot::OneTask => Choice::Nothing,
            Boot::Middle => Choice::Expedited,
            Boot::Up if expedited && !self.normal => Choice::Expedited,
            Boot::Up => Choice::Normal,
        }
    }
}

impl Global {
    /// The knobs.
    pub fn expedite(&self) -> Expedite {
        self.exp.policy
    }

    /// Sets the knobs.
    pub fn set_expedite(&mut self, policy: Expedite) {
        self.exp.policy = policy;
    }

    /// What a caller does that asks for this kind of grace period.
    pub fn choose(&self, asked: GpKind) -> Choice {
        self.exp.policy.choose(asked)
    }

    /// A grace period while there is one task only: it begins and ends with this call.
    ///
    /// # Panics
    /// If there are more tasks, or a grace period is in flight.
    pub fn pass_boot_gp(&mut self) -> Published {
        let alone = self.exp.policy.boot == Boot::OneTask;
        let idle = self.phase == Phase::Idle && self.exp.phase == ExpPhase::Idle;
        assert!(
            alone && idle,
            "a grace period without looking at anybody, but somebody may read: wait for one"
        );
        self.polled.started(GpKind::Normal);
        self.polled.ended(GpKind::Normal);
        self.gp_seq = self.gp_seq.start().end();
        self.exp_seq = self.exp_seq.start().end();
        if let Some(tree) = &mut self.tree {
            for node in &mut tree.nodes {
                node.gp_seq = self.gp_seq;
                if !node.gp_seq_needed.ge(self.gp_seq) {
                    node.gp_seq_needed = self.gp_seq;
                }
            }
        }
        self.published()
    }

    /// Asks for expedited grace periods until the cookies that are returned are done, without waiting.
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
        // A later cookie takes the place of an earlier one: when it is done, so is that.
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
