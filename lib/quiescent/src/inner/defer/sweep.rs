//! Looking at all queues: taking over, running what is done.
//!
//! A sweep chooses queues, begins the take-over of those that have an owner, issues **one** heavy fence
//! for all of them, and completes the take-overs. The worker, a barrier and `drain` sweep; one at a time.

use std::ops::Range;
use std::time::Duration;

use quiescent_engine::Pos;
use quiescent_engine::cblist::CbList;
use quiescent_engine::cpu::{Cpu, LANES, Lane as Which};
use quiescent_engine::credit::Cause;

use crate::error::SyncError;
use crate::inner::defer::run;
use crate::inner::domain::counters::count;
use crate::inner::domain::state::State;
use crate::inner::prim::{self, MAX_EXTRACT, MutexGuard, Ordering, full_fence};
use crate::inner::queue::chain::Garbage;
use crate::inner::queue::lane::Entry;
use crate::inner::queue::per_thread::{CODE, Core, PLAIN, Queue};
use crate::workers::ended::Taken;

/// When to stop running callbacks.
#[derive(Clone, Copy, Debug)]
pub struct Until {
    /// Monotonic nanoseconds.
    pub(crate) deadline: Option<u64>,
}

impl Until {
    /// This long from now.
    pub(crate) fn after(limit: Duration) -> Until {
        let limit = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        Until {
            deadline: Some(prim::now_ns().saturating_add(limit)),
        }
    }

    pub(crate) fn is_over(self) -> bool {
        let past = |deadline| prim::now_ns() >= deadline;
        self.deadline.is_some_and(past) || prim::env().watch.is_dismissed()
    }

    /// How long that is; `None` for ever.
    pub(crate) fn left(self) -> Option<Duration> {
        let left = |deadline: u64| deadline.saturating_sub(prim::now_ns());
        self.deadline
            .map(|deadline| Duration::from_nanos(left(deadline)))
    }
}

/// A sweep that has begun: queues were chosen, and their owners told to come for the lock.
#[derive(Debug)]
pub(crate) struct Sweep {
    state: &'static State,
    _one_at_a_time: MutexGuard<'static, ()>,
    /// Given back when no lock is held: the sweep's is one as well.
    garbage: Garbage,
    /// Queues that were chosen.
    pub(crate) chosen: u32,
    left: u32,
    /// One of those that are left has an owner.
    owned: bool,
}

impl Sweep {
    /// Chooses the queues for which there is a cause.
    pub(crate) fn begin(state: &'static State, choose: impl Fn(&Core) -> Option<Cause>) -> Sweep {
        let mut sweep = Sweep {
            state,
            _one_at_a_time: state.sweeping(),
            garbage: Garbage::new(),
            chosen: 0,
            left: 0,
            owned: false,
        };
        for queue in state.queues() {
            let mut core = queue.lock();
            core.chosen = choose(&core);
            if core.chosen.is_some() {
                sweep.chosen += 1;
                sweep.owned |= queue.revoke(&mut core);
            }
        }
        full_fence(); // [SNAP-1]
        sweep.left = sweep.chosen;
        sweep
    }

    /// Is a heavy fence needed before the next step?
    pub(crate) fn needs_fence(&self) -> bool {
        self.left > 0 && self.owned
    }

    /// Everything that was chosen has been taken.
    pub(crate) fn is_over(&self) -> bool {
        self.left == 0
    }

    /// Takes what is chosen and not its owner's again: behind a heavy fence, if one was needed. `[RET-2]`
    pub(crate) fn take(&mut self, mut visit: impl FnMut(&mut Core)) {
        let state = self.state;
        self.owned = false;
        for queue in state.queues() {
            let mut core = queue.lock();
            let Some(cause) = core.chosen else {
                continue;
            };
            match queue.take(&mut core, Some(&mut self.garbage)) {
                Some(queued) => {
                    core.chosen = None;
                    self.left -= 1;
                    let now = prim::coarse_ns();
                    let mut global = state.lock();
                    global.taken(state.readers(), &mut core.cpu, &queued, cause, now);
                    state.show_level(&global);
                    drop(global);
                    visit(&mut core);
                }
                None => self.owned |= queue.revoke(&mut core),
            }
        }
    }
}

impl State {
    /// Takes over the queues for which `choose` has a cause: everything in them is stamped, and consumed by
    /// whoever runs what is done. `visit` sees each of them then, under its lock.
    ///
    /// # Errors
    /// The fence was refused: nothing was taken from threads that are alive.
    pub(crate) fn sweep(
        &'static self,
        choose: impl Fn(&Core) -> Option<Cause>,
        mut visit: impl FnMut(&mut Core),
    ) -> Result<(), SyncError> {
        let mut sweep = Sweep::begin(self, choose);
        while !sweep.is_over() {
            if sweep.needs_fence() {
                count(&self.counters.fences_take);
                self.heavy_fence() // [RET-2]
                    .map_err(|errno| SyncError::FenceRefused { errno })?;
            }
            sweep.take(&mut visit);
        }
        Ok(())
    }

