//! The policy for callbacks.
//!
//! `call_rcu` appends and returns. Everything else happens in a *pass* of the CPU: at its tick, in the soft
//! interrupt that the tick raises, when it reports a quiescent state, and when it notices that a grace period
//! ended or began. A pass *stamps* queued callbacks (requests the grace period that they need), *moves*
//! callbacks whose grace period has ended, and *invokes* a batch of them.
//!
//! # Correctness of a stamp
//! `s = snap(gp_seq)` of the **global** number, taken after all callbacks that it covers were queued. Between
//! grace periods it is the end of the next one, which has not started; otherwise, of the one after the
//! current. The leaf's number would be wrong: it may lag behind a grace period that has started, and stand
//! for that one.
//!
//! # The snap before the number used for advancing
//! Advancing empties slots, stamping fills one. If a grace period ended between reading the number for
//! `advance` and taking the snap, the snap could be a grace period later than both stamps in the list, and
//! `accelerate` would find no slot, although `advance` has just run: `NEXT` would stay unstamped, without a
//! requested grace period. In the other order the number is at least as new as the snap, so it reaches the
//! stamp that blocks a slot. Under one lock, as here, no edge fits in between; a host that reads them
//! separately needs the order (SRCU had this bug until 2023).
//!
//! # No forgotten callback
//! A callback in `NEXT` causes a pass of the CPU: by an edge of a grace period that the CPU has not noticed,
//! or, between grace periods, by `NEXT` itself ([`Cpu::core_pending`]). A pass that finds no slot finds two
//! requested stamps; the end of the first is an edge.
//!
//! Every call is O(1), plus the funnel's O(levels) where a grace period is requested.

use core::ops::Range;

use crate::actions::flood::trace_segments;
use crate::actions::report;
use crate::periods::cpu::Cpu;
use crate::periods::event::{Event, GpEvent, SegcbEvent, UtilizationEvent};
use crate::periods::global::Global;
use crate::periods::host::{Host, LeafId, Pos};
use crate::periods::limits::{Batch, Context};
use quiescent_engine::barrier::{Barrier, Visit};
use quiescent_engine::cblist::{CbList, Merged, Segment};
use quiescent_engine::seq::Seq;

/// The result of queueing a callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "without the wake-up the request for a grace period is lost"]
pub struct Called {
    /// The callback's position in the FIFO.
    pub pos: Pos,
    /// So many are owed that the leaf's overload bit is set.
    pub overloaded: bool,
    /// Wake the grace-period thread.
    pub wake_gp: bool,
}

/// The grace-period edges that a CPU noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[must_use = "without the wake-up the request for a grace period is lost"]
pub struct Noticed {
    /// A grace period has ended.
    pub ended: bool,
    /// A grace period has begun: [`Cpu::qs`] shows whether this CPU owes it a quiescent state.
    pub began: bool,
    /// This CPU reported a quiescent state.
    pub reported: bool,
    /// The tick forced on this CPU is no longer needed.
    pub stop_tick: bool,
    /// Wake the grace-period thread.
    pub wake_gp: bool,
}

/// The result of taking over another CPU's callbacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "the callbacks have to be moved as well"]
pub struct Adopted {
    /// First append the barrier's callback to the source's FIFO: it moves with the others.
    pub entrained: bool,
    /// The callbacks to move.
    pub merged: Merged,
    /// The leaf's overload bit for the CPU that has them now.
    pub overloaded: bool,
    /// Wake the grace-period thread.
    pub wake_gp: bool,
}

/// A leaf's view of grace periods, and its number.
#[derive(Clone, Copy)]
pub(crate) struct Leaf {
    pub id: LeafId,
    pub gp_seq: Seq,
    pub needed: Seq,
    /// The reading CPU owes that grace period a quiescent state.
    pub owes: bool,
}

impl Cpu {
    /// `call_rcu`: queues one callback with this number of bytes. Starts no grace period and wakes no thread,
    /// unless callbacks flood.
    pub fn call(&mut self, global: &mut Global, bytes: u64, ns: u64, host: &impl Host) -> Called {
        let limits = global.config.limits;
        let overloaded = self.mark_overload(global);
        let list = self.cbs();
        let pos = list.end();
        list.enqueue_to(pos.wrapping_add(1), bytes, ns);
        trace_segments(list, SegcbEvent::Queued, host);
        let n_cbs = list.len();
        let flood = !self.offloaded && self.batch.is_flood(&limits, n_cbs);
        Called {
            pos,
            overloaded,
            wake_gp: flood && self.flooded(global, n_cbs, host),
        }
    }

    /// The trigger of a flood.
    fn flooded(&mut self, global: &mut Global, n_cbs: u64, host: &impl Host) -> bool {
        let noticed = self.note_gp_changes(global, host);
        if global.gp_seq.state() == 0 {
            return noticed.wake_gp | self.stamp_unlocked(global, host);
        }
        let list = self.cbs();
        let only_pending = list.end().wrapping_sub(list.done_end()) == 1;
        let scans = global.counts.scans;
        let force = self.batch.flood(n_cbs, scans, only_pending);
        let newly = force && !global.force;
        global.force |= force;
        noticed.wake_gp | newly
    }

