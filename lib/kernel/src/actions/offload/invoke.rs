//! rcuop: the thread that invokes an offloaded CPU's callbacks; and the invoker when a CPU is toggled.
//!
//! rcuog wakes rcuop. rcuop lets its CPU pass through a quiescent state (a *momentary* one, before each
//! batch), invokes all ready callbacks without a limit, and checks whether more have become ready.
//!
//! # Toggling
//! A CPU may be offloaded, or de-offloaded, while a batch of its callbacks is out. No second batch begins
//! before that one has ended ([`Cpu::begin_batch`] returns nothing). The thread that ends it calls
//! [`batch_over`](Cpu::batch_over), which returns the next invoker. So callbacks are never invoked out of
//! order, nor by two threads at once.
//!
//! # No forgotten callback
//! When a batch ends, either its invoker continues, or the other side is notified, or no callback is ready.
//! rcuog's visit wakes a sleeping rcuop for callbacks that become ready later; otherwise the CPU's tick finds
//! them.

use super::wake::trace;
use super::{Policy, Todo};
use crate::periods::cpu::Cpu;
use crate::periods::event::NocbEvent;
use crate::periods::global::Global;
use crate::periods::host::Host;
use crate::periods::limits::Context;

/// The action after a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "ready callbacks are not invoked unless a thread continues"]
pub struct AfterBatch {
    /// Another batch, by the same invoker. An rcuop without one sleeps.
    pub again: bool,
    /// The threads to wake.
    pub todo: Todo,
}

impl Cpu {
    /// A batch has ended in `context`, or there was none. For hosts that offload; others need only
    /// [`end_batch`](Cpu::end_batch).
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

    /// The end of a batch of rcuop.
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

    /// The CPU was de-offloaded: it continues the batches itself.
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

    /// The CPU was offloaded: its rcuop continues.
    fn hand_to_rcuop(&mut self) -> Todo {
        let wakes = self.may_invoke() && core::mem::take(&mut self.offload.cb_sleep);
        Todo {
            rcuop: wakes.then_some(self.id),
            ..Todo::default()
        }
    }

    /// rcuop was woken. Before the batch it lets its CPU pass through a momentary extended quiescent state.
    /// False if no callback is ready: [`batch_over`](Cpu::batch_over) follows in each case; otherwise the
    /// engine would not know that rcuop sleeps.
    pub fn rcuop_woke(&self, host: &impl Host) -> bool {
        let some = self.may_invoke();
        if !some {
            trace(self.id, NocbEvent::WokeEmpty, host);
        }
        some
    }
}
