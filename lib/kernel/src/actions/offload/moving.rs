//! The barrier's visit of an offloaded CPU, and the callbacks of a CPU that goes offline.
//!
//! # The barrier
//! Its callback waits for all queued ones, so hidden ones go first: a flush, then the callback behind it;
//! rcuog is woken if nothing was pending. The same visit serves an offline CPU, called on another CPU.
//!
//! # A CPU that goes offline
//! It delivers a deferred wake-up ([`Group::deliver`]), because it has no further tick. After that:
//!
//! * **Offloaded**: no action. Its rcuog and rcuop continue, lazy callbacks keep their time.
//! * **Not offloaded**: another CPU [takes over](Cpu::take_over) its callbacks. The adopting CPU's bypass is
//!   flushed first: adopted callbacks go to the end of the list, and everything in the bypass is older than
//!   the end.
//!
//! Under this project's policy adopted callbacks, and those in front of them, are hurried.

use super::{Flushed, Group, Todo};
use crate::actions::callbacks::Adopted;
use crate::periods::cpu::Cpu;
use crate::periods::global::Global;
use crate::periods::host::Host;
use quiescent_engine::barrier::{Barrier, Visit};

/// The result of the barrier's visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "the barrier's callback may have to be put into the list"]
pub struct Entrained {
    /// First, this number, all of the bypass, move to the end of the list.
    pub flushed: u64,
    /// Then the barrier's callback goes to the list, if it is [noted](Visit::Noted).
    pub visit: Visit,
    /// The threads to wake.
    pub todo: Todo,
}

/// The result of taking over another CPU's callbacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "the callbacks have to be moved as well"]
pub struct TakenOver {
    /// First, this number, all of the own bypass, move to the end of the own list.
    pub flushed: u64,
    /// Then these callbacks.
    pub adopted: Adopted,
    /// The threads to wake, besides the grace-period thread.
    pub todo: Todo,
}

impl Cpu {
    /// The barrier visits this CPU, offloaded or not, online or not.
    pub fn entrain_nocb(
        &mut self,
        tick: u64,
        barrier: &mut Barrier,
        group: &mut Group,
        global: &Global,
        host: &impl Host,
    ) -> Entrained {
        let flushed = if self.offloaded && barrier.would_visit(&self.barrier) {
            self.hurry_up(false, tick, group, global, host)
        } else {
            Flushed::default()
        };
        Entrained {
            flushed: flushed.flushed,
            visit: self.entrain_barrier(barrier),
            todo: flushed.todo,
        }
    }

    /// Takes over the callbacks of `gone`, which is offline, if it served them itself: see
    /// [`adopt`](Cpu::adopt). `group` is this CPU's.
    pub fn take_over(
        &mut self,
        gone: &mut Cpu,
        tick: u64,
        barrier: &mut Barrier,
        group: &mut Group,
        global: &mut Global,
        host: &impl Host,
    ) -> Option<TakenOver> {
        if gone.offloaded {
            return None;
        }
        let own = if self.offloaded {
            self.must_be_of(group.id);
            self.hurry_up(false, tick, group, global, host)
        } else {
            Flushed::default()
        };
        let adopted = self.adopt(gone, barrier, global, host);
        let some = adopted.merged.done != 0 || adopted.merged.pending != 0;
        let todo = if self.offloaded && some {
            own.todo.and(group.wake(self.id, false, host))
        } else {
            own.todo
        };
        Some(TakenOver {
            flushed: own.flushed,
            adopted,
            todo,
        })
    }
}