    /// Notices edges of grace periods since the last call. If one ended, callbacks move; otherwise new ones
    /// are stamped.
    pub fn note_gp_changes(&mut self, global: &mut Global, host: &impl Host) -> Noticed {
        let leaf = self.leaf(global);
        if self.gp_seq == leaf.gp_seq && !self.gpwrap {
            return Noticed::default();
        }
        let ended = self.gp_seq.completed_gp(leaf.gp_seq) || self.gpwrap;
        let began = self.gp_seq.new_gp(leaf.gp_seq) || self.gpwrap;
        let wake_gp = if ended {
            let wake = !self.offloaded && self.advance_cbs(leaf.id, global, host);
            self.qs.needed = false;
            trace(leaf.gp_seq, GpEvent::Cpuend, host);
            wake
        } else {
            !self.offloaded && self.accelerate_cbs(leaf.id, global, host)
        };
        if began {
            self.qs.began(leaf.owes);
            trace(leaf.gp_seq, GpEvent::Cpustart, host);
        }
        self.gp_seq = leaf.gp_seq;
        if self.gp_seq_needed.lt(leaf.needed) || self.gpwrap {
            self.gp_seq_needed = leaf.needed;
        }
        self.gpwrap = false;
        Noticed {
            ended,
            began,
            wake_gp,
            ..Noticed::default()
        }
    }

    /// Stamps queued callbacks and requests the grace period that they need; true if the grace-period thread
    /// has to be woken. Also called before this CPU reports a quiescent state: the grace period in progress
    /// cannot end before, so the next one covers everything queued here.
    pub fn stamp(&mut self, global: &mut Global, host: &impl Host) -> bool {
        let leaf = self.leaf(global).id;
        self.accelerate_cbs(leaf, global, host)
    }

    /// The same without the leaf's lock, where the grace period is known to be requested: stamps, and does
    /// not change the tree.
    pub fn stamp_unlocked(&mut self, global: &mut Global, host: &impl Host) -> bool {
        let s = global.gp_seq.snap();
        if !self.gpwrap && self.gp_seq_needed.ge(s) {
            let _ = self.cbs().accelerate(s);
            return false;
        }
        self.stamp(global, host)
    }

    /// Must the tick raise the soft interrupt for callbacks?
    pub fn core_pending(&self, global: &Global) -> bool {
        self.callbacks_pending(global).is_some()
    }

    /// `rcu_core`: notices edges, reports the noted quiescent state, and requests a grace period if none is
    /// in progress and a callback has no stamp. A [batch](Cpu::begin_batch) follows if
    /// [`invokes`](Cpu::invokes), and [`core_done`](Cpu::core_done). A preemptible kernel first reports a
    /// quiescent state that an unlock had deferred.
    pub fn core(&mut self, global: &mut Global, host: &impl Host) -> Noticed {
        report::trace(UtilizationEvent::StartCore, host);
        let mut noticed = self.note_gp_changes(global, host);
        let reported = self.check_qs(global, host);
        noticed.wake_gp |= reported.wake_gp;
        noticed.reported = reported.counted;
        noticed.stop_tick = reported.stop_tick;
        let idle = global.gp_seq.state() == 0;
        if idle && !self.offloaded && self.cbs().unstamped() > 0 {
            noticed.wake_gp |= self.stamp_unlocked(global, host);
        }
        noticed
    }

    /// Does this CPU's soft interrupt invoke callbacks now?
    pub fn invokes(&self) -> bool {
        !self.offloaded && self.list.ready() > 0
    }

    /// Extracts all ready callbacks for a batch. `None` if there is none, or if a batch is out: that of the
    /// invoker before the CPU was offloaded or de-offloaded.
    pub fn begin_batch(
        &mut self,
        global: &Global,
        context: Context,
    ) -> Option<(Range<Pos>, Batch)> {
        let n_cbs = self.owed();
        let list = &mut self.list;
        let ready = list.ready();
        if ready == 0 || list.out() != 0 {
            return None;
        }
        let range = list.extract_done(u64::MAX);
        if global.config.offload.policy == crate::actions::offload::Policy::Quiescent {
            self.clamp_lazy();
        }
        let limits = &global.config.limits;
        let batch = self.batch.begin(limits, ready, n_cbs, context);
        Some((range, batch))
    }

    /// The batch of these callbacks has stopped after `invoked` of them; the others go back to the front.
    /// True if more are ready: the soft interrupt has to be raised again.
    pub fn end_batch(&mut self, global: &Global, batch: Range<Pos>, invoked: u64) -> bool {
        let list = &mut self.list;
        let stopped = batch.start.wrapping_add(invoked);
        list.put_back(stopped..batch.end);
        list.ran(batch.start..stopped);
        let more = list.ready() > 0;
        let n_cbs = self.owed();
        self.batch
            .end(&global.config.limits, n_cbs, global.counts.scans);
        more
    }

