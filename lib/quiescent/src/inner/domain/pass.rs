//! The worker's passes: looking after what is queued in all domains, and after tasks that wait for their grace
//! periods.
//!
//! A grace period needs a fence, and one more with a reader in the way; so does a take-over of queues, and so does
//! leaving it to a reader to call. One after the other, a thousand domains with something due at the same time
//! would cost as many thousands. So each is brought as far as it needs a fence, and waits there; one fence is
//! issued for all of them; and each goes on.
//!
//! ```text
//!   queues are chosen ─► rounds ─► what is done is run ─┬─► as long as there is something
//!                                  reports, tasks       └─► the next ones
//!
//!   a round:  each domain takes its queues over, then drives, up to a fence or to the end
//!             ─► one fence for all that have come to one
//! ```
//!
//! The worker never waits for a reader. Where one is in the way it leaves with the wake flags set, and says that it
//! is *interested*: the reader that ends the last section, or a thread that has driven, calls it then. So a section
//! that does not end holds up what waits for it, and nothing else. Until then the worker sleeps, with one timer for
//! all domains.
//!
//! # Invariants
//! * No code of the program (callbacks, reports, wakers) is called during rounds: each domain that has come to a
//!   fence has its driver's role held, or its queues half taken, and others wait for that.
//! * No lock but those of sweeps is held at a fence. Sweeps are locked in the order of [`Env::states`].
//! * No more than [`TOGETHER`] domains are in hand. A role is held for as long as the others take to come to their
//!   fences, which is some microseconds each; a thousand would hold a role so long that those who wait take it for
//!   lost. So many fences less are enough: what is left of them is a sixty-fourth.
//! * A domain that others drive, or whose role was taken while it waited for its fence, drops out of the round, as
//!   before a fence of its own.
//! * A refused fence is refused to all that asked for it; each is given up by itself.
//! * A worker that was replaced while it ran code of the program touches nothing any more: its successor looks at
//!   every domain.
//!
//! # Edges
//! `[CT-1]` the worker says that it is interested, *heavy fence*, then drives once more. A reader ends its section,
//! *light fence*, then looks at the flag, and whether the worker is interested. Either the worker finds the reader
//! outside, or the reader finds the worker.

use quiescent_engine::credit::Cause;
use quiescent_engine::{Interest, Look, Pace};

use crate::error::SyncError;
use crate::inner::defer::sweep::{Sweep, Until};
use crate::inner::domain::counters::count;
use crate::inner::domain::env::Env;
use crate::inner::domain::state::State;
use crate::inner::gp::driver::{Drive, Turn};
use crate::inner::prim::{self, Ordering, TOGETHER};
use crate::inner::queue::per_thread::Core;
use crate::watch::stall::StallReport;
use crate::watch::telemetry;

/// After so many nanoseconds the worker tries again what failed for want of memory.
const RETRY: u64 = 1_000_000_000;

/// After so many passes over the same domains the others have their turn: a callback may queue itself for ever.
const PASSES: u32 = 64;

/// What the worker has to do in a domain: a pass, and another one if there was something to do.
struct Pass {
    state: &'static State,
    /// The pass has found something to do.
    busy: bool,
    stage: Stage,
    turn: Option<Turn<'static>>,
    /// The domain's number of grace periods when the pass began: if it has changed, one has ended.
    before: u64,
    /// Which readers were flagged before the fence of `[CT-1]`; `None` before it is asked for.
    flagged: Option<u64>,
    /// To be told when no role is held.
    report: Option<StallReport>,
    /// When to look again at a driver that is not seen to run.
    look: Option<u64>,
}

/// How far a pass has come.
enum Stage {
    Sweeping(Sweep),
    Driving,
    /// Nothing waits for a grace period, or one has ended, or a reader is in the way.
    Over,
    Failed(SyncError),
}

