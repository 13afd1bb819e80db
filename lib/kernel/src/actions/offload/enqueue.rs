//! `call_rcu` on an offloaded CPU: the list for the callback, and the thread to wake.
//!
//! Linux 6.12, in this order:
//!
//! | | the callback goes | notification |
//! |---|---|---|
//! | the scheduler is not up yet | to the list | [`wake`](super::wake) decides |
//! | not lazy, direct rate below the limit | to the list, the bypass in front of it | `wake` decides |
//! | the bypass is overdue or full | to the list, the bypass in front of it; lazy or not | `wake` decides |
//! | otherwise | to the bypass | `wake`, if it was empty or turns mixed and the list has nothing pending |
//!
//! The last line relies on rcuog: if something is pending, rcuog is awake or waits for a grace period, and
//! reads the bypass after that.
//!
//! This project's policy has two rules: a callback that is not lazy hurries all before it; a lazy one sets
//! the group's timer, and hurries if that has expired, or if there are too many.
//!
//! # Order
//! A callback goes to the list only with the bypass in front of it, in one call.

use super::wake::{Standing, trace};
use super::{Group, Policy, Timer, Todo};
use crate::actions::flood::trace_segments;
use crate::periods::cpu::Cpu;
use crate::periods::event::{NocbEvent, SegcbEvent};
use crate::periods::global::Global;
use crate::periods::host::{Host, Now, Pos};

/// A callback that is being queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// Its size in bytes.
    pub bytes: u64,
    /// It may be lazy: `call_rcu`, and not `call_rcu_hurry`.
    pub lazy: bool,
    /// The time.
    pub now: Now,
    /// Interrupts are enabled, and the CPU is online: threads can be woken here.
    pub can_wake: bool,
    /// The scheduler does not run yet.
    pub early: bool,
}

/// The destination of a callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// To the end of the list.
    List,
    /// To the end of the bypass.
    Bypass,
}

/// The result of queueing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "the callback has to be put into a queue, and threads may have to be woken"]
pub struct Queued {
    /// Its position.
    pub pos: Pos,
    /// First this number, all of the bypass, move to the end of the list.
    pub flushed: u64,
    /// Then the callback goes to this place.
    pub place: Place,
    /// It counts as lazy at present.
    pub lazy: bool,
    /// So many are owed that the leaf's overload bit is set.
    pub overloaded: bool,
    /// The threads to wake.
    pub todo: Todo,
}

impl Cpu {
    /// `call_rcu`, on this CPU with interrupts disabled, whether it is offloaded or not. O(1), and the funnel
    /// only in a flood of a CPU that is not.
    pub fn call_nocb(
        &mut self,
        call: Call,
        group: &mut Group,
        global: &mut Global,
        host: &impl Host,
    ) -> Queued {
        if !self.offloaded {
            let called = self.call(global, call.bytes, call.now.ns, host);
            return Queued {
                pos: called.pos,
                flushed: 0,
                place: Place::List,
                lazy: false,
                overloaded: called.overloaded,
                todo: Todo {
                    gp: called.wake_gp,
                    ..Todo::default()
                },
            };
        }
        self.must_be_of(group.id);
        let lazy = call.lazy && !call.early && global.may_be_lazy();
        let overloaded = self.mark_overload(global);
        let queued = match global.config.offload.policy {
            Policy::Kernel612 => self.queue_as_6_12(call, lazy, group, global, host),
            Policy::Quiescent => self.queue_once(call, lazy, group, global, host),
        };
        Queued {
            overloaded,
            ..queued
        }
    }

    fn queue_as_6_12(
        &mut self,
        call: Call,
        lazy: bool,
        group: &mut Group,
        global: &Global,
        host: &impl Host,
    ) -> Queued {
        let (offload, qhimark) = (global.config.offload, global.config.limits.qhimark);
        let tick = call.now.jiffies;
        let at = Standing {
            tick,
            can_wake: call.can_wake,
            was_alldone: !self.code_ref().pending(),
        };
        if call.early {
            return self.queue_directly(call, at, group, global, host);
        }
        let rate = self.offload.count_rate(tick, offload.direct_limit);
        if rate < offload.direct_limit && !lazy {
            if at.was_alldone {
                trace(self.id, NocbEvent::FirstQ, host);
            }
            return self.queue_directly(call, at, group, global, host);
        }
        let flushes = self
            .offload
            .queuer_flushes(tick, offload.lazy_flush, qhimark);
        if flushes {
            let queued = self.queue_directly(call, at, group, global, host);
            self.advance_once(tick, global);
            return queued;
        }
        self.hide(call, lazy, at, group, global, host)
    }

