//! Expedited grace periods: they ask every CPU, where a normal one waits for it.
//!
//! A normal grace period waits until each CPU passes a quiescent state by itself. An expedited one credits
//! the CPUs that are outside, interrupts all others, and has each of them report at once or at the end of its
//! section. It has its own sequence number, its own masks in the same tree, and its own driver; a normal
//! grace period may be in progress at the same time, and neither reads the other's masks.
//!
//! ```text
//!  exp_snap ─ exp_climb ─┬─ Done                      another caller's grace period covers this one
//!                        ├─ Wait { node, queue }      another caller is ahead: sleep there, until exp_done
//!                        ├─ Contend ─ exp_lock ─┐     one level of the funnel left: the role
//!                        └─ Begin ──────────────┴─ exp_begin ─ exp_step … ─ exp_wake … ─ exp_release
//!
//!  exp_step:  Fence → Reset (a node a step, leaves first) → for each leaf: Select → Ask → … → Wait → end
//! ```
//!
//! # The funnel
//! A caller takes a cookie `s` and climbs from its leaf to the root, storing `s` in `exp_seq_rq` of every
//! node it passes. Where it finds `s` or later, another caller is ahead, and it waits at that node. So at
//! most one caller for each `s` reaches the root, and contends there for the role (the kernel's `exp_mutex`).
//! If no caller is ahead and the role is free, the caller takes it without a climb.
//!
//! Waiters of `s` sleep on queue `ctr(s) & 3` of their node; the end of a grace period wakes that queue on
//! every node. At most three values of `s` are live (one being woken, one in flight, one after it), so four
//! queues never mix two. Wake-ups are done a node a step, after the role could be passed on; the next grace
//! period may begin meanwhile, but not end (the kernel's `exp_wake_mutex`).
//!
//! # Invariants
//! * A node is finished when its `expmask` is empty and, at a leaf, no preempted reader is queued at
//!   `exp_tasks`. A parent's bit is set exactly while the child is set up and not finished.
//! * A CPU that is flagged (`exp_owed`) has its bit in `expmask`; a report clears both.
//! * Without a grace period in flight, all of these are empty.
//!
//! # Correctness
//! Let R be a section that is open when the sequence starts, on CPU c. The fence makes R visible to every
//! later scan. c's presence is queried after the fence: c is in its leaf's mask, or it arrived later (and R
//! is not that old), or it left, and then R's task was preempted and is in a leaf's list. When the leaf is
//! set up, the whole list is taken (`exp_tasks`); a task preempted afterwards on a CPU that owes is placed
//! where the pointer covers it (`blocked`). c's bit is cleared only by a scan that finds c outside, or finds
//! its stamp changed since the first scan, both after the fence; by c's own report outside of R, from the
//! interrupt or after it; by a context switch, which moves R to the list; or by its departure.
//!
//! # Set-up from the leaves
//! A leaf's state decides whether its parent has to wait for it. From the leaves up each node is visited
//! once; a report that overtakes the set-up stops where the parent's bit is not set yet. There is no mask of
//! "ever online" CPUs: presence is queried each time, and readers of departed CPUs are in the lists.
//!
//! # Omitted
//! The kernel's worker for each leaf (one driver handles them in turn), and callbacks that an expedited grace
//! period makes ready (kernels from 7.3).

use crate::periods::event::{Event, ExpEvent, ExpFunnelEvent};
use crate::periods::global::Global;
use crate::periods::host::{CpuId, Host, LeafId};
use crate::periods::polled::GpKind;
use quiescent_engine::seq::Seq;

mod policy;
mod report;
mod run;

pub use policy::{ExpPoll, Expedite};
pub use report::{Handled, Interrupted};

/// A node's part in expedited grace periods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ExpNode {
    /// Holdouts: CPUs (leaf) or unfinished children.
    pub expmask: u64,
    /// The furthest grace period requested through this node.
    pub exp_seq_rq: Seq,
    /// The furthest merged cookie for which this leaf's work was requested.
    pub poll_rq: Option<Seq>,
}

impl ExpNode {
    pub const fn new() -> ExpNode {
        ExpNode {
            expmask: 0,
            exp_seq_rq: Seq::ZERO,
            poll_rq: None,
        }
    }
}

/// The phase of the expedited grace period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExpPhase {
    /// No expedited grace period is in flight.
    Idle,
    /// Started; the fence before the first scan is still to come.
    Fence,
    /// Setting up masks, node by node from the last leaf to the root.
    Reset(usize),
    /// The first scan of the CPUs of this leaf.
    Select(LeafId),
    /// The second scan of those CPUs, and interrupts for those still inside.
    Ask {
        /// The leaf.
        leaf: LeafId,
        /// Its CPUs to be interrupted.
        cpus: u64,
    },
    /// The host is interrupting them.
    Asked {
        /// The leaf.
        leaf: LeafId,
        /// Its CPUs that are being interrupted.
        cpus: u64,
    },
    /// All CPUs were interrupted: waiting for their reports.
    Wait,
}

