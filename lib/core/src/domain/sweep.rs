//! Sweeps: visiting all queues, to take them over and to run what is ready.
//!
//! A sweep chooses queues, begins the take-over of those that have an owner, issues **one** heavy fence for
//! all of them, and completes the take-overs. The worker, a barrier and `drain` sweep; sweeps are serialized.

use std::ops::Range;
use std::time::Duration;

use quiescent_engine::cblist::CbList;
use quiescent_engine::cpu::{Cpu, LANES, Lane};
use quiescent_engine::credit::Cause;
use quiescent_engine::{Interest, Pos};

use crate::domain::driver::{How, deadline_after};
use crate::domain::env::Env;
use crate::domain::error::SyncError;
use crate::domain::life::Domain;
use crate::domain::run;
use crate::domain::settings::DRAINED;
use crate::domain::state::State;
use crate::prim::counters::count;
use crate::prim::{self, MAX_EXTRACT, MutexGuard, Ordering, full_fence};
use crate::queue::chain::Garbage;
use crate::queue::kind::PLAIN;
use crate::queue::lane::Entry;
use crate::queue::per_thread::{Queue, QueueCore};

/// When to stop running callbacks.
#[derive(Clone, Copy, Debug)]
pub struct Until {
    /// Monotonic nanoseconds. `None`: a worker's, which stops when another thread has its role.
    pub deadline: Option<u64>,
}

impl Until {
    /// Never: for a call of the program, also in a callback of a worker that was replaced.
    pub const NEVER: Until = Until {
        deadline: Some(u64::MAX),
    };

    /// A deadline `limit` from now.
    pub fn after(limit: Duration) -> Until {
        Until {
            deadline: Some(deadline_after(limit)),
        }
    }

    pub fn is_over(self, env: &Env) -> bool {
        match self.deadline {
            None => env.host.is_dismissed(),
            Some(u64::MAX) => false,
            Some(deadline) => prim::now_ns() >= deadline || env.host.is_dismissed(),
        }
    }

    /// The remaining time; `None` for no limit.
    pub fn left(self) -> Option<Duration> {
        let left = |deadline: u64| deadline.saturating_sub(prim::now_ns());
        self.deadline
            .map(|deadline| Duration::from_nanos(left(deadline)))
    }
}

/// A report of what was run.
#[must_use = "others may wait for it"]
struct Ran {
    /// It completes the queue's share of a barrier.
    share_done: bool,
    /// The overflow worker is to be called.
    overflow: bool,
}

/// A sweep in progress: queues were chosen, and their limits lowered so that owners take the lock.
#[derive(Debug)]
pub struct Sweep {
    state: &'static State,
    _one_at_a_time: MutexGuard<'static, ()>,
    /// Freed when no lock is held, not even the sweep's.
    garbage: Garbage,
    /// Number of queues that were chosen.
    pub chosen: u32,
    /// Of them, how many have not been taken yet.
    pub left: u32,
    /// One of these has an owner: a heavy fence is needed before the next step.
    pub owned: bool,
}