    /// Does this CPU, about to idle, have callbacks to serve? Extracted ones do not count. Its needs for
    /// them: [`idle_needs`](Cpu::idle_needs).
    pub fn needs_cpu(&self) -> bool {
        let list = &self.list;
        !self.offloaded && list.head() != list.end()
    }

    /// Takes over the callbacks of `gone`, which is offline. Extracted ones stay with `gone`.
    ///
    /// The barrier's callback comes first; otherwise a barrier that has visited this CPU already would miss
    /// the arriving ones. Both lists are advanced and stamped before they are merged, because the merge drops
    /// stamps: ready callbacks run without another grace period.
    pub fn adopt(
        &mut self,
        gone: &mut Cpu,
        barrier: &mut Barrier,
        global: &mut Global,
        host: &impl Host,
    ) -> Adopted {
        let entrained = gone.entrain_barrier(barrier) == Visit::Noted;
        let leaf = self.leaf(global).id;
        let mut wake_gp = gone.advance_cbs(leaf, global, host);
        wake_gp |= self.advance_cbs(leaf, global, host);
        let merged = self.cbs().merge(gone.cbs());
        wake_gp |= self.advance_cbs(leaf, global, host);
        let out = gone.cbs().len();
        self.idle.adopt(&mut gone.idle, out);
        Adopted {
            entrained,
            merged,
            overloaded: self.mark_overload(global),
            wake_gp,
        }
    }

    /// A scan has credited this CPU with a quiescent state: a CPU that lags too far behind must not compare
    /// numbers at its next pass.
    pub fn credited(&mut self, global: &Global) {
        self.gpwrap |= self.gp_seq.lags_quarter(self.leaf(global).gp_seq);
    }

    /// `rcu_advance_cbs`: moves callbacks that the leaf's number has reached, then stamps the rest.
    pub(crate) fn advance_cbs(
        &mut self,
        leaf: LeafId,
        global: &mut Global,
        host: &impl Host,
    ) -> bool {
        let s = global.gp_seq.snap(); // before the other number is read: see the module's comment
        let reached = global.leaf(leaf).gp_seq;
        self.cbs().advance(reached);
        self.accelerate_to(s, leaf, global, host)
    }

    /// `rcu_accelerate_cbs`.
    fn accelerate_cbs(&mut self, leaf: LeafId, global: &mut Global, host: &impl Host) -> bool {
        let s = global.gp_seq.snap();
        self.accelerate_to(s, leaf, global, host)
    }

    fn accelerate_to(
        &mut self,
        s: Seq,
        leaf: LeafId,
        global: &mut Global,
        host: &impl Host,
    ) -> bool {
        let only_new = global.config.accelerate_only_new;
        let list = self.cbs();
        if !list.pending() {
            return false;
        }
        trace_segments(list, SegcbEvent::PreAcc, host);
        let full = list
            .segment(Segment::NextReady)
            .1
            .is_some_and(|stamp| stamp.lt(s));
        let ask = list.accelerate(s) || !(only_new || full);
        trace_segments(list, SegcbEvent::PostAcc, host);
        // Callbacks without a slot are behind two stamps.
        let second = list.last_gp() != list.next_gp();
        let wake = ask && global.request(leaf, host);
        if ask {
            let needed = global.leaf(leaf).needed;
            if s.lt(needed) {
                self.gp_seq_needed = needed;
            }
        }
        let event = if second {
            GpEvent::AccReadyCb
        } else {
            GpEvent::AccWaitCb
        };
        trace(s, event, host);
        wake
    }

    pub(crate) fn leaf(&self, global: &Global) -> Leaf {
        let place = global.tree().and_then(|tree| tree.place_of(self.id));
        Leaf {
            owes: global.owes(self.id),
            ..global.leaf(place.map_or(0, |(leaf, _)| leaf))
        }
    }

    fn cbs(&mut self) -> &mut CbList {
        &mut self.list
    }
}

impl Global {
    /// A leaf's numbers; with no tree yet, the global one.
    fn leaf(&self, id: LeafId) -> Leaf {
        let Some(tree) = &self.tree else {
            return Leaf {
                id,
                gp_seq: self.gp_seq,
                needed: self.gp_seq,
                owes: false,
            };
        };
        let node = tree.nodes[tree.leaf_node(id)];
        Leaf {
            id,
            gp_seq: node.gp_seq,
            needed: node.gp_seq_needed,
            owes: false,
        }
    }
}

fn trace(gp_seq: Seq, event: GpEvent, host: &impl Host) {
    host.trace(&Event::GracePeriod { gp_seq, event });
}

#[cfg(test)]
mod tests;