/// The next action of the driver of the expedited grace period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "the grace period stands still unless its driver does this"]
pub enum ExpNext {
    /// Call [`Global::exp_step`] again; other calls may come in between.
    Again,
    /// Issue one full fence that reaches every CPU, with no lock held, then call
    /// [`Global::exp_fenced`].
    Fence,
    /// Interrupt these CPUs, each of which answers with [`Global::exp_interrupt`]; then report with
    /// [`Global::exp_asked`] the CPUs that could not be reached.
    Ask {
        /// CPU of bit 0.
        lo: CpuId,
        /// The CPUs to interrupt.
        cpus: u64,
    },
    /// Sleep until woken ([`Effects::wake_exp`](crate::Effects)), or for that many ticks at most.
    Sleep(Option<u64>),
    /// The grace period has ended: continue with [`Global::exp_wake`].
    Done,
}

/// The host's actions for the driver of an expedited grace period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "effects not carried out are lost wake-ups"]
pub struct ExpEffects {
    /// The expedited sequence number, for lock-free polls.
    pub publish: Option<Seq>,
    /// CPUs that are waited for and have stopped their tick inside the kernel (`nohz_full`) turn the tick on
    /// until they have reported: see [`Global::exp_holdouts`].
    pub hold_ticks: bool,
    /// It has stalled: [`Global::exp_holdouts`] returns the holdouts to name.
    pub stalled: bool,
    /// The next action of the driver.
    pub next: ExpNext,
}

impl ExpEffects {
    const fn only(next: ExpNext) -> ExpEffects {
        ExpEffects {
            publish: None,
            hold_ticks: false,
            stalled: false,
            next,
        }
    }
}

/// The result of a climb through the funnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Climb {
    /// The cookie is done.
    Done,
    /// Another caller is ahead: sleep on that queue of that node until [`Global::exp_done`]. After a
    /// [`Global::grow`] climb again: the nodes are other ones.
    Wait {
        /// The node, counted from the root.
        node: usize,
        /// The queue of the node, one of four.
        queue: u8,
    },
    /// No other caller is ahead: take the role ([`Global::exp_lock`]), then call [`Global::exp_begin`].
    Contend,
    /// No other caller is ahead, and the caller has the role already: call [`Global::exp_begin`].
    Begin,
}

/// The result of the attempt to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExpBegin {
    /// The cookie is already done. The role is free again: wake its contenders.
    Done,
    /// The tree has no room for CPUs that have arrived. Provide a larger one with [`Global::grow`], or, while
    /// that is refused, wait for a normal grace period, whose start does it; then begin again. The role is
    /// kept.
    Grow(u32),
    /// Started: continue with [`Global::exp_step`].
    Begun,
}

/// A node's waiters to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "effects not carried out are lost wake-ups"]
pub struct ExpWake {
    /// Wake the threads that sleep at this node …
    pub node: usize,
    /// … on this queue of it.
    pub queue: u8,
    /// There are no more.
    pub last: bool,
    /// Wake the driver of the next grace period, which waits to end it.
    pub wake_exp: bool,
}

/// State of the expedited grace period, apart from the state of the nodes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Exp {
    pub phase: ExpPhase,
    /// The role is taken.
    pub held: bool,
    /// The tick at which holdouts' ticks are turned on, if they have not been.
    pub hold_ticks_at: Option<u64>,
    /// The number of the grace period whose waiters are being woken, and the next node.
    pub waking: Option<(Seq, usize)>,
    pub policy: Expedite,
}

impl Exp {
    pub const fn new() -> Exp {
        Exp {
            phase: ExpPhase::Idle,
            held: false,
            hold_ticks_at: None,
            waking: None,
            policy: Expedite::up(),
        }
    }
}

/// The queue on which waiters for this cookie sleep.
pub(crate) const fn queue_of(cookie: Seq) -> u8 {
    (cookie.ctr() & 3) as u8
}

impl Global {
    /// The cookie "a full expedited grace period from now". The caller has executed a full fence between
    /// its last update and the call.
    pub fn exp_snap(&self, host: &impl Host) -> Seq {
        let cookie = self.exp_seq.snap();
        trace_exp(cookie, ExpEvent::Snap, host);
        cookie
    }

    /// Has a full expedited grace period passed since the cookie was taken?
    pub fn exp_done(&self, cookie: Seq) -> bool {
        self.exp_seq.done(cookie)
    }

    /// The expedited sequence number.
    pub fn exp_seq(&self) -> Seq {
        self.exp_seq
    }

