//! rcuop: the thread that invokes an offloaded CPU's callbacks; and who does when a CPU changes sides.
//!
//! rcuop is woken by rcuog, lets its CPU pass through a quiescent state (a *momentary* one, before each batch),
//! invokes all that is ready without any limit, and looks whether a grace period has released more.
//!
//! # Changing sides
//! A CPU may be offloaded, or de-offloaded, while a batch of its callbacks is out. No second batch begins before
//! that one has ended ([`Cpu::begin_batch`] gives nothing), and whoever ends it calls
//! [`batch_over`](Cpu::batch_over), which says who goes on. So callbacks are never invoked out of order, nor
//! by two at once.
//!
//! # Why nothing is left ready
//! When a batch ends, either its invoker goes on, or the other side is told, or nothing is ready. Something
//! that becomes ready later is seen by rcuog, whose visit wakes an rcuop that sleeps, or by the CPU's tick.

use super::wake::trace;
use super::{Policy, Todo};
use crate::common::cpu::Cpu;
use crate::common::event::NocbEvent;
use crate::common::global::Global;
use crate::common::host::Host;
use crate::common::limits::Context;

/// What comes after a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "what is ready stays where it is unless somebody goes on"]
pub struct AfterBatch {
    /// Another one, by the same invoker. An rcuop without one sleeps.
    pub again: bool,
    /// Who has to be woken.
    pub todo: Todo,
}

impl Cpu {
    /// A batch has ended in `context`, or there was none. For hosts that offload; the others need only
    /// what [`end_batch`](Cpu::end_batch) says.
    pub fn batch_over(
        &mut self,
        context: Context,
        global: &mut Global,
        host: &impl Host,
    ) -> AfterBatch {
        match (context, self.offloaded) {
            (Context::Rcuop, true) => self.rcuop_over(global, host),
            (Context::Rcuop, false) => self.rcuop_parks(host),
            (_, false) => AfterBatch {
                again: self.may_invoke(),
                todo: Todo::default(),
            },
            (_, true) => AfterBatch {
                again: false,
                todo: self.hand_to_rcuop(),
            },
        }
    }

    fn may_invoke(&self) -> bool {
        let list = self.code_ref();
        list.ready() != 0 && list.out() == 0
    }

    /// Behaviour §7.6.
    fn rcuop_over(&mut self, global: &mut Global, host: &impl Host) -> AfterBatch {
        let leaf = self.leaf(global);
        let released = self
            .code_ref()
            .next_gp()
            .is_some_and(|gp| leaf.gp_seq.ge(gp));
        let mut todo = Todo::default();
        if released {
            todo.gp = match global.config.offload.policy {
                Policy::Kernel612 => self.advance_cbs(leaf.id, global, host),
                Policy::Quiescent => self.serve_hurried(global, host),
            };
        }
        let again = self.may_invoke();
        if !again {
            self.rcuop_sleeps(host);
        }
        AfterBatch { again, todo }
    }

    fn rcuop_sleeps(&mut self, host: &impl Host) {
        self.offload.cb_sleep = true;
        trace(self.id, NocbEvent::CbSleep, host);
    }

    /// The CPU was de-offloaded: it goes on itself.
    fn rcuop_parks(&mut self, host: &impl Host) -> AfterBatch {
        self.rcuop_sleeps(host);
        AfterBatch {
            again: false,
            todo: Todo {
                core: self.may_invoke().then_some(self.id),
                ..Todo::default()
            },
        }
    }

    /// The CPU was offloaded: its rcuop goes on.
    fn hand_to_rcuop(&mut self) -> Todo {
        let wakes = self.may_invoke() && core::mem::take(&mut self.offload.cb_sleep);
        Todo {
            rcuop: wakes.then_some(self.id),
            ..Todo::default()
        }
    }

    /// rcuop was woken. Before the batch it lets its CPU pass through a momentary extended quiescent state.
    /// False if there is nothing to invoke: [`batch_over`](Cpu::batch_over) comes next all the same, or nobody knows that it
    /// sleeps.
    pub fn rcuop_woke(&self, host: &impl Host) -> bool {
        let some = self.may_invoke();
        if !some {
            trace(self.id, NocbEvent::WokeEmpty, host);
        }
        some
    }
}
