//! Queueing in a [`Yard`], and waiting for what is queued.
//!
//! There is one queue, and everybody who queues takes its lock: the fast path over lanes of one's own is the domain's. All
//! decisions (when a grace period is asked for, when somebody has to look, what is done) are the engine's, as there.

use std::ops::Range;

use quiescent_engine::cblist::CbList;
use quiescent_engine::cpu::Lane as Which;
use quiescent_engine::credit::{Cause, Refill, Urgency};
use quiescent_engine::{Interest, Pos};

use super::{Yard, care};
use crate::error::SyncError;
use crate::inner::defer::barrier::Barriers;
use crate::inner::defer::enqueue::Parcel;
use crate::inner::defer::run;
use crate::inner::defer::sweep::Until;
use crate::inner::defer::tasks::Tasks;
use crate::inner::domain::counters::count;
use crate::inner::gp::driven::Driven as _;
use crate::inner::gp::driver::{Drives as _, How};
use crate::inner::prim::{self, AtomicU32, MAX_EXTRACT, Ordering, full_fence};
use crate::inner::queue::chain::Garbage;
use crate::inner::queue::lane::Entry;
use crate::inner::queue::per_thread::{CODE, Core, PLAIN};

impl Yard {
    /// Queues a parcel.
    pub(crate) fn deliver(&'static self, parcel: Parcel, urgency: Urgency) {
        self.deliver_if(parcel, urgency, false);
    }

    /// Queues a parcel; an entry, if `asks`, only where it fits into the budget. Was it queued? If not, it is the caller's still.
    pub(crate) fn deliver_if(&'static self, parcel: Parcel, urgency: Urgency, asks: bool) -> bool {
        let queue = &self.queue;
        if let Parcel::Entry(lane, ..) = parcel {
            queue.provide(lane);
        }
        let mut garbage = Garbage::new();
        full_fence(); // [SNAP-1]
        let mut core = queue.lock();
        let fits = !asks || self.admit(&mut core, &parcel);
        if fits {
            core.breaks(&parcel, urgency);
        }
        match parcel {
            _ if !fits => {}
            // SAFETY: the caller's promise, passed on by whoever made the parcel.
            Parcel::Head(head, run) => unsafe { core.push_head(head, run) },
            Parcel::Entry(lane, entry, bytes) => {
                let was_put;
                (core, was_put) = queue.put_among_others(core, lane, entry, bytes);
                if !was_put {
                    count(&self.counters.leaked);
                }
            }
        }
        let queued = queue.report(&mut core, false);
        let now = prim::coarse_ns();
        let refill = self
            .lock()
            .refill(self, &mut core.cpu, &queued, urgency, now);
        queue.settle(&mut core, &refill.credit, refill.drive, &mut garbage);
        // Nobody pops: each push frees two.
        let mut places = [Entry::NONE; 2];
        let range = queue.extract(&mut core, PLAIN, &mut places, &mut garbage);
        drop(core);
        self.free(&places, range);
        self.carry_out(refill);
        if !fits {
            count(&self.counters().refused);
        }
        fits
    }

    /// Asks the engine whether an entry fits into the budget.
    fn admit(&self, core: &mut Core, parcel: &Parcel) -> bool {
        let Parcel::Entry(_, _, bytes) = *parcel else {
            return true;
        };
        let queued = self.queue.report(core, false);
        let now = prim::coarse_ns();
        self.lock().admit(&mut core.cpu, &queued, bytes, now)
    }

    /// Carries out what the engine asked for. With no lock held.
    fn carry_out(&'static self, refill: Refill) {
        self.arm_and_kick(refill.arm, refill.kick);
        if refill.drive {
            self.drive_once(self.lock(), self.own_cpu(), Interest::Passing);
            self.tell_caretaker();
        }
        if refill.give_way {
            prim::domain().give_way();
        }
        if refill.help != 0 {
            crate::inner::domain::counters::add(
                &self.counters().helped,
                self.free_some(refill.help),
            );
        }
        // Without a caretaker there is nobody to tell, and a yard that waits for one would never rest.
        if refill.over && care::start() {
            self.untold.store(1, Ordering::Release);
            self.arm_and_kick(None, true);
        }
    }

    /// Has the caretaker look at a time, or now, if there is one to be had.
    pub(super) fn arm_and_kick(&self, arm: Option<u64>, kick: bool) {
        if let Some(deadline) = arm
            && care::start()
        {
            care::alarm().arm(deadline, false);
        }
        if kick && care::start() {
            self.call();
        }
    }