impl Sweep {
    /// Chooses the queues for which `choose` returns a cause.
    #[inline(never)] // its callers are large
    pub fn begin(state: &'static State, choose: impl Fn(&QueueCore) -> Option<Cause>) -> Sweep {
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

    /// Takes the chosen queues, except those that their owners have attached again: behind a heavy fence, if
    /// one was needed. `[RET-2]`
    #[inline(never)] // as above
    pub fn take(&mut self, mut visit: impl FnMut(&mut QueueCore)) {
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
                    state.count_run(&core, &queued);
                    let now = prim::coarse_ns();
                    let mut global = state.lock();
                    (core.cpu).taken(&mut global.engine, &queued, cause, State::now(now));
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
    /// Takes over the queues for which `choose` returns a cause: everything in them is stamped, and consumed
    /// by the threads that run ready callbacks. Then `visit` is called for each of them, under its lock.
    ///
    /// # Errors
    /// The fence was refused: nothing was taken from live threads.
    pub fn sweep(
        &'static self,
        choose: impl Fn(&QueueCore) -> Option<Cause>,
        mut visit: impl FnMut(&mut QueueCore),
    ) -> Result<(), SyncError> {
        let mut sweep = Sweep::begin(self, choose);
        while sweep.left > 0 {
            if sweep.owned {
                count(&self.counters.fences_take);
                self.fence(false) // [RET-2]
                    .map_err(|errno| SyncError::FenceRefused { errno })?;
            }
            sweep.take(&mut visit);
        }
        Ok(())
    }

    /// Runs and frees at most `most` ready items of a dropped domain, including code, although this is inside
    /// a callback.
    pub fn run_left(&'static self, most: u64, until: Until) -> u64 {
        self.run_round(most, until, &Lane::CODE)
    }

    /// Runs and frees at most `most` ready items that are not their owner's to free: one round over all
    /// queues, so that what callbacks queue comes after everything else. Returns the number of items. Inside
    /// a callback it frees memory only.
    pub fn run_some(&'static self, most: u64, until: Until) -> u64 {
        let code: &[Lane] = if self.in_callback() { &[] } else { &Lane::CODE };
        self.run_round(most, until, code)
    }

    /// A round starts at the queue where the last one ended.
    fn run_round(&'static self, most: u64, until: Until, code: &[Lane]) -> u64 {
        let first = self.drain_turn.load(Ordering::Relaxed) as usize;
        let behind = self.queues().enumerate().skip(first);
        let before = self.queues().enumerate().take(first);
        let mut ran = 0;
        for (index, queue) in behind.chain(before) {
            self.drain_turn.store(index as u32, Ordering::Relaxed);
            if ran == most || until.is_over(self.env()) {
                break;
            }
            ran += self.run_queue(queue, most - ran, until, code);
        }
        ran
    }

    /// The same for the worker: it runs code in [turns](crate::domain::run).
    pub fn run_as_worker(&'static self, until: Until, code: bool) -> u64 {
        let mut ran = 0;
        for queue in self.queues() {
            if until.is_over(self.env()) {
                break;
            }
            ran += self.run_queue(queue, u64::MAX, until, &[]);
            if let Some(runs) = code.then(run::runs_code).flatten() {
                ran += (runs.turn)(self, queue, self.env().host.turn(), until);
            }
        }
        ran
    }

    /// Frees at most `most` ready items of this queue: memory, and what is in these lanes of `code`.
    fn run_queue(
        &'static self,
        queue: &'static Queue,
        most: u64,
        until: Until,
        code: &[Lane],
    ) -> u64 {
        let ready = self.ready(queue);
        let mut ran = self.free_plain(queue, ready[PLAIN].min(most), until);
        for &lane in code {
            if let Some(runs) = run::runs_code() {
                let ready = ready[lane as usize].min(most - ran);
                ran += (runs.lane)(self, queue, lane, ready, until);
            }
        }
        ran
    }

    /// Frees plain memory that is ready and was taken over: this runs no code of the program. Returns the
    /// number of objects.
    pub fn free_taken(&'static self, until: Until) -> u64 {
        let free = |queue| self.free_plain(queue, self.ready(queue)[PLAIN], until);
        self.queues().map(free).sum()
    }

    /// The number of ready items by lane, after the lists were advanced to the present `gp_seq`.
    fn ready(&'static self, queue: &Queue) -> [u64; LANES] {
        let mut core = queue.lock();
        if !core.cpu.is_empty() {
            core.cpu.advance(&self.lock().engine);
        }
        Lane::ALL.map(|lane| core.cpu.list(lane).ready())
    }

    fn free_plain(&'static self, queue: &Queue, ready: u64, until: Until) -> u64 {
        let mut places = [const { Entry::NONE }; MAX_EXTRACT];
        let mut total = 0;
        while total < ready && !until.is_over(self.env()) {
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

    /// Frees the memory of the entries in `places`.
    pub fn free_extracted(&'static self, queue: &Queue, places: &[Entry], range: Range<Pos>) {
        for entry in &places[..(range.end - range.start) as usize] {
            // SAFETY: done, and taken out.
            unsafe { entry.free() };
        }
        self.report_ran(queue, Lane::Plain, range);
    }

    /// One entry at a time: a callback that does not return delays only itself. (Several where the program
    /// drains for any time.) Nothing that its owner runs. If the process forks meanwhile, the parent had
    /// taken the entries out, and no list of the child has them.
    pub fn run_code(
        &'static self,
        queue: &'static Queue,
        lane: Lane,
        ready: u64,
        until: Until,
    ) -> u64 {
        let mut places = [const { Entry::NONE }; MAX_EXTRACT];
        let several = self.has(DRAINED) && until.deadline == Until::NEVER.deadline;
        let most = if several { MAX_EXTRACT as u64 } else { 1 };
        let (mut total, mut ran) = (0, 0..0);
        let mut era = self.era();
        loop {
            let mut garbage = Garbage::new();
            let mut core = queue.lock();
            let counts = !ran.is_empty() && era == self.era();
            let effects = counts.then(|| self.ran(&mut core, lane, ran));
            let mut head = None;
            let room = most.min(ready - total) as usize;
            let range = match lane {
                _ if room == 0 || until.is_over(self.env()) => 0..0,
                Lane::Head => {
                    core.extract_head(queue.meter())
                        .map_or(0..0, |(link, run, range)| {
                            head = Some((link, run));
                            range
                        })
                }
                _ => queue.extract(&mut core, lane as usize, &mut places[..room], &mut garbage),
            };
            drop(core);
            drop(garbage);
            if let Some(effects) = effects {
                self.after_ran(effects);
            }
            if range.is_empty() {
                return total;
            }
            era = self.era();
            match head {
                Some((head, run)) => run::head(self, head, run),
                None => places[..(range.end - range.start) as usize]
                    .iter()
                    .take_while(|_| era == self.era()) // not in the child of a fork
                    .for_each(|entry| run::code(self, *entry)),
            }
            total += range.end - range.start;
            ran = range;
        }
    }

    /// Identifies the process by its number of forks.
    fn era(&self) -> u64 {
        crate::prim::counters::value(&self.counters.forks)
    }

    /// These have been run: reports to the engine, and completes a barrier's share.
    pub fn report_ran(&'static self, queue: &Queue, lane: Lane, range: Range<Pos>) {
        if range.is_empty() {
            return;
        }
        let effects = self.ran(&mut queue.lock(), lane, range);
        self.after_ran(effects);
    }

    /// Reports entries that have been run; the caller holds the queue's lock. After it has released the lock
    /// it must call [`after_ran`](State::after_ran) with the result.
    fn ran(&self, core: &mut QueueCore, lane: Lane, range: Range<Pos>) -> Ran {
        let share_done = core.cpu.ran(lane, range);
        let mut overflow = false;
        if core.cpu.unreported() {
            let mut global = self.lock();
            core.cpu.tell(&mut global.engine);
            overflow = global.engine.calls_overflow();
            self.show_level(&global);
        }
        Ran {
            share_done,
            overflow,
        }
    }

    /// Carries out the effects of a report of entries that were run. No lock is held.
    fn after_ran(&'static self, effects: Ran) {
        if effects.overflow {
            self.env().host.call_overflow(self);
        }
        if effects.share_done {
            self.barrier_share_done();
        }
        let drainers = self.drainers.load(Ordering::Relaxed);
        if drainers != 0 {
            self.drain_word.fetch_add(1, Ordering::Relaxed);
            (0..drainers).for_each(|_| prim::futex_wake(&self.drain_word));
        }
    }

    /// Frees the blocks of queues that are empty and have no owner.
    pub fn shrink(&'static self) {
        for queue in self.queues() {
            let mut garbage = Garbage::new();
            let mut core = queue.lock();
            if !core.owned && core.cpu.is_empty() {
                queue.clear(&mut core, &mut garbage);
            }
        }
    }

    /// True if something that was taken over waits for a grace period.
    pub fn taken_waits(&'static self) -> bool {
        let waits = |cpu: &Cpu| cpu.lists().iter().any(CbList::pending);
        self.any_hurried(waits)
    }

    /// True if something that was taken over is ready, and no thread is running it.
    #[inline]
    pub fn taken_is_ready(&'static self) -> bool {
        self.any_hurried(Cpu::is_untended)
    }

    /// True if code is ready that its owner does not run.
    pub fn code_is_ready(&'static self) -> bool {
        self.queues().any(|queue| queue.lock().cpu.ready_code() > 0)
    }

    fn any_hurried(&'static self, test: impl Fn(&Cpu) -> bool) -> bool {
        let hurried = |cpu: &Cpu| cpu.is_hurried() && test(cpu);
        self.queues().any(|queue| hurried(&queue.lock().cpu))
    }
}

impl State {
    /// Empties the domain in this thread, as far as possible before the deadline. Returns the number of
    /// callbacks run and objects freed.
    pub fn drain(&'static self, until: Until) -> u64 {
        let mut ran = 0;
        if self.drain_passes(until, &mut ran).is_err() {
            count(&self.counters.worker_errors);
        }
        self.rearm(false);
        self.env().set_alarm();
        // The worker handles what was taken over and has to wait: no timer covers it.
        let taken = self.taken_waits() || self.taken_is_ready();
        if (taken || self.env().alarm.is_armed()) && !self.env().host.start_worker() {
            self.lock().engine.disarm(); // the next thread that queues tries again
        }
        if taken {
            self.call();
        }
        ran
    }

    /// Frees and runs what a dropped domain has left, also inside a callback. The worker handles what its
    /// callbacks queue, and what a reader blocks.
    pub fn empty(&'static self) {
        let until = Until { deadline: None };
        let rounds = self.held().0;
        let mut ran = 0;
        while ran < rounds {
            let swept = self.sweep(|core| (!core.is_idle()).then_some(Cause::Drain), |_| ());
            if swept.is_err() {
                break;
            }
            if self.taken_waits() {
                let core = self.lock();
                self.drive_once(core, None, Interest::Poller);
            }
            let now = self.run_left(rounds - ran, until);
            if now == 0 {
                break;
            }
            ran += now;
        }
        self.rearm(false);
        if self.held().0 > 0 {
            self.kick_worker();
        }
    }

    /// Frees memory now, and runs what is in these lanes of `code`, in this thread, as often as something is
    /// found: no grace period is waited for. Then, if it `waits`, what other threads are running here is
    /// waited for; not inside a section of any domain or a callback. Returns the number of items. What is
    /// left is the worker's.
    ///
    /// # Safety
    /// No reader uses what is queued here, or is queued before this returns.
    pub unsafe fn free_now(&'static self, code: &[Lane], waits: bool) -> u64 {
        let until = Until::NEVER;
        let env = self.env();
        let waits = waits && !env.threads.in_any_section(&env.local()) && !self.in_callback();
        let mut ran = 0;
        while self.held().0 > 0 {
            let all = |core: &QueueCore| (!core.is_idle()).then_some(Cause::Drain);
            if self.sweep(all, |core| core.cpu.finish()).is_err() {
                count(&self.counters.worker_errors);
                break;
            }
            let now = self.run_round(u64::MAX, until, code);
            ran += now;
            if now == 0 && !waits {
                break;
            }
            if now == 0 {
                self.wait_for_others(until);
            }
        }
        self.rearm(false);
        if self.held().0 > 0 {
            self.kick_worker();
        }
        ran
    }

    fn drain_passes(&'static self, until: Until, ran: &mut u64) -> Result<(), SyncError> {
        while self.drain_pass(until, ran)? {}
        Ok(())
    }

    /// One pass over all queues: frees and runs what is ready, once more after a grace period if something
    /// waits for one. False: there is nothing left to do here.
    pub fn drain_pass(&'static self, until: Until, ran: &mut u64) -> Result<bool, SyncError> {
        let can_wait = !self.in_section() && !self.in_callback();
        self.sweep(|core| (!core.is_idle()).then_some(Cause::Drain), |_| ())?;
        let now = self.run_some(u64::MAX, until);
        *ran += now;
        let waits = self.taken_waits();
        if until.is_over(self.env()) || (!can_wait && now == 0) {
            return Ok(false);
        }
        if waits && can_wait {
            let how = How {
                deadline: until.deadline,
                ..How::default()
            };
            match self.synchronize(how) {
                Err(SyncError::TimedOut { .. }) => return Ok(false),
                other => other?,
            }
            *ran += self.run_some(u64::MAX, until);
        } else if now == 0 && self.held().0 == 0 && !self.is_left_with_work() {
            return Ok(false);
        } else if now == 0 {
            self.wait_for_others(until);
        }
        Ok(true)
    }

    /// True while a dropped domain has left something that another thread runs or is about to run. (The
    /// callback that covers it, which ran here, found that thread at work, and did not wait for it.)
    fn is_left_with_work(&'static self) -> bool {
        let env = self.env();
        std::ptr::eq(self, &env.state) && env.registry.domains.iter().any(Domain::is_left_with_work)
    }

    /// Waits until another thread's callback has returned; sleeps briefly if none is running.
    fn wait_for_others(&'static self, until: Until) {
        self.drainers.fetch_add(1, Ordering::Relaxed);
        let word = self.drain_word.load(Ordering::Relaxed);
        // A thread that reports to a queue after this check (under its lock) sees `drainers`, and changes the
        // word.
        let others = self.queues().any(|queue| {
            let core = queue.lock();
            core.cpu.lists().iter().any(|list| list.out() > 0)
        });
        if others {
            prim::futex_wait(&self.drain_word, word, until.left());
        } else {
            // A thread is in the middle of a push, possibly for long: it may have no CPU, perhaps because of
            // us.
            prim::doze();
        }
        self.drainers.fetch_sub(1, Ordering::Relaxed);
    }
}