    /// Queues into the list, with the bypass in front of it.
    fn queue_directly(
        &mut self,
        call: Call,
        at: Standing,
        group: &mut Group,
        global: &Global,
        host: &impl Host,
    ) -> Queued {
        let flushed = self.flush_bypass(at.tick);
        let pos = self.append(call, host);
        Queued {
            pos,
            flushed,
            place: Place::List,
            lazy: false,
            overloaded: false,
            todo: self.decide_wake(at, group, global, host),
        }
    }

    fn append(&mut self, call: Call, host: &impl Host) -> Pos {
        let list = self.code();
        let pos = list.end();
        list.enqueue_to(pos.wrapping_add(1), call.bytes, call.now.ns);
        trace_segments(list, SegcbEvent::Queued, host);
        pos
    }

    /// Queues into the bypass.
    fn hide(
        &mut self,
        call: Call,
        lazy: bool,
        at: Standing,
        group: &mut Group,
        global: &Global,
        host: &impl Host,
    ) -> Queued {
        let pos = self.code_ref().end().wrapping_add(self.offload.bypass);
        let was_empty = self.offload.bypass == 0;
        let news = was_empty || (self.offload.all_lazy() && !lazy);
        self.offload.hide(call.bytes, lazy, at.tick, call.now.ns);
        if was_empty {
            trace(self.id, NocbEvent::FirstBq, host);
        }
        let todo = match (news, at.was_alldone) {
            (false, _) => Todo::default(),
            (true, false) => {
                trace(self.id, NocbEvent::FirstBqNoWake, host);
                Todo::default()
            }
            (true, true) => {
                trace(self.id, NocbEvent::FirstBqWake, host);
                self.decide_wake(at, group, global, host)
            }
        };
        Queued {
            pos,
            flushed: 0,
            place: Place::Bypass,
            lazy,
            overloaded: false,
            todo,
        }
    }

    /// This project's policy: queues into the list with a stamp; requests the grace period only if it is not
    /// lazy.
    fn queue_once(
        &mut self,
        call: Call,
        lazy: bool,
        group: &mut Group,
        global: &Global,
        host: &impl Host,
    ) -> Queued {
        let offload = global.config.offload;
        let tick = call.now.jiffies;
        let at = Standing {
            tick,
            can_wake: call.can_wake,
            was_alldone: !self.hurried_pending(),
        };
        let s = global.gp_seq.snap(); // before the other number is read: see `callbacks`
        if at.was_alldone {
            // rcuog does not wait for this list: no other thread moves its ready callbacks.
            let reached = self.leaf(global).gp_seq;
            self.code().advance(reached);
            self.clamp_lazy();
        }
        let pos = self.append(call, host);
        self.code().accelerate(s);
        let stays = lazy && self.stays_lazy(tick, offload.lazy_flush, global.config.limits.qhimark);
        let todo = if stays && offload.poll {
            trace(self.id, NocbEvent::WakeNotPoll, host);
            Todo::default()
        } else if stays {
            group.lazy_until(self.offload.first.saturating_add(offload.lazy_flush));
            let timer = group.retime();
            if timer != Timer::Keep {
                trace(self.id, NocbEvent::WakeLazy, host);
            }
            Todo {
                timer,
                ..Todo::default()
            }
        } else {
            self.offload.lazy = 0;
            if at.was_alldone {
                trace(self.id, NocbEvent::FirstQ, host);
            }
            self.decide_wake(at, group, global, host)
        };
        Queued {
            pos,
            flushed: 0,
            place: Place::List,
            lazy: stays,
            overloaded: false,
            todo,
        }
    }

    /// One more lazy callback. False if there are too many, or if the time has come: all of them are hurried.
    fn stays_lazy(&mut self, tick: u64, lazy_flush: u64, qhimark: u64) -> bool {
        let member = &mut self.offload;
        if member.lazy == 0 {
            member.first = tick;
        }
        member.lazy += 1;
        member.lazy <= qhimark && tick < member.first.saturating_add(lazy_flush)
    }
}