impl Pass {
    fn of(state: &'static State) -> Pass {
        Pass {
            state,
            busy: false,
            stage: Stage::Over,
            turn: None,
            before: 0,
            flagged: None,
            report: None,
            look: None,
        }
    }

    /// Begins: chooses queues.
    fn begin(&mut self) {
        let state = self.state;
        let now = prim::now_ns();
        let mut core = state.lock();
        core.expire(now);
        let low = core.take_pressure(now);
        let all = core.sweeps_all(); // the budget is near
        drop(core);
        let due = |core: &Core| {
            let whole = || (all && !core.is_idle()).then_some(Cause::Budget);
            core.cpu.due(State::now(now), low).or_else(whole)
        };
        let sweep = Sweep::begin(state, due);
        self.busy = sweep.chosen > 0;
        self.stage = Stage::Sweeping(sweep);
        (self.flagged, self.look) = (None, None);
        self.before = state.root_seq.load(Ordering::Acquire);
    }

    /// Goes on as far as that needs neither a wait for readers nor a fence: true if it needs one. `fenced` is what
    /// became of the fence that was asked for, if one was.
    fn advance(&mut self, mut fenced: Option<Result<(), i32>>) -> bool {
        while let Stage::Sweeping(sweep) = &mut self.stage {
            if sweep.needs_fence() {
                match fenced.take() {
                    None => return true,
                    Some(Ok(())) => count(&self.state.counters.fences_take),
                    Some(Err(errno)) => {
                        self.stage = Stage::Failed(SyncError::FenceRefused { errno });
                        return false;
                    }
                }
            }
            sweep.take(|_| ()); // [RET-2]
            if sweep.is_over() {
                self.stage = match self.state.something_waits() {
                    true => Stage::Driving,
                    false => {
                        self.state.lose_interest(); // another thread has seen to it
                        Stage::Over
                    }
                };
            }
        }
        match self.stage {
            Stage::Driving => self.drive(fenced.unwrap_or(Ok(()))),
            _ => false,
        }
    }

    /// Drives grace periods as far as they go. If a reader is in the way, it is told to say when it is not.
    fn drive(&mut self, fenced: Result<(), i32>) -> bool {
        let end = match (&mut self.turn, fenced) {
            (Some(turn), fenced) => turn.drive_fenced(fenced, Interest::Poller),
            (None, Ok(())) => self.take_role(),
            (None, Err(errno)) => Drive::Failed(SyncError::FenceRefused { errno }),
        };
        if end == Drive::Fence {
            return true;
        }
        let turn = self.turn.take();
        match (end, turn) {
            (Drive::Stalled(stalled), Some(mut turn)) => {
                let report = turn.leave_with_report(stalled);
                self.report = self.report.take().or(report);
            }
            (Drive::Failed(error), turn) => {
                turn.into_iter().for_each(|mut turn| turn.leave());
                self.stage = Stage::Failed(error);
                return false;
            }
            (_, turn) => turn.into_iter().for_each(|mut turn| turn.leave()),
        }
        let waits = self.waits_for_reader();
        if !waits {
            self.stage = Stage::Over;
        }
        waits
    }

    /// Drives, if there is no driver, until the engine would have the driver wait, or fence.
    fn take_role(&mut self) -> Drive {
        let state = self.state;
        let mut core = state.lock();
        if !core.engine.busy() {
            return Drive::Home;
        }
        let taken = state.take_role(&mut core, None, Interest::Poller);
        if let Look::At(at) = taken {
            self.look = Some(at).filter(|&at| at != u64::MAX);
            return Drive::GaveUp; // the driver tells us when it leaves, if it runs
        }
        let turn = self.turn.insert(Turn::begin_apart(state, core, taken));
        turn.drive(Interest::Poller, None)
    }

