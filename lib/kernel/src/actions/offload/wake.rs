//! Wake-ups of rcuog: now, later, or not at all.
//!
//! A caller that queues with interrupts disabled cannot wake a thread. It leaves a *level* with the group,
//! and sets a timer as a fallback:
//!
//! | level | timer | acted on by |
//! |---|---|---|
//! | `Bypass` | 2 ticks | the timer |
//! | `Lazy` | the flush time | the timer |
//! | `Wake` | 1 tick | the timer, the next tick, soft interrupt, idle or user entry ([`Group::deliver`]) |
//! | `Force` | 1 tick | the same; wakes rcuog although it is marked as awake |
//!
//! # Reproduced oddity
//! Under [`Policy::Kernel612`] a second list that becomes lazy while the level is `Lazy` already sets the
//! timer to one tick: rcuog is woken, finds nothing due, and starts the whole flush time again. The older
//! list may wait nearly twice as long. [`Policy::Quiescent`] has no level `Lazy`: the group keeps the
//! earliest deadline beside the levels, and only a flush moves it.
//!
//! # No lost wake-up
//! rcuog sets `sleep` before it visits the first member, and the waker clears it. A callback that is queued
//! in between finds it set and clears it, and rcuog notices that before it rests. A wake-up clears level and
//! timer; that is safe because the following pass does their work.

use super::{Group, Offload, Policy, Timer, Todo};
use crate::periods::cpu::Cpu;
use crate::periods::event::{Event, NocbEvent};
use crate::periods::global::Global;
use crate::periods::host::{CpuId, Host};

/// The urgency of a deferred wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WakeLevel {
    /// None is deferred.
    Not,
    /// A bypass needs a visit.
    Bypass,
    /// A lazy list needs a visit.
    Lazy,
    /// rcuog has to be woken.
    Wake,
    /// rcuog has to be woken in each case.
    Force,
}

impl Group {
    /// Defers a wake-up.
    pub(super) fn defer(&mut self, level: WakeLevel, tick: u64, lazy_flush: u64) -> Timer {
        match level {
            WakeLevel::Lazy if self.level == WakeLevel::Not => {
                self.defer_at = Some(tick.saturating_add(lazy_flush));
                self.level = level;
            }
            WakeLevel::Bypass => {
                self.defer_at = Some(tick.saturating_add(2));
                self.level = level;
            }
            _ => {
                if self.level < WakeLevel::Wake {
                    self.defer_at = Some(tick.saturating_add(1));
                }
                self.level = self.level.max(level);
            }
        }
        self.retime()
    }

    /// A member's lazy callbacks are due then. The earliest such time counts.
    pub(super) fn lazy_until(&mut self, deadline: u64) {
        let at = self.lazy_at.map_or(deadline, |known| known.min(deadline));
        self.lazy_at = Some(at);
    }

    /// Sets the timer to the earliest of the times.
    pub(super) fn retime(&mut self) -> Timer {
        let at = match (self.defer_at, self.lazy_at) {
            (Some(defer), Some(lazy)) => Some(defer.min(lazy)),
            (one, other) => one.or(other),
        };
        let changed = self.timer != at;
        self.timer = at;
        match (changed, at) {
            (false, _) => Timer::Keep,
            (true, Some(at)) => Timer::Set(at),
            (true, None) => Timer::Stop,
        }
    }

    /// Cancels the deferred wake-ups.
    pub(super) fn cancel(&mut self) -> Timer {
        self.level = WakeLevel::Not;
        self.defer_at = None;
        self.retime()
    }

    /// Wakes rcuog, on behalf of `cpu`, if it sleeps; with `Force` in each case.
    pub(super) fn wake(&mut self, cpu: CpuId, force: bool, host: &impl Host) -> Todo {
        let timer = self.cancel();
        let wakes = self.sleep || force;
        self.sleep = false;
        let event = if wakes {
            NocbEvent::DoWake
        } else {
            NocbEvent::AlreadyAwake
        };
        trace(cpu, event, host);
        Todo {
            rcuog: wakes.then_some(self.id),
            timer,
            ..Todo::default()
        }
    }

    /// Is a wake-up deferred that the next tick has to deliver
    /// ([`At::deferred_wake`](crate::tick::At::deferred_wake))?
    pub fn is_wake_due(&self) -> bool {
        self.level >= WakeLevel::Wake
    }

