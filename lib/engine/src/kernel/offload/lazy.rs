//! Laziness: which callbacks may be lazy, and what ends it.
//!
//! A callback is lazy if whoever queues it allows that, laziness is switched on, and nobody hurries the whole
//! machine: the *hurry nesting* starts at 1 and is dropped when the machine has booted; it is raised around
//! suspend. It decides about callbacks to come, never about those that are queued.
//!
//! What ends it for callbacks that are queued (behaviour §8), besides what is queued after them
//! ([`enqueue`](super::enqueue)) and the flush time ([`pass`](super::pass)): the barrier, hotplug, de-offloading and, when
//! memory runs low, the shrinker. All of them flush; none frees anything by itself.
//!
//! # Lazy ones under this project's policy
//! The youngest `lazy` callbacks of the list. Those in front of them are *hurried*: somebody waits. So three
//! questions are answered by counting from the end: is something pending that somebody waits for, is
//! something ready that somebody waits for, and has the grace period been asked for that it needs?

use super::{Group, Policy, Todo};
use crate::common::cblist::Segment;
use crate::common::cpu::Cpu;
use crate::common::global::Global;
use crate::common::host::Host;

/// What a flush came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[must_use = "somebody may have to be woken"]
pub struct Flushed {
    /// So many, all of the bypass, move to the end of the list.
    pub flushed: u64,
    /// So many of them were lazy.
    pub lazy: u64,
    /// Who has to be woken.
    pub todo: Todo,
}

impl Global {
    /// `rcu_async_hurry`: callbacks queued from now on are not lazy, until as many
    /// [`async_relax`](Global::async_relax) have been called.
    pub fn async_hurry(&mut self) {
        self.hurry += 1;
    }

    /// `rcu_async_relax`. The first one comes when the machine has booted.
    ///
    /// # Panics
    /// If nobody hurries.
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
    /// Flushes whatever is hidden. rcuog is woken if nothing was pending before; `wakes` in any case.
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

    /// The lazy ones are at most those that are queued: others may have been invoked, in passing.
    pub(crate) fn clamp_lazy(&mut self) {
        let list = self.code_ref();
        let queued = list.end().wrapping_sub(list.head());
        self.offload.lazy = self.offload.lazy.min(queued);
    }

    /// Does something wait for a grace period on somebody's account?
    pub(super) fn hurried_pending(&self) -> bool {
        let list = self.code_ref();
        list.end().wrapping_sub(list.done_end()) > self.offload.lazy
    }

    /// Is something ready that somebody waits for?
    pub(super) fn hurried_ready(&self) -> bool {
        let list = self.code_ref();
        list.ready() != 0 && list.end().wrapping_sub(list.head()) > self.offload.lazy
    }

    /// Does something that somebody waits for need a grace period that has not begun?
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

/// What the shrinker may count on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shrinkable {
    /// `SHRINK_EMPTY`.
    Empty,
    /// So many lazy callbacks; 0 if somebody is toggling, and nothing can be told.
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

/// A scan of the shrinker: memory runs low.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shrink {
    left: u64,
    flushed: u64,
}

impl Shrink {
    /// So many are to be flushed, or a few more.
    pub const fn new(to_scan: u64) -> Shrink {
        Shrink {
            left: to_scan,
            flushed: 0,
        }
    }

    /// Is there more to do? The host visits CPUs in order while there is.
    pub const fn goes_on(&self) -> bool {
        self.left > 0
    }

    /// What the scan came to; `None` is `SHRINK_STOP`.
    pub const fn result(&self) -> Option<u64> {
        if self.flushed == 0 {
            None
        } else {
            Some(self.flushed)
        }
    }

    /// A CPU's lazy callbacks are flushed, if it has any.
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
