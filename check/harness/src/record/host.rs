//! A host that keeps its answers, and a recorded call.

use std::cell::RefCell;

use crate::record::{Answer, Input, Output};
use quiescent_kernel::event::Event;
use quiescent_kernel::host::{CpuId, Host, LeafId, Seen};

/// One recorded call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The call.
    pub input: Input,
    /// The host's answers during the call, in order.
    pub answers: Vec<Answer>,
    /// The result.
    pub output: Output,
}

/// A host that keeps a copy of every answer that it passes on.
#[derive(Debug)]
pub struct Recording<'a, H> {
    host: &'a H,
    answers: RefCell<Vec<Answer>>,
}

impl<'a, H: Host> Recording<'a, H> {
    /// Records the answers of `host`.
    pub fn new(host: &'a H) -> Self {
        Recording {
            host,
            answers: RefCell::new(Vec::new()),
        }
    }

    /// The answers so far.
    pub fn answers(&self) -> Vec<Answer> {
        self.answers.borrow().clone()
    }

    fn keep<T>(&self, value: T, answer: Answer) -> T {
        self.answers.borrow_mut().push(answer);
        value
    }
}

impl<H: Host> Host for Recording<'_, H> {
    const TRACES: bool = H::TRACES;

    fn cpus(&self) -> u32 {
        let value = self.host.cpus();
        self.keep(value, Answer::Cpus(value))
    }

    fn observe(&self, cpu: CpuId) -> Seen {
        let value = self.host.observe(cpu);
        self.keep(value, Answer::Observe(cpu, value))
    }

    fn present(&self, leaf: LeafId) -> u64 {
        let value = self.host.present(leaf);
        self.keep(value, Answer::Present(leaf, value))
    }

    fn own_quiescent(&self, cpu: CpuId) -> bool {
        let value = self.host.own_quiescent(cpu);
        self.keep(value, Answer::OwnQuiescent(cpu, value))
    }

    fn nohz_full(&self, cpu: CpuId) -> bool {
        let value = self.host.nohz_full(cpu);
        self.keep(value, Answer::NohzFull(cpu, value))
    }

    fn owed_callbacks(&self, cpu: CpuId) -> u64 {
        let value = self.host.owed_callbacks(cpu);
        self.keep(value, Answer::OwedCallbacks(cpu, value))
    }

    fn trace(&self, event: &Event) {
        self.host.trace(event);
    }
}