    /// Runs and frees at most `most` of what is done by now, for a dropped domain: code, too, although this is inside a
    /// callback.
    pub(crate) fn run_left(&'static self, most: u64, until: Until) -> u64 {
        let mut ran = 0;
        for queue in self.queues() {
            ran += self.run_queue(queue, most - ran, until, true);
        }
        ran
    }

    /// Runs and frees whatever is done by now and not its owner's to free: one round over all queues, so
    /// that what callbacks queue gets its turn after everything else. Returns how much that was. Without
    /// `code`, and inside a callback, it frees memory only.
    pub(crate) fn run_ready(&'static self, until: Until, code: bool) -> u64 {
        let code = code && !run::in_callback();
        let mut ran = 0;
        for queue in self.queues() {
            if until.is_over() {
                break;
            }
            ran += self.run_queue(queue, u64::MAX, until, code);
        }
        ran
    }

    /// The same for the worker: it runs code in [turns](crate::workers::overflow).
    pub(crate) fn run_as_worker(&'static self, until: Until, code: bool) -> u64 {
        let mut ran = 0;
        for queue in self.queues() {
            if until.is_over() {
                break;
            }
            ran += self.run_queue(queue, u64::MAX, until, false);
            if code {
                ran += self.run_turn(queue, self.env().watch.turn(), until);
            }
        }
        ran
    }

    /// Runs and frees at most `most` of what is done in this queue; without `code`, it frees memory only.
    fn run_queue(&'static self, queue: &'static Queue, most: u64, until: Until, code: bool) -> u64 {
        let [plain, closures, heads] = self.ready(queue);
        let mut ran = self.free_plain(queue, plain.min(most), until);
        if code {
            ran += self.run_code(queue, closures.min(most - ran), until);
            ran += self.run_heads(queue, heads.min(most - ran), until);
        }
        ran
    }

    /// Frees plain memory that is done and was taken over: it runs nobody's code. Returns how much.
    pub(crate) fn free_taken(&'static self, until: Until) -> u64 {
        let free = |queue| self.free_plain(queue, self.ready(queue)[PLAIN], until);
        self.queues().map(free).sum()
    }

    /// What is done, by lanes, after another look at the grace periods.
    fn ready(&'static self, queue: &Queue) -> [u64; LANES] {
        let mut core = queue.lock();
        if !core.cpu.is_empty() {
            self.lock().advance(&mut core.cpu);
        }
        Which::ALL.map(|lane| core.cpu.list(lane).ready())
    }

    fn free_plain(&'static self, queue: &Queue, ready: u64, until: Until) -> u64 {
        let mut places = [const { Entry::NONE }; MAX_EXTRACT];
        let mut total = 0;
        while total < ready && !until.is_over() {
            let mut garbage = Garbage::new();
            let mut core = queue.lock();
            let room = places.len().min((ready - total) as usize);
            let range = queue.extract(&mut core, PLAIN, &mut places[..room], &mut garbage);
            drop(core);
            if range.is_empty() {
                break;
            }
            total += range.end - range.start;
            self.free_extracted(queue, &places, range);
        }
        total
    }

    /// Gives the memory back that is in the places.
    pub(crate) fn free_extracted(
        &'static self,
        queue: &Queue,
        places: &[Entry],
        range: Range<Pos>,
    ) {
        for entry in &places[..(range.end - range.start) as usize] {
            // SAFETY: done, and taken out.
            unsafe { entry.free() };
        }
        self.report_ran(queue, Which::Plain, range);
    }

    /// One at a time: a callback that does not return holds up itself only.
    pub(crate) fn run_code(&'static self, queue: &'static Queue, ready: u64, until: Until) -> u64 {
        let mut places = [Entry::NONE];
        let mut total = 0;
        while total < ready && !until.is_over() {
            let mut garbage = Garbage::new();
            let mut core = queue.lock();
            let range = queue.extract(&mut core, CODE, &mut places, &mut garbage);
            drop(core);
            drop(garbage);
            if range.is_empty() {
                break;
            }
            let taken = self.taken(queue, Which::Code, &range);
            run::code(self, taken, places[0]);
            self.report_ran_since(taken.era, queue, Which::Code, range);
            total += 1;
        }
        total
    }