    /// Frees up to `most` plain objects that are done. Returns how many.
    fn free_some(&'static self, most: u64) -> u64 {
        let mut places = [const { Entry::NONE }; MAX_EXTRACT];
        let most = most.min(MAX_EXTRACT as u64) as usize;
        let mut garbage = Garbage::new();
        let mut core = self.queue.lock();
        let range = self
            .queue
            .extract(&mut core, PLAIN, &mut places[..most], &mut garbage);
        drop(core);
        let freed = range.end - range.start;
        self.free(&places, range);
        freed
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
        let now = prim::coarse_ns();
        self.lock().taken(self, &mut core.cpu, &queued, cause, now);
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

    /// Runs and frees what is done, once round: what callbacks queue in turn comes later. Returns how much.
    pub(super) fn run_round(&'static self, code: bool) -> u64 {
        let (queued, mut ran) = (self.held().0, 0);
        while ran < queued {
            match self.run_some(u64::MAX, code) {
                0 => break,
                found => ran += found,
            }
        }
        ran
    }

    /// Runs and frees what is done, or only frees. Returns how much. Inside a callback it frees memory only.
    pub(super) fn run_ready(&'static self, until: Until, code: bool) -> u64 {
        let mut ran = 0;
        while !until.is_over() {
            let found = self.run_some(u64::MAX, code);
            if found == 0 {
                break;
            }
            ran += found;
        }
        ran
    }

    /// A batch of memory, and one callback of each kind if `code` may run; at most so many.
    pub(super) fn run_some(&'static self, most: u64, code: bool) -> u64 {
        let mut places = [const { Entry::NONE }; MAX_EXTRACT];
        let plain_most = most.min(MAX_EXTRACT as u64) as usize;
        let (mut entry, mut closure, mut head) = ([Entry::NONE], 0..0, None);
        let mut garbage = Garbage::new();
        let mut core = self.queue.lock();
        if !core.cpu.is_empty() {
            self.lock().advance(&mut core.cpu);
        }
        let plain = self
            .queue
            .extract(&mut core, PLAIN, &mut places[..plain_most], &mut garbage);
        let mut left = most - (plain.end - plain.start);
        if code && left > 0 {
            closure = self
                .queue
                .extract(&mut core, CODE, &mut entry, &mut garbage);
            left -= closure.end - closure.start;
        }
        if code && left > 0 {
            head = core.extract_head();
        }
        drop(core);
        drop(garbage);
        let era = self.era();
        let found = plain.end - plain.start + closure.end - closure.start;
        let found = found + u64::from(head.is_some());
        self.free(&places, plain);
        if !closure.is_empty() {
            run::code_of(&self.counters, entry[0]);
            self.report_ran_since(era, Which::Code, closure);
        }
        if let Some((head, run, range)) = head {
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
        crate::inner::domain::counters::value(&self.counters.forks)
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
        if share_done {
            self.barrier_share_done();
        }
    }

    // Waiting for it.

    /// Frees and runs, in this thread, what is queued, as far as that goes before the deadline.
    pub(crate) fn drain(&'static self, until: Until) -> u64 {
        let can_wait =
            !run::in_callback() && !crate::inner::reader::word::in_section() && !self.is_inside();
        let mut ran = 0;
        loop {
            self.take(|core| (!core.is_idle()).then_some(Cause::Drain), |_| ());
            let now = self.run_ready(until, !run::in_callback());
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
        // what is left was sent on its way, and has no deadline
        self.arm_and_kick(None, self.held().0 > 0);
        ran
    }
}

impl Barriers for Yard {
    fn barrier_word(&self) -> &AtomicU32 {
        &self.barrier_word
    }

    fn wakers(&self) -> &Tasks {
        &self.wakers
    }

    fn visit_queues(&'static self) -> Result<(), SyncError> {
        self.take(
            |core| (!core.is_idle()).then_some(Cause::Barrier),
            |core| self.lock().visit_barrier(&mut core.cpu),
        );
        Ok(())
    }

    fn is_holding(&'static self) -> bool {
        self.held().0 > 0
    }

    fn staff(&'static self) -> bool {
        care::start()
    }

    fn hire(&'static self) -> bool {
        care::hire()
    }

    fn call_staff(&self) {
        self.call();
    }

    fn refusal(&self, gave_up: bool) -> Option<SyncError> {
        gave_up.then(|| {
            let errno = self.heavy_fence().err().unwrap_or(libc::ENOMEM);
            SyncError::FenceRefused { errno }
        })
    }

    fn wake_later(&'static self) {
        self.lock().gate.set_due();
        self.call();
    }
}
