//! rcuog: one pass over all members of a group, one member a step, and its thread's rest after that.
//!
//! ```text
//! begin_pass        cancels deferred wake-ups: this pass does their work
//!   Cpu::visit      for each next_member: flush due callbacks, advance, stamp, request; wake its rcuop
//! end_pass          sets a timer for the rest; Rest tells how to sleep
//!   … goes_on?      the host calls it when it is woken, and before it sleeps
//! ```
//!
//! Between two steps members queue, join and leave, and wake-ups arrive.
//!
//! # The rest
//! Without a bound, if no member waits; until the *earliest* stamp for which any member waits is reached, on
//! a queue of the leader's leaf; for a tick, if it polls. A leaf has two queues, for even and odd grace
//! periods ([`GpEnd`]), and the end of one wakes only the waiters of its parity: beyond the current grace
//! period there is never more than one to wait for.
//!
//! # No forgotten callback
//! A callback pending after a visit has a stamp whose grace period was requested, and rcuog waits for no
//! later one. A hidden callback has a time, and the timer is set to the earliest of them, or (6.12) to one
//! that starts now. For a ready callback its rcuop was woken, or (quiescent, lazy) it has a time.
//!
//! # This project's policy
//! rcuog does not wait for a lazy list's stamp, and does not request its grace period. When the earliest time
//! of a group has come, all its lazy lists are flushed. A list that another grace period has made ready goes
//! to its rcuop at once; the others share one grace period, and go to theirs as a whole. So a group whose
//! members only queue lazy callbacks has its rcuog woken at most twice a flush time (by the timer, and by the
//! end of that grace period), and each rcuop once.

use super::wake::{WakeLevel, trace};
use super::{Group, Policy, Timer, Todo};
use crate::periods::cpu::Cpu;
use crate::periods::event::{FutureEvent, NocbEvent};
use crate::periods::global::Global;
use crate::periods::host::{CpuId, Host, LeafId};
use crate::periods::parts::gp_queue;
use quiescent_engine::seq::Seq;

/// The state of rcuog's pass.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Pass {
    /// The next member.
    pub at: usize,
    /// Some member has a bypass that is not all lazy.
    bypass: bool,
    /// Some member has lazy callbacks.
    lazy: bool,
    /// The earliest stamp that a member waits for.
    wait: Option<Seq>,
    /// The group's lazy callbacks are due, all of them.
    flush: bool,
}

/// The rest of rcuog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rest {
    /// It sleeps for this number of ticks.
    Poll {
        /// The number.
        ticks: u64,
    },
    /// It sleeps until it is woken.
    Unbounded,
    /// It sleeps until the leaf shows that this grace period has ended, or until it is woken.
    Gp {
        /// The leader's leaf.
        leaf: LeafId,
        /// The queue of the leaf.
        queue: u8,
        /// Its number when it has ended.
        stamp: Seq,
    },
}

/// The result of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "threads may have to be woken"]
pub struct Visited {
    /// This number, all of the bypass, move to the end of the list.
    pub flushed: u64,
    /// The threads to wake.
    pub todo: Todo,
}

/// The result of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "rcuog rests now, and its timer may have to be set"]
pub struct Rested {
    /// The rest of rcuog.
    pub rest: Rest,
    /// For the group's timer.
    pub timer: Timer,
}

impl Group {
    /// rcuog begins a pass: the first one, or after a rest.
    pub fn begin_pass(&mut self, tick: u64, global: &Global, host: &impl Host) -> Timer {
        match self.rest.take() {
            Some(Rest::Unbounded) => trace(self.leader, NocbEvent::EndSleep, host),
            Some(Rest::Gp { stamp, .. }) => {
                global.trace_wait(self.leader, stamp, FutureEvent::EndWait, host);
            }
            Some(Rest::Poll { .. }) | None => {}
        }
        let due = core::mem::take(&mut self.lazy_due);
        self.pass = Some(Pass {
            flush: due || self.lazy_at.is_some_and(|at| at <= tick),
            ..Pass::default()
        });
        if global.config.offload.poll {
            self.lazy_at = None;
            return Timer::Keep;
        }
        self.sleep = true;
        match global.config.offload.policy {
            Policy::Kernel612 => self.cancel(),
            Policy::Quiescent => {
                // The end of the pass computes the timer's time; until then the timer stays.
                self.level = WakeLevel::Not;
                self.defer_at = None;
                self.lazy_at = None;
                Timer::Keep
            }
        }
    }