    /// The level.
    pub fn level(&self) -> WakeLevel {
        self.level
    }

    /// The time to which the timer is set.
    pub fn timer(&self) -> Option<u64> {
        self.timer
    }

    /// `cpu`, of this group, is in its tick's soft interrupt, or about to enter idle or user space, or dies:
    /// delivers a deferred wake-up.
    pub fn deliver(&mut self, cpu: CpuId, host: &impl Host) -> Todo {
        if !self.is_wake_due() {
            return Todo::default();
        }
        self.deliver_any(cpu, host)
    }

    /// The timer has fired in this tick. A timer that was set again in between does nothing.
    pub fn timer_fired(&mut self, tick: u64, host: &impl Host) -> Todo {
        if self.timer.is_none_or(|at| tick < at) {
            return Todo::default();
        }
        self.timer = None;
        if self.lazy_at.is_some_and(|at| at <= tick) {
            self.lazy_at = None;
            self.lazy_due = true;
        }
        trace(self.leader, NocbEvent::Timer, host);
        self.deliver_any(self.leader, host)
    }

    fn deliver_any(&mut self, cpu: CpuId, host: &impl Host) -> Todo {
        let force = self.level == WakeLevel::Force;
        let todo = self.wake(cpu, force, host);
        trace(cpu, NocbEvent::DeferredWake, host);
        todo
    }
}

/// The state of the queueing CPU.
#[derive(Clone, Copy)]
pub(super) struct Standing {
    pub tick: u64,
    pub can_wake: bool,
    /// No hurried callback was pending before.
    pub was_alldone: bool,
}

impl Cpu {
    /// The thread to wake for a queued callback.
    pub(super) fn decide_wake(
        &mut self,
        at: Standing,
        group: &mut Group,
        global: &Global,
        host: &impl Host,
    ) -> Todo {
        let (offload, limits) = (global.config.offload, global.config.limits);
        if offload.poll {
            trace(self.id, NocbEvent::WakeNotPoll, host);
            return Todo::default();
        }
        let n_cbs = self.owed();
        if at.was_alldone {
            self.batch.looked(n_cbs);
            return self.wake_or_defer(at, &offload, group, host);
        }
        if self.batch.is_flood(&limits, n_cbs) {
            self.batch.looked(n_cbs);
            self.advance_once(at.tick, global);
            let list = self.code_ref();
            let idle = self.offload.cb_sleep || list.ready() == 0;
            let forces = offload.policy == Policy::Kernel612 && offload.overload_wake;
            if forces && idle && group.timer.is_none() {
                let timer = group.defer(WakeLevel::Force, at.tick, offload.lazy_flush);
                trace(self.id, NocbEvent::WakeOvfIsDeferred, host);
                return Todo {
                    timer,
                    ..Todo::default()
                };
            }
        }
        trace(self.id, NocbEvent::WakeNot, host);
        Todo::default()
    }

    fn wake_or_defer(
        &self,
        at: Standing,
        offload: &Offload,
        group: &mut Group,
        host: &impl Host,
    ) -> Todo {
        let (level, event) = if self.offload.all_lazy() {
            (WakeLevel::Lazy, NocbEvent::WakeLazy)
        } else if at.can_wake {
            let todo = group.wake(self.id, false, host);
            trace(self.id, NocbEvent::WakeEmpty, host);
            return todo;
        } else {
            (WakeLevel::Wake, NocbEvent::WakeEmptyIsDeferred)
        };
        let timer = group.defer(level, at.tick, offload.lazy_flush);
        trace(self.id, event, host);
        Todo {
            timer,
            ..Todo::default()
        }
    }

    /// Moves callbacks whose grace period has ended, at most once a tick. Wakes no thread: rcuog waits for
    /// the same end, or has seen it.
    pub(super) fn advance_once(&mut self, tick: u64, global: &Global) {
        let reached = self.leaf(global).gp_seq;
        let released = self.code_ref().next_gp().is_some_and(|gp| reached.ge(gp));
        if released && self.offload.advanced_at != Some(tick) {
            self.offload.advanced_at = Some(tick);
            self.code().advance(reached);
        }
    }
}

pub(super) fn trace(cpu: CpuId, event: NocbEvent, host: &impl Host) {
    host.trace(&Event::NocbWake { cpu, event });
}
