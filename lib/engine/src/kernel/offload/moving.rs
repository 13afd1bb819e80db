//! The barrier's visit of an offloaded CPU, and what becomes of a CPU's callbacks when it goes.
//!
//! # The barrier
//! Its callback waits for all that is queued, so what is hidden comes first: a flush, then the callback behind
//! it, and rcuog is woken if nothing was pending. The same visit serves a CPU that is offline, from elsewhere.
//!
//! # A CPU that goes
//! It delivers a wake-up that it has put off ([`Group::deliver`]), since no tick of its own will. After that:
//!
//! * **Offloaded**: nothing. Its rcuog and rcuop go on, lazy callbacks keep their time.
//! * **Not**: another CPU [takes over](Cpu::take_over) what it has. The adopting CPU's bypass is flushed first:
//!   what arrives goes to the end of the list, and everything in the bypass is older than the end.
//!
//! Under this project's policy whatever is adopted, and whatever is in front of it, is hurried.

use super::{Flushed, Group, Todo};
use crate::common::barrier::{Barrier, Visit};
use crate::common::cpu::Cpu;
use crate::common::global::Global;
use crate::common::host::Host;
use crate::kernel::callbacks::Adopted;

/// What the barrier's visit came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "the barrier's callback may have to be put into the list"]
pub struct Entrained {
    /// First, so many, all of the bypass, move to the end of the list.
    pub flushed: u64,
    /// Then the barrier's callback goes there, if it is [noted](Visit::Noted).
    pub visit: Visit,
    /// Who has to be woken.
    pub todo: Todo,
}

/// What taking over another CPU's callbacks came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "the callbacks have to be moved as well"]
pub struct TakenOver {
    /// First, so many, all of the own bypass, move to the end of the own list.
    pub flushed: u64,
    /// Then this.
    pub adopted: Adopted,
    /// Who has to be woken, besides the grace-period thread.
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

    /// Takes over the callbacks of `gone`, which is offline, if it looked after them itself: see
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
