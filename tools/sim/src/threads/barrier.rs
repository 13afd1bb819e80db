//! Waiting until everything queued before is gone: one sweep, and a share of each queue.

use quiescent_engine::barrier::Begin;

use super::Threads;
use super::core::{Flow, Frame, On};
use super::sweep::{Choose, Sweep};
use quiescent_engine::Seq;

/// Where a caller of `barrier` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It waits for its turn: when it called, in the barrier's numbers, and what it has to outlive.
    Turn(Seq, u64),
    /// It has visited all queues.
    Visited(u64),
    /// It waits for the shares.
    Shares(u64),
}

/// Barriers of the domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    /// Whose turn it is.
    turn: Option<usize>,
    complete: bool,
}

impl Threads {
    pub(super) fn begin_barrier(&mut self, me: usize) -> Flow {
        if !self.is_inside(me) {
            let stage = Stage::Turn(self.barrier.snap(), self.oracle.until());
            self.push(me, Frame::Barrier(stage));
        }
        Flow::Go
    }

    pub(super) fn barrier(&mut self, me: usize, stage: Stage) -> Flow {
        match stage {
            Stage::Turn(snap, until) => {
                if self.barriers.turn.is_some() {
                    self.push(me, Frame::Barrier(stage));
                    return self.sleep(me, On::Barrier, None);
                }
                if self.barrier.start(snap) == Begin::Covered {
                    self.oracle.drained(until);
                    return Flow::Go;
                }
                self.barriers.turn = Some(me);
                self.barriers.complete = false;
                self.push(me, Frame::Barrier(Stage::Visited(until)));
                self.push(me, Frame::Sweep(Sweep::new(Choose::Barrier)));
                Flow::Go
            }
            Stage::Visited(until) => {
                self.barriers.complete |= self.barrier.visited_all();
                if !self.barriers.complete {
                    self.kick_worker();
                }
                self.push(me, Frame::Barrier(Stage::Shares(until)));
                Flow::Go
            }
            Stage::Shares(until) => {
                if !self.barriers.complete {
                    self.push(me, Frame::Barrier(stage));
                    return self.sleep(me, On::Barrier, None);
                }
                self.barrier.end();
                self.counted.barriers += 1;
                self.barriers.turn = None;
                self.oracle.drained(until);
                self.wake_all(On::Barrier);
                Flow::Go
            }
        }
    }

    /// A share is done; the last one wakes whoever waits.
    pub(super) fn barrier_share_done(&mut self) {
        if self.barrier.one_done() {
            self.barriers.complete = true;
            self.wake_all(On::Barrier);
        }
    }
}