    /// The drive is over. True if it has to be done once more, behind a fence, so that the reader that is in the
    /// way tells us.
    fn waits_for_reader(&mut self) -> bool {
        if self.state.root_seq.load(Ordering::Acquire) != self.before {
            self.busy = true;
            return false;
        }
        let flagged = self.state.flagged();
        match self.flagged {
            None => {
                self.state.interested.swap(1, Ordering::AcqRel); // [CT-1]
            }
            // A flag that was set only now may be missed by a reader that ends meanwhile: once more, behind
            // another fence.
            Some(before) if flagged == before => return false,
            Some(_) => {}
        }
        self.flagged = Some(flagged);
        true
    }

    /// The rest of a pass. No role is held. True if there has to be another one now.
    fn end(&mut self) -> bool {
        let state = self.state;
        state.tell_stall(self.report.take());
        if let Stage::Failed(error) = &self.stage {
            // It has tried: a thread that gets on tells it, and else it is time that does.
            state.interested.swap(1, Ordering::AcqRel);
            let retry = state.give_up(error);
            state.rest_until(true, retry);
            return false;
        }
        let code = !state.is_drained();
        let ran = state.run_as_worker(Until { deadline: None }, code);
        state.env().look_at_overflow();
        #[cfg(not(quiescent_model))]
        if !state.tasks.is_empty() {
            let done = state.tasks.choose(|cookie| state.is_done(cookie));
            state
                .env()
                .watched(|| "the waker of a task", || done.wake());
        }
        if state.untold.load(Ordering::Acquire) != 0 {
            state.tell_news();
        }
        if !code && state.code_is_ready() {
            crate::report::ready();
        }
        if state.env().watch.is_dismissed() {
            return false;
        }
        // What became done just now, by the grace period of another thread, announces itself to nobody.
        let again = self.busy || ran > 0 || state.taken_is_ready();
        if !again {
            if !state.is_home() {
                state.shrink();
            }
            state.rest_until(false, self.look);
        }
        again
    }
}

impl State {
    /// Is there something to be done here? No look at a domain that has not called and has nothing due: a wake-up
    /// is on account of one of them, and a look at one that waits for readers costs a fence.
    fn is_due(&self) -> bool {
        let look_at = Some(self.look_at.load(Ordering::Relaxed)).filter(|&at| at != 0);
        let called = self.called.swap(0, Ordering::AcqRel) != 0;
        let armed = self.lock().engine.armed();
        let now = prim::now_ns();
        let due = called || armed.into_iter().chain(look_at).any(|at| at <= now);
        if due {
            count(&self.counters.worker_passes);
        }
        due
    }

    /// Nothing is left to be done here before a call, this time, or a deadline, unless it is `blocked`.
    fn rest_until(&'static self, blocked: bool, at: Option<u64>) {
        self.rearm(blocked);
        let report = self.next_report().filter(|_| !blocked);
        let look_at = at.into_iter().chain(report).min();
        self.look_at.store(look_at.unwrap_or(0), Ordering::Relaxed);
    }

    /// Sets the domain's timer to the earliest deadline there is. `blocked`: deadlines that are left have passed.
    pub(crate) fn rearm(&'static self, blocked: bool) {
        // From here on a thread that queues sets the timer; what was queued before is seen below.
        self.lock().disarm();
        let deadlines = self
            .queues()
            .filter_map(|queue| queue.lock().cpu.deadline());
        match deadlines.min() {
            _ if blocked => {}
            Some(earliest) => self.lock().arm(earliest),
            None => self.lock().calm(),
        }
    }

    /// While readers are in the way: when that may have to be reported.
    fn next_report(&self) -> Option<u64> {
        if self.interested.load(Ordering::Relaxed) == 0 {
            return None;
        }
        match self.lock().engine.config().pace {
            Pace::Direct { stall_ns, .. } if stall_ns > 0 => {
                Some(prim::now_ns().saturating_add(stall_ns))
            }
            _ => None,
        }
    }

