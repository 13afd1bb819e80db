//! Laziness: the callbacks that may be lazy, and the events that end it.
//!
//! A callback is lazy if its caller allows that, laziness is switched on, and the machine is not hurried: the
//! *hurry nesting* starts at 1 and is decremented when the machine has booted; it is incremented around
//! suspend. It affects later callbacks, never queued ones.
//!
//! Queued callbacks lose laziness by callbacks queued after them ([`enqueue`](super::enqueue)), by the flush
//! time ([`pass`](super::pass)), by the barrier, hotplug, de-offloading and, when memory is low, the
//! shrinker. Each of these flushes; none frees anything by itself.
//!
//! # Lazy callbacks under this project's policy
//! The lazy ones are the youngest `lazy` callbacks of the list. Those in front of them are *hurried*: they
//! have a waiter. So three questions are answered by counting from the end: is a hurried callback pending, is
//! a hurried callback ready, and has the grace period been requested that it needs?

use super::{Group, Policy, Todo};
use crate::periods::cpu::Cpu;
use crate::periods::global::Global;
use crate::periods::host::Host;
use quiescent_engine::cblist::Segment;

/// The result of a flush.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[must_use = "threads may have to be woken"]
pub struct Flushed {
    /// This number, all of the bypass, move to the end of the list.
    pub flushed: u64,
    /// The number of lazy ones among them.
    pub lazy: u64,
    /// The threads to wake.
    pub todo: Todo,
}

impl Global {
    /// `rcu_async_hurry`: callbacks queued from now on are not lazy, until as many
    /// [`async_relax`](Global::async_relax) have been called.
    pub fn async_hurry(&mut self) {
        self.hurry += 1;
    }

    /// `rcu_async_relax`. The machine calls it first when it has booted.
    ///
    /// # Panics
    /// If the nesting is 0.
    pub fn async_relax(&mut self) {
        assert!(self.hurry > 0, "async_relax without async_hurry");
        self.hurry -= 1;
    }

    /// May callbacks be lazy now?
    pub fn may_be_lazy(&self) -> bool {
        self.config.offload.lazy && self.hurry == 0
    }
}

impl Cpu {
    /// Flushes every hidden callback. rcuog is woken if nothing was pending before; with `wakes` in each
    /// case.
    pub(super) fn hurry_up(
        &mut self,
        wakes: bool,
        tick: u64,
        group: &mut Group,
        global: &Global,
        host: &impl Host,
    ) -> Flushed {
        let lazy = self.offload.lazy;
        let (was_alldone, flushed) = match global.config.offload.policy {
            Policy::Kernel612 => (!self.code_ref().pending(), self.flush_bypass(tick)),
            Policy::Quiescent => (!self.hurried_pending(), 0),
        };
        self.offload.lazy = 0;
        let news = flushed != 0 || lazy != 0;
        let todo = if news && (was_alldone || wakes) {
            group.wake(self.id, false, host)
        } else {
            Todo::default()
        };
        Flushed {
            flushed,
            lazy,
            todo,
        }
    }

    // Of this project's policy.

    /// The number of lazy callbacks is at most that of queued ones: some may have been invoked since.
    pub(crate) fn clamp_lazy(&mut self) {
        let list = self.code_ref();
        let queued = list.end().wrapping_sub(list.head());
        self.offload.lazy = self.offload.lazy.min(queued);
    }

    /// Does a hurried callback wait for a grace period?
    pub(super) fn hurried_pending(&self) -> bool {
        let list = self.code_ref();
        list.end().wrapping_sub(list.done_end()) > self.offload.lazy
    }

    /// Is a hurried callback ready?
    pub(super) fn hurried_ready(&self) -> bool {
        let list = self.code_ref();
        list.ready() != 0 && list.end().wrapping_sub(list.head()) > self.offload.lazy
    }

    /// Does a hurried callback need a grace period that has not begun?
    pub(super) fn hurried_needs_gp(&self, global: &Global) -> bool {
        let list = self.code_ref();
        let pending = list.end().wrapping_sub(list.done_end());
        let mut hurried = pending.saturating_sub(self.offload.lazy);
        for segment in [Segment::Wait, Segment::NextReady] {
            let (count, stamp) = list.segment(segment);
            if hurried != 0 && stamp.is_some_and(|stamp| !global.gp_seq.started(stamp)) {
                return true;
            }
            hurried = hurried.saturating_sub(count);
        }
        false
    }
}

/// The shrinker's count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shrinkable {
    /// `SHRINK_EMPTY`.
    Empty,
    /// The number of lazy callbacks; 0 while a CPU is being toggled, when the number is unknown.
    Lazy(u64),
}

/// The shrinker's count over all CPUs, or nothing if a toggle is under way.
pub fn shrinkable<'a>(cpus: Option<impl IntoIterator<Item = &'a Cpu>>) -> Shrinkable {
    let Some(cpus) = cpus else {
        return Shrinkable::Lazy(0);
    };
    let offloaded = cpus.into_iter().filter(|cpu| cpu.offloaded);
    match offloaded.map(|cpu| cpu.offload.lazy).sum() {
        0 => Shrinkable::Empty,
        lazy => Shrinkable::Lazy(lazy),
    }
}

/// A scan of the shrinker: memory is low.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shrink {
    left: u64,
    flushed: u64,
}

impl Shrink {
    /// This number has to be flushed, or a few more.
    pub const fn new(to_scan: u64) -> Shrink {
        Shrink {
            left: to_scan,
            flushed: 0,
        }
    }

    /// Is more to do? The host visits CPUs in order until it is false.
    pub const fn goes_on(&self) -> bool {
        self.left > 0
    }

    /// The result of the scan; `None` is `SHRINK_STOP`.
    pub const fn result(&self) -> Option<u64> {
        if self.flushed == 0 {
            None
        } else {
            Some(self.flushed)
        }
    }

    /// Flushes a CPU's lazy callbacks, if it has any.
    pub fn visit(
        &mut self,
        cpu: &mut Cpu,
        tick: u64,
        group: &mut Group,
        global: &Global,
        host: &impl Host,
    ) -> Flushed {
        if !self.goes_on() || !cpu.offloaded || cpu.offload.lazy == 0 {
            return Flushed::default();
        }
        let flushed = cpu.hurry_up(true, tick, group, global, host);
        self.left = self.left.saturating_sub(flushed.lazy);
        self.flushed += flushed.lazy;
        flushed
    }
}
