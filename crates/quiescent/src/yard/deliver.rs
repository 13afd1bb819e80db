//! Queueing in a [`Yard`], and waiting for what is queued.
//!
//! There is one queue, and everybody who queues takes its lock: the fast path over lanes of one's own is the domain's. All
//! decisions (when a grace period is asked for, when somebody has to look, what is done) are the engine's, as there.

use std::ops::Range;

use quiescent_engine::barrier::Begin;
use quiescent_engine::cblist::CbList;
use quiescent_engine::cpu::Lane as Which;
use quiescent_engine::credit::{Cause, Refill, Urgency};
use quiescent_engine::{Interest, Pos};

use super::{Yard, care};
use crate::chain::Garbage;
use crate::deliver::Parcel;
use crate::drive::{Drives as _, How};
use crate::driven::Driven as _;
use crate::error::SyncError;
use crate::lane::Entry;
use crate::looks::count;
use crate::queue::{CODE, Core, PLAIN};
use crate::run;
use crate::sweep::Until;
use crate::sync::{self, MAX_EXTRACT, Ordering, full_fence};

/// Some of what the barrier waits for is not done.
const OPEN: u32 = 0;
/// All of it is.
const COMPLETE: u32 = 1;
/// It may never be: the caretaker cannot go on.
const GIVEN_UP: u32 = 2;

impl Yard {
    /// Queues a parcel.
    pub(crate) fn deliver(&'static self, parcel: Parcel, urgency: Urgency) {
        let queue = &self.queue;
        if let Parcel::Entry(lane, ..) = parcel {
            queue.provide(lane);
        }
        let mut garbage = Garbage::new();
        full_fence(); // [SNAP-1]
        let mut core = queue.lock();
        match parcel {
            // SAFETY: the caller's promise, passed on by whoever made the parcel.
            Parcel::Head(head, run) => unsafe { core.heads.push(head, run) },
            Parcel::Entry(lane, entry, bytes) => {
                let was_put;
                (core, was_put) = queue.put_among_others(core, lane, entry, bytes);
                if !was_put {
                    count(&self.counters.leaked);
                }
            }
        }
        let queued = queue.report(&mut core, false);
        let now = sync::coarse_ns();
        let refill = self
            .lock()
            .refill(&self.readers, &mut core.cpu, &queued, urgency, now);
        queue.settle(&mut core, &refill.credit, refill.drive, &mut garbage);
        // Nobody pops: each push frees two.
        let mut places = [Entry::NONE; 2];
        let range = queue.extract(&mut core, PLAIN, &mut places, &mut garbage);
        drop(core);
        self.free(&places, range);
        self.carry_out(refill);
    }

    /// Carries out what the engine asked for. With no lock held.
    fn carry_out(&'static self, refill: Refill) {
        if let Some(deadline) = refill.arm
            && care::start()
        {
            care::alarm().arm(deadline, false);
        }
        if refill.kick && care::start() {
            self.call();
        }
        if refill.drive {
            self.drive_once(self.lock(), None, Interest::Passing);
            self.tell_caretaker();
        }
    }

    /// Sends everything that is queued on its way, if `choose` has a cause. True if it had.
    pub(super) fn take(
        &'static self,
        choose: impl FnOnce(&Core) -> Option<Cause>,
        visit: impl FnOnce(&mut Core),
    ) -> bool {
        let mut garbage = Garbage::new();
        full_fence(); // [SNAP-1]
        let mut core = self.queue.lock();
        let Some(cause) = choose(&core) else {
            return false;
        };
        let Some(queued) = self.queue.take(&mut core, Some(&mut garbage)) else {
            return false; // it has no owner who could be faster
        };
        let now = sync::coarse_ns();
        self.lock()
            .taken(&self.readers, &mut core.cpu, &queued, cause, now);
        visit(&mut core);
        true
    }

    /// Does something that was sent on its way wait for a grace period?
    pub(super) fn pending(&self) -> bool {
        let core = self.queue.lock();
        core.cpu.is_hurried() && core.cpu.lists().iter().any(CbList::pending)
    }

    /// Callbacks and objects that are queued or being run, and their bytes.
    pub(crate) fn held(&self) -> (u64, u64) {
        let core = self.queue.lock();
        let lists = core.cpu.lists().iter();
        lists.fold((0, 0), |sum, list| {
            (sum.0 + list.len(), sum.1 + list.bytes())
        })
    }

    /// Runs and frees what is done. Returns how much. Inside a callback it frees memory only.
    pub(super) fn run_ready(&'static self, until: Until) -> u64 {
        let mut ran = 0;
        while !until.is_over() {
            let found = self.run_some();
            if found == 0 {
                break;
            }
            ran += found;
        }
        ran
    }