    /// The next member to visit; `None` at the end of the pass.
    pub fn next_member(&self) -> Option<CpuId> {
        let pass = self.pass.as_ref()?;
        self.members.get(pass.at).copied()
    }

    /// Is a pass in progress?
    pub fn in_pass(&self) -> bool {
        self.pass.is_some()
    }

    /// All members have been visited.
    ///
    /// # Panics
    /// If a member has not, or no pass is in progress.
    pub fn end_pass(&mut self, tick: u64, global: &Global, host: &impl Host) -> Rested {
        assert!(
            self.next_member().is_none(),
            "a pass was ended before its last member"
        );
        let pass = self.pass.take().expect("a pass is in progress");
        let offload = global.config.offload;
        let timer = match (offload.poll, offload.policy) {
            (true, _) => Timer::Keep,
            (false, Policy::Kernel612) if pass.bypass => {
                trace(self.leader, NocbEvent::WakeBypassIsDeferred, host);
                self.defer(WakeLevel::Bypass, tick, offload.lazy_flush)
            }
            (false, Policy::Kernel612) if pass.lazy => {
                trace(self.leader, NocbEvent::WakeLazyIsDeferred, host);
                self.defer(WakeLevel::Lazy, tick, offload.lazy_flush)
            }
            (false, Policy::Kernel612) => Timer::Keep,
            (false, Policy::Quiescent) => {
                if pass.lazy {
                    trace(self.leader, NocbEvent::WakeLazyIsDeferred, host);
                }
                self.retime()
            }
        };
        let rest = match (offload.poll, pass.wait) {
            (true, _) => {
                trace(self.leader, NocbEvent::Poll, host);
                Rest::Poll { ticks: 1 }
            }
            (false, None) => {
                trace(self.leader, NocbEvent::Sleep, host);
                Rest::Unbounded
            }
            (false, Some(stamp)) => {
                global.trace_wait(self.leader, stamp, FutureEvent::StartWait, host);
                Rest::Gp {
                    leaf: global.leaf_of(self.leader).0,
                    queue: gp_queue(stamp),
                    stamp,
                }
            }
        };
        self.rest = Some(rest);
        Rested { rest, timer }
    }

    /// The rest of rcuog, if it rests.
    pub fn rest(&self) -> Option<Rest> {
        self.rest
    }

    /// Has its rest ended? An rcuog that polls uses the clock instead.
    pub fn goes_on(&self, global: &Global) -> bool {
        match self.rest {
            None => true,
            Some(Rest::Poll { .. }) => false,
            Some(Rest::Unbounded) => !self.sleep,
            Some(Rest::Gp { stamp, .. }) => !self.sleep || global.leaf_of(self.leader).1.ge(stamp),
        }
    }
}

impl Cpu {
    /// rcuog visits this member, which is [next](Group::next_member).
    ///
    /// # Panics
    /// If it is not the next one.
    pub fn visit(
        &mut self,
        tick: u64,
        group: &mut Group,
        global: &mut Global,
        host: &impl Host,
    ) -> Visited {
        assert!(
            group.next_member() == Some(self.id),
            "CPU {} is not the next member",
            self.id
        );
        trace(self.id, NocbEvent::Check, host);
        let mut pass = group.pass.take().expect("it is this member's turn");
        pass.at += 1;
        let visited = match global.config.offload.policy {
            Policy::Kernel612 => self.visit_as_6_12(tick, &mut pass, global, host),
            Policy::Quiescent => self.visit_once(tick, &mut pass, group, global, host),
        };
        group.pass = Some(pass);
        visited
    }

