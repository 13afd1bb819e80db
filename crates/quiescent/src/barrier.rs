//! The barrier: waits until everything queued before it is gone.
//!
//! A snapshot of positions over all lanes of all queues (the engine's
//! [`Barrier`](quiescent_engine::barrier::Barrier)), made by one sweep, with one fence for all of them.
//! Each queue that holds something has a share; whoever runs its callbacks says when the share is done,
//! and the last one wakes the caller. Nothing is queued for a barrier, so a queue that is empty costs a
//! look. A departed thread's queue is like any other; its slot has it.
//!
//! One barrier at a time; a caller that waited for its turn goes home at once if a whole barrier has
//! passed meanwhile.

use quiescent_engine::barrier::Begin;
use quiescent_engine::credit::Cause;

use crate::domain::Domain;
use crate::error::SyncError;
use crate::looks::count;
use crate::queue::Core;
use crate::reader;
use crate::run;
use crate::sync::{self, Ordering, full_fence};

/// Some share is not done.
const OPEN: u32 = 0;
/// All shares are done.
const COMPLETE: u32 = 1;
/// They may never be: the worker cannot go on.
const GIVEN_UP: u32 = 2;

impl Domain {
    /// Waits until everything queued before this call has been freed or run.
    pub(crate) fn barrier(&'static self) -> Result<(), SyncError> {
        if reader::in_section() {
            return Err(SyncError::InsideSection);
        }
        if run::in_callback() {
            return Err(SyncError::InsideCallback);
        }
        full_fence();
        let mut snap = self.lock().barrier.snap();
        let _turn = self.barrier_turn();
        self.finish_barrier()?; // one that failed half-way, if any
        if self.barrier_failed.swap(0, Ordering::Relaxed) != 0 {
            // It covers nobody, those who waited for their turn included.
            snap = self.lock().barrier.snap();
        }
        // Asked before anything is taken from its owners: without a worker they go on by themselves.
        if self.held().0 > 0 && !self.hire() {
            return Err(SyncError::NoWorker);
        }
        match self.lock().start_barrier(snap) {
            Begin::Covered => return Ok(()),
            Begin::Started { .. } => {}
        }
        self.barrier_word.store(OPEN, Ordering::Relaxed);
        full_fence(); // with the one in give_up_barrier: it sees this, or we see why
        let swept = self.sweep(
            |core| (!core.is_idle()).then_some(Cause::Barrier),
            |core| self.visit(core),
        );
        if self.lock().barrier.visited_all() {
            self.barrier_word.store(COMPLETE, Ordering::Relaxed);
        }
        if let Err(error) = swept {
            self.barrier_failed.store(1, Ordering::Relaxed); // under the turn
            self.alarm.kick(); // what was taken has no deadline
            return Err(error);
        }
        self.finish_barrier()
    }

    fn visit(&self, core: &mut Core) {
        self.lock().visit_barrier(&mut core.cpu);
    }

    /// Waits for the shares of the barrier in flight, if there is one, and ends it.
    fn finish_barrier(&'static self) -> Result<(), SyncError> {
        if !self.lock().barrier.in_flight() {
            return Ok(());
        }
        if self.barrier_word.load(Ordering::Acquire) != COMPLETE {
            if !self.hire() {
                return Err(SyncError::NoWorker);
            }
            self.alarm.kick();
        }
        while self.barrier_word.load(Ordering::Acquire) != COMPLETE {
            // [BAR-1]
            if let Some(error) = self.refusal() {
                return Err(error);
            }
            sync::futex_wait(&self.barrier_word, OPEN, None);
        }
        self.lock().barrier.end();
        count(&self.counters.barriers);
        Ok(())
    }

    /// Whoever waits for a barrier looks for the reason why it will not be complete.
    pub(crate) fn give_up_barrier(&self) {
        full_fence();
        let (from, to) = (OPEN, GIVEN_UP);
        let order = (Ordering::Release, Ordering::Relaxed);
        let _ = self
            .barrier_word
            .compare_exchange(from, to, order.0, order.1);
        sync::futex_wake(&self.barrier_word);
    }

    /// A share is done; the last one wakes whoever waits. With no queue's lock held.
    pub(crate) fn barrier_share_done(&self) {
        if self.lock().barrier.one_done() {
            self.barrier_word.store(COMPLETE, Ordering::Release); // [BAR-1]
            sync::futex_wake(&self.barrier_word);
        }
    }
}