    pub(crate) fn run_heads(&'static self, queue: &'static Queue, ready: u64, until: Until) -> u64 {
        let mut total = 0;
        while total < ready && !until.is_over() {
            let mut core = queue.lock();
            let taken = core.extract_head();
            drop(core);
            let Some((head, run, range)) = taken else {
                break;
            };
            let taken = self.taken(queue, Which::Head, &range);
            run::head(self, taken, head, run);
            self.report_ran_since(taken.era, queue, Which::Head, range);
            total += 1;
        }
        total
    }

    /// In a domain that runs callbacks inline: their owner runs two of those that are done.
    #[cold]
    #[inline(never)]
    pub(crate) fn run_inline(&'static self, queue: &'static Queue) {
        if !run::in_callback() {
            self.run_code(queue, 2, Until { deadline: None });
            queue.hint(&queue.lock());
        }
    }

    /// Which process this is, counted in forks.
    fn era(&self) -> u64 {
        crate::inner::domain::counters::value(&self.counters.forks)
    }

    /// What is about to run.
    fn taken(&self, queue: &'static Queue, lane: Which, range: &Range<Pos>) -> Taken {
        let Range { start, end } = *range;
        Taken {
            queue,
            lane,
            start,
            end,
            era: self.era(),
        }
    }

    /// As [`report_ran`](State::report_ran); but what forked while it ran was taken out by the parent, and
    /// in the child nobody knows of it.
    pub(crate) fn report_ran_since(
        &'static self,
        era: u64,
        queue: &Queue,
        lane: Which,
        range: Range<Pos>,
    ) {
        if era == self.era() {
            self.report_ran(queue, lane, range);
        }
    }

    /// These have been run: the engine hears of it, and perhaps a barrier is complete.
    fn report_ran(&'static self, queue: &Queue, lane: Which, range: Range<Pos>) {
        if range.is_empty() {
            return;
        }
        let mut core = queue.lock();
        let share_done = core.cpu.ran(lane, range);
        let mut second = false;
        if core.cpu.untold() {
            let mut global = self.lock();
            global.tell(&mut core.cpu);
            second = global.calls_second();
            self.show_level(&global);
        }
        drop(core);
        if second {
            self.env().call_overflow(self);
        }
        if share_done {
            self.barrier_share_done();
        }
        let drainers = self.drainers.load(Ordering::Relaxed);
        if drainers != 0 {
            self.drain_word.fetch_add(1, Ordering::Relaxed);
            (0..drainers).for_each(|_| prim::futex_wake(&self.drain_word));
        }
    }

    /// Queues that are empty and have no owner give their blocks back.
    pub(crate) fn shrink(&'static self) {
        for queue in self.queues() {
            let mut garbage = Garbage::new();
            let mut core = queue.lock();
            if !Queue::is_attached(&core) && core.cpu.is_empty() {
                queue.clear(&mut core, &mut garbage);
            }
        }
    }

    /// Does something that was taken over wait for a grace period?
    pub(crate) fn taken_waits(&'static self) -> bool {
        let waits = |cpu: &Cpu| cpu.lists().iter().any(CbList::pending);
        self.any_hurried(waits)
    }

    /// Has something that was taken over become done meanwhile, that nobody is at?
    pub(crate) fn taken_is_ready(&'static self) -> bool {
        self.any_hurried(Cpu::is_untended)
    }

    /// Is there code that is done?
    pub(crate) fn code_is_ready(&'static self) -> bool {
        let code = [Which::Code, Which::Head];
        self.queues().any(|queue| {
            let core = queue.lock();
            code.into_iter().any(|lane| core.cpu.list(lane).ready() > 0)
        })
    }

    /// Runs and frees at most `most` of what is done by now, and not its owner's to free. It begins where the
    /// last such call ended.
    pub(crate) fn run_some(&'static self, most: u64, until: Until) -> u64 {
        let first = self.drain_turn.load(Ordering::Relaxed) as usize;
        let behind = self.queues().enumerate().skip(first);
        let before = self.queues().enumerate().take(first);
        let code = !run::in_callback();
        let mut ran = 0;
        for (index, queue) in behind.chain(before) {
            self.drain_turn.store(index as u32, Ordering::Relaxed);
            if ran == most || until.is_over() {
                break;
            }
            ran += self.run_queue(queue, most - ran, until, code);
        }
        ran
    }

    fn any_hurried(&'static self, test: impl Fn(&Cpu) -> bool) -> bool {
        let hurried = |cpu: &Cpu| cpu.is_hurried() && test(cpu);
        self.queues().any(|queue| hurried(&queue.lock().cpu))
    }

    /// Callbacks and objects that are queued or being run, and the bytes of those the engine knows of.
    pub(crate) fn held(&'static self) -> (u64, u64) {
        let mut held = (0, 0);
        for queue in self.queues() {
            let core = queue.lock();
            for list in core.cpu.lists() {
                held.0 += list.len();
                held.1 += list.bytes();
            }
            held.0 += queue.unreported(&core);
        }
        held
    }
}