    /// The visit of one member under Linux 6.12.
    fn visit_as_6_12(
        &mut self,
        tick: u64,
        pass: &mut Pass,
        global: &mut Global,
        host: &impl Host,
    ) -> Visited {
        let (offload, qhimark) = (global.config.offload, global.config.limits.qhimark);
        let mut todo = Todo::default();
        let due = self.offload.pass_flushes(tick, offload.lazy_flush, qhimark);
        let flushed = if due { self.flush_bypass(tick) } else { 0 };
        if self.offload.all_lazy() {
            pass.lazy = true;
            trace(self.id, NocbEvent::Lazy, host);
        } else if self.offload.bypass != 0 {
            pass.bypass = true;
            trace(self.id, NocbEvent::Bypass, host);
        }
        let leaf = self.leaf(global);
        let released = |gp| leaf.gp_seq.ge(gp);
        let list = self.code_ref();
        if list.unstamped() != 0 || list.next_gp().is_some_and(released) {
            todo.gp = self.advance_cbs(leaf.id, global, host);
        }
        if self.code_ref().pending() {
            self.has_rcuog_wait(pass, host);
        }
        if self.code_ref().ready() != 0 {
            todo.rcuop = self.wake_rcuop();
        }
        Visited { flushed, todo }
    }

    fn visit_once(
        &mut self,
        tick: u64,
        pass: &mut Pass,
        group: &mut Group,
        global: &mut Global,
        host: &impl Host,
    ) -> Visited {
        let offload = global.config.offload;
        self.clamp_lazy();
        let reached = self.leaf(global).gp_seq;
        self.code().advance(reached);
        let awaited = self.hurried_ready(); // read before due callbacks count as hurried
        let late = tick >= self.offload.first.saturating_add(offload.lazy_flush);
        if pass.flush || late {
            self.offload.lazy = 0; // never too many: the queueing call limits them
        }
        let mut todo = Todo {
            gp: self.serve_hurried(global, host),
            ..Todo::default()
        };
        if self.offload.lazy != 0 {
            pass.lazy = true;
            group.lazy_until(self.offload.first.saturating_add(offload.lazy_flush));
            trace(self.id, NocbEvent::Lazy, host);
        }
        if self.hurried_pending() {
            self.has_rcuog_wait(pass, host);
        }
        // Callbacks that are ready only because their time has come go with the others, in one wake-up.
        if awaited || (self.hurried_ready() && !self.hurried_pending()) {
            todo.rcuop = self.wake_rcuop();
        }
        Visited { flushed: 0, todo }
    }

    /// Advances, stamps everything, and requests the grace period that hurried callbacks need; true if the
    /// grace-period thread has to be woken.
    pub(super) fn serve_hurried(&mut self, global: &mut Global, host: &impl Host) -> bool {
        let s = global.gp_seq.snap(); // before the other number is read: see `callbacks`
        let leaf = self.leaf(global);
        let list = self.code();
        list.advance(leaf.gp_seq);
        list.accelerate(s);
        self.hurried_needs_gp(global) && global.request(leaf.id, host)
    }

    /// rcuog has to wait for the earliest stamp of this list.
    fn has_rcuog_wait(&self, pass: &mut Pass, host: &impl Host) {
        let gp = self.code_ref().next_gp().expect("it has just been stamped");
        pass.wait = Some(
            pass.wait
                .map_or(gp, |known| if gp.lt(known) { gp } else { known }),
        );
        trace(self.id, NocbEvent::NeedWaitGp, host);
    }

    fn wake_rcuop(&mut self) -> Option<CpuId> {
        core::mem::take(&mut self.offload.cb_sleep).then_some(self.id)
    }
}

impl Global {
    /// The leaf of a CPU, and its number.
    fn leaf_of(&self, cpu: CpuId) -> (LeafId, Seq) {
        let tree = self.tree.as_ref();
        let place = tree.and_then(|tree| Some((tree, tree.place_of(cpu)?.0)));
        place.map_or((0, self.gp_seq), |(tree, leaf)| {
            (leaf, tree.nodes[tree.leaf_node(leaf)].gp_seq)
        })
    }

    /// An offload thread begins, or ends, to wait for a grace period.
    fn trace_wait(&self, leader: CpuId, wanted: Seq, event: FutureEvent, host: &impl Host) {
        if let Some(tree) = &self.tree {
            let node = tree.leaf_node(self.leaf_of(leader).0);
            tree.trace_request(node, wanted, event, host);
        }
    }
}
