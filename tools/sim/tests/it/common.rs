//! Workloads of one task: things, one after the other.

use quiescent_sim::{Op, Queued, Work};

pub const MS: u64 = 1_000_000;

/// A list of things, one after the other.
pub struct List(std::vec::IntoIter<Op>);

impl List {
    pub fn new(ops: Vec<Op>) -> List {
        List(ops.into_iter())
    }
}

impl Work for List {
    fn next(&mut self, _: u64) -> Op {
        self.0.next().unwrap_or(Op::Exit)
    }
}

/// A callback of function 0.
pub fn call(lazy: bool) -> Op {
    Op::Call(Queued::of(0).lazy(lazy))
}