    /// Nothing may be freed now. It is held, and counted; if there is hope, it is tried again at the time returned.
    fn give_up(&'static self, error: &SyncError) -> Option<u64> {
        let refused = self.refuse(error);
        self.give_up_barrier();
        #[cfg(not(quiescent_model))]
        self.tasks.wake();
        (!refused).then(|| prim::now_ns() + RETRY)
    }

    /// The worker need not be told when a grace period may go on.
    fn lose_interest(&self) {
        self.interested.store(0, Ordering::Relaxed);
    }

    /// Which readers that are in the way are flagged, as a number that changes when that does.
    fn flagged(&self) -> u64 {
        let core = self.lock();
        self.readers().flagged(core.engine.holdouts())
    }

    /// Does something that the worker looks after wait for a grace period?
    fn something_waits(&'static self) -> bool {
        #[cfg(not(quiescent_model))]
        if self.tasks.any(|cookie| !self.is_done(cookie)) {
            return true;
        }
        self.taken_waits()
    }
}

impl Env {
    /// Looks at these domains, and does what is due there. The calling thread is the worker.
    pub(crate) fn look_after(&'static self, states: impl Iterator<Item = &'static State>) {
        self.look_at_overflow(); // the timer may have been set for that, and nothing be due
        let mut due = states.filter(|state| state.is_due()).map(Pass::of).fuse();
        // Nearly always one is due. The worker may be a thread with a small stack.
        while let Some(first) = due.next() {
            let goes_on = match due.next() {
                None => self.work_through(&mut [Some(first)]),
                Some(second) => self.work_together(first, second, &mut due),
            };
            if !goes_on {
                return;
            }
        }
        telemetry::publish_if_on();
    }

    /// As many as may be in hand. In a function of its own, for the stack.
    #[inline(never)]
    fn work_together(
        &'static self,
        first: Pass,
        second: Pass,
        others: &mut impl Iterator<Item = Pass>,
    ) -> bool {
        let mut passes = [const { None }; TOGETHER];
        let all = [first, second].into_iter().chain(others);
        for (place, pass) in passes.iter_mut().zip(all) {
            *place = Some(pass);
        }
        self.work_through(&mut passes)
    }

    /// Passes over these domains until nothing is left to do there. False: another worker has taken over.
    fn work_through(&'static self, passes: &mut [Option<Pass>]) -> bool {
        let mut rounds = 0;
        while passes.iter().any(Option::is_some) {
            rounds += 1;
            passes.iter_mut().flatten().for_each(Pass::begin);
            self.advance_together(passes);
            for place in &mut *passes {
                let Some(pass) = place else { continue };
                let again = pass.end();
                if self.watch.is_dismissed() {
                    return false;
                }
                if again && rounds >= PASSES {
                    pass.state.call(); // after the others
                    pass.state.rest_until(false, None);
                }
                if !again || rounds >= PASSES {
                    *place = None;
                }
            }
        }
        true
    }

    /// Rounds: all go as far as they need a fence, until none needs one.
    fn advance_together(&self, passes: &mut [Option<Pass>]) {
        let mut fenced = None;
        loop {
            let mut needs = 0;
            for pass in passes.iter_mut().flatten() {
                if !matches!(pass.stage, Stage::Over | Stage::Failed(_)) && pass.advance(fenced) {
                    needs += 1;
                }
            }
            if needs == 0 {
                return;
            }
            fenced = Some(self.heavy_fence_for(needs)); // [GP-1] [GP-2] [CT-1] [RET-2]
        }
    }

    /// Sets the timer to the earliest time at which a domain has to be looked at, or stops it.
    pub(crate) fn set_alarm(&'static self) {
        self.alarm.follow(|| {
            let armed = self
                .states()
                .filter_map(|state| state.lock().engine.armed());
            let looks = self
                .states()
                .map(|state| state.look_at.load(Ordering::Relaxed));
            let looks = looks.filter(|&at| at != 0);
            armed.chain(looks).chain(self.overflow_look()).min()
        });
    }
}