    /// A batch of memory, and one callback of each kind.
    fn run_some(&'static self) -> u64 {
        let mut places = [const { Entry::NONE }; MAX_EXTRACT];
        let (mut code, mut closure, mut head) = ([Entry::NONE], 0..0, None);
        let mut garbage = Garbage::new();
        let mut core = self.queue.lock();
        if !core.cpu.is_empty() {
            self.lock().advance(&mut core.cpu);
        }
        let plain = self
            .queue
            .extract(&mut core, PLAIN, &mut places, &mut garbage);
        if !run::in_callback() {
            closure = self.queue.extract(&mut core, CODE, &mut code, &mut garbage);
            let range = core.cpu.extract(Which::Head, 1);
            if !range.is_empty() {
                head = core.heads.pop().map(|taken| (taken, range));
            }
        }
        drop(core);
        drop(garbage);
        let era = self.era();
        let found = plain.end - plain.start + closure.end - closure.start;
        let found = found + u64::from(head.is_some());
        self.free(&places, plain);
        if !closure.is_empty() {
            run::code_of(&self.counters, code[0]);
            self.report_ran_since(era, Which::Code, closure);
        }
        if let Some(((head, run), range)) = head {
            run::head_of(&self.counters, head, run);
            self.report_ran_since(era, Which::Head, range);
        }
        found
    }

    /// Gives the memory back that is in the places.
    fn free(&'static self, places: &[Entry], range: Range<Pos>) {
        for entry in &places[..(range.end - range.start) as usize] {
            // SAFETY: done, and taken out.
            unsafe { entry.free() };
        }
        self.report_ran(Which::Plain, range);
    }

    /// Which process this is, counted in forks.
    fn era(&self) -> u64 {
        crate::looks::value(&self.counters.forks)
    }

    /// As [`report_ran`](Yard::report_ran); but what forked while it ran was taken out by the parent, and in the child nobody
    /// knows of it.
    fn report_ran_since(&'static self, era: u64, lane: Which, range: Range<Pos>) {
        if era == self.era() {
            self.report_ran(lane, range);
        }
    }

    /// These have been run: the engine hears of it, and perhaps a barrier is complete.
    fn report_ran(&'static self, lane: Which, range: Range<Pos>) {
        if range.is_empty() {
            return;
        }
        let mut core = self.queue.lock();
        let share_done = core.cpu.ran(lane, range);
        if core.cpu.untold() {
            self.lock().tell(&mut core.cpu);
        }
        drop(core);
        if share_done && self.lock().barrier.one_done() {
            self.barrier_word.store(COMPLETE, Ordering::Release); // [BAR-1]
            sync::futex_wake(&self.barrier_word);
        }
    }

    // Waiting for it.

    /// Waits until everything queued before this call has been freed or run.
    pub(crate) fn barrier(&'static self) -> Result<(), SyncError> {
        if run::in_callback() {
            return Err(SyncError::InsideCallback);
        }
        if crate::reader::in_section() {
            return Err(SyncError::InsideSection);
        }
        full_fence();
        let snap = self.lock().barrier.snap();
        let _turn = self.barrier_turn.take();
        self.finish_barrier()?; // one that failed half-way, if any
        if self.held().0 > 0 && !care::hire() {
            return Err(SyncError::NoWorker);
        }
        match self.lock().start_barrier(snap) {
            Begin::Covered => return Ok(()),
            Begin::Started { .. } => {}
        }
        self.barrier_word.store(OPEN, Ordering::Relaxed);
        self.take(
            |core| (!core.is_idle()).then_some(Cause::Barrier),
            |core| self.lock().visit_barrier(&mut core.cpu),
        );
        if self.lock().barrier.visited_all() {
            self.barrier_word.store(COMPLETE, Ordering::Relaxed);
        }
        self.finish_barrier()
    }

    /// Waits for the barrier in flight, if there is one, and ends it.
    fn finish_barrier(&'static self) -> Result<(), SyncError> {
        if !self.lock().barrier.in_flight() {
            return Ok(());
        }
        let word = &self.barrier_word;
        if word.load(Ordering::Acquire) != COMPLETE {
            if !care::hire() {
                return Err(SyncError::NoWorker);
            }
            let order = (Ordering::Relaxed, Ordering::Relaxed);
            let _ = word.compare_exchange(GIVEN_UP, OPEN, order.0, order.1); // once more
            self.call();
        }
        loop {
            match word.load(Ordering::Acquire) {
                COMPLETE => break, // [BAR-1]
                OPEN => sync::futex_wait(word, OPEN, None),
                _ => return Err(self.refusal()),
            }
        }
        self.lock().barrier.end();
        count(&self.counters.barriers);
        Ok(())
    }

    /// Whoever waits for a barrier learns that it will not be complete now.
    pub(super) fn give_up_barrier(&self) {
        let order = (Ordering::Release, Ordering::Relaxed);
        let word = &self.barrier_word;
        let _ = word.compare_exchange(OPEN, GIVEN_UP, order.0, order.1);
        sync::futex_wake(word);
    }

    /// Frees and runs, in this thread, what is queued, as far as that goes before the deadline.
    pub(crate) fn drain(&'static self, until: Until) -> u64 {
        let can_wait = !run::in_callback() && !crate::reader::in_section();
        let mut ran = 0;
        loop {
            self.take(|core| (!core.is_idle()).then_some(Cause::Drain), |_| ());
            let now = self.run_ready(until);
            ran += now;
            if until.is_over() || (!can_wait && now == 0) {
                break;
            }
            if can_wait && self.pending() {
                let how = How {
                    deadline: until.deadline,
                    ..How::default()
                };
                if self.wait_for_gp(how).is_err() {
                    break;
                }
            } else if now == 0 {
                break;
            }
        }
        if self.held().0 > 0 && care::start() {
            self.call(); // what is left was sent on its way, and has no deadline
        }
        ran
    }
}