    /// The phase of the expedited grace period.
    pub fn exp_phase(&self) -> ExpPhase {
        self.exp.phase
    }

    /// Is one in flight, or are its waiters still being woken? The tree must stay until then.
    pub(crate) fn exp_in_flight(&self) -> bool {
        self.exp.phase != ExpPhase::Idle || self.exp.waking.is_some()
    }

    /// Enters the funnel at `leaf`, the caller's own or 0. O(levels).
    pub fn exp_climb(&mut self, leaf: LeafId, cookie: Seq, host: &impl Host) -> Climb {
        if self.exp_done(cookie) {
            trace_exp(cookie, ExpEvent::Done, host);
            return Climb::Done;
        }
        let Some(tree) = &mut self.tree else {
            // No funnel yet: every caller contends.
            return if core::mem::replace(&mut self.exp.held, true) {
                Climb::Contend
            } else {
                Climb::Begin
            };
        };
        let leaf = if leaf < tree.leaves() { leaf } else { 0 };
        let mut node = tree.leaf_node(leaf);
        let ahead = |node: usize| tree.nodes[node].exp.exp_seq_rq.ge(cookie);
        if !ahead(node) && !ahead(0) && !self.exp.held {
            self.exp.held = true;
            return Climb::Begin;
        }
        loop {
            let span = tree.geometry().node(node);
            let trace = |event| {
                host.trace(&Event::ExpFunnelLock {
                    level: span.level,
                    lo: span.lo,
                    hi: span.hi,
                    event,
                });
            };
            let rq = &mut tree.nodes[node].exp.exp_seq_rq;
            if rq.ge(cookie) {
                trace(ExpFunnelEvent::Wait);
                let queue = queue_of(cookie);
                return Climb::Wait { node, queue };
            }
            *rq = cookie;
            let Some(parent) = span.parent else {
                return Climb::Contend;
            };
            trace(ExpFunnelEvent::Nxtlvl);
            node = parent;
        }
    }

    /// Takes the role if it is free.
    pub fn exp_lock(&mut self) -> bool {
        !core::mem::replace(&mut self.exp.held, true)
    }

    /// Starts the grace period that `cookie` waits for, unless it has already ended. The caller has the role.
    ///
    /// # Panics
    /// If the role is free, or a grace period is in progress.
    pub fn exp_begin(&mut self, cookie: Seq, host: &impl Host) -> ExpBegin {
        assert!(
            self.exp.held && self.exp.phase == ExpPhase::Idle,
            "exp_begin without the role, or in the middle of a grace period"
        );
        if self.exp_done(cookie) {
            trace_exp(cookie, ExpEvent::Done, host);
            self.exp.held = false;
            return ExpBegin::Done;
        }
        let cpus = host.cpus().max(1);
        if cpus > self.cpus() {
            return ExpBegin::Grow(cpus);
        }
        self.exp_seq = self.exp_seq.start();
        assert!(
            self.exp_seq.end().ge(cookie),
            "one grace period does not reach the cookie: it was taken from another engine"
        );
        trace_exp(self.exp_seq.end(), ExpEvent::Start, host);
        self.polled.started(GpKind::Expedited);
        self.exp.phase = ExpPhase::Fence;
        ExpBegin::Begun
    }

    /// Wakes the waiters of one node after [`ExpNext::Done`]; the caller repeats it until [`ExpWake::last`].
    /// `None` if there is no waiter left.
    pub fn exp_wake(&mut self, host: &impl Host) -> Option<ExpWake> {
        let (seq, node) = self.exp.waking?;
        let tree = self.tree.as_mut().expect("a grace period has a tree");
        let rq = &mut tree.nodes[node].exp.exp_seq_rq;
        if !rq.ge(seq) {
            *rq = seq; // a caller that did not climb stored nothing
        }
        let last = node + 1 == tree.nodes.len();
        self.exp.waking = (!last).then_some((seq, node + 1));
        if last {
            trace_exp(seq, ExpEvent::Endwake, host);
        }
        Some(ExpWake {
            node,
            queue: queue_of(seq),
            last,
            wake_exp: last && self.exp.phase == ExpPhase::Wait,
        })
    }

    /// Gives the role up, after [`ExpNext::Done`]: wake its contenders.
    ///
    /// # Panics
    /// If the role is free, or the grace period has not ended.
    pub fn exp_release(&mut self) {
        assert!(
            self.exp.held && self.exp.phase == ExpPhase::Idle,
            "exp_release without the role, or in the middle of a grace period"
        );
        self.exp.held = false;
    }
}

/// Expedited grace periods are traced under the number that they end with: that of the satisfied cookies.
pub(crate) fn trace_exp(gp_seq: Seq, event: ExpEvent, host: &impl Host) {
    host.trace(&Event::ExpGracePeriod { gp_seq, event });
}

#[cfg(test)]
mod tests;
