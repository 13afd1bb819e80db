//! The worker's passes: they process the queues of all domains, and the tasks that wait for their grace
//! periods.
//!
//! A grace period needs a fence, and one more if a reader blocks it; so does a take-over of queues, and so
//! does the request that a reader call the worker. Done one after the other, a thousand domains with
//! something due at the same time would need several thousand fences. So each domain proceeds until it needs
//! a fence, and waits there; the worker issues one fence for all of them; then each continues.
//!
//! ```text
//!   queues are chosen ─► rounds ─► ready callbacks run ─┬─► as long as there is work
//!                                  reports, tasks       └─► the next domains
//!
//!   a round:  each domain takes its queues over, then drives, up to a fence or to the end
//!             ─► one fence for all that need one
//! ```
//!
//! The worker never waits for a reader. Where one blocks a grace period, the worker leaves with the wake
//! flags set, and declares itself *interested*: the reader that ends the last section, or a thread that has
//! driven, then calls it. So a section that does not end delays only what waits for it. Until then the worker
//! sleeps, with one timer for all domains.
//!
//! # Invariants
//! * No code of the program (callbacks, reports, wakers) runs during rounds: each domain that waits for a
//!   fence has its driver's role held, or its queues half taken, and other threads wait for that.
//! * No lock but those of sweeps is held at a fence. Sweeps are locked in the order of [`Env::states`].
//! * The worker processes at most [`TOGETHER`] domains at a time. It holds a role while the others reach
//!   their fences, some microseconds each; with a thousand, waiters would take over the driver's role.
//! * A domain that another thread drives, or whose role was taken while it waited for its fence, drops out of
//!   the round, as with a fence of its own.
//! * A refused fence is refused to all domains that asked for it; each is given up separately.
//! * A worker that was replaced while it ran code of the program accesses nothing any more: its successor
//!   processes every domain.
//!
//! # Edges
//! `[CT-1]` the worker declares its interest, *heavy fence*, then drives once more. A reader ends its
//! section, *light fence*, then loads the flag and the worker's interest. Either the worker finds the reader
//! outside, or the reader finds the worker's interest.
//!
//! # Memory pressure
//! When memory is low, lazy callbacks are due at once.
//!
//! There are three sources: the program (`tuning::memory_is_low`), the kernel about the whole machine or the
//! process's control group (PSI: a task had to wait for memory), and the kernel about the limits of that
//! group (`memory.high`, `memory.max`). The engine reacts ([`quiescent_engine::pressure`]): every later
//! deadline is due now, at most ten times a second.
//!
//! ## Listening
//! The worker opens the descriptors of the kernel's sources once, when it starts. They are in its `epoll` set
//! only while something is queued that has to wait (rule R5): they are added when the timer is set to a time
//! at least one second away, and removed when it is stopped. Anything with an earlier deadline is gone before
//! most sources would report. The thread that sets the timer adds them: four system calls, once for
//! everything that is queued until the next flush.
//!
//! ## Invariants of the sources
//! * While sources are armed, the timer is set. Both change under the timer's lock.
//! * What a source noted before it is armed is discarded: nothing was queued then.
//! * An unavailable source is not an error: the other sources, the program and the flush times remain.
//!   `Statistics::pressure_sources` reports the available ones.

use std::cell::Cell;

use quiescent_engine::credit::{Cause, Refill};
use quiescent_engine::stall::Stalled;
use quiescent_engine::{Interest, Look};

use crate::domain::counters::is_late;
use crate::domain::driver::{Drive, Turn};
use crate::domain::env::{Env, Fenced};
use crate::domain::error::SyncError;
use crate::domain::settings::DRAINED;
use crate::domain::state::State;
use crate::domain::sweep::{Sweep, Until};
#[cfg(not(quiescent_model))]
use crate::domain::tasks::Awaits;
use crate::os::Woken;
use crate::prim::counters::count;
use crate::prim::{self, Ordering, TOGETHER};
use crate::queue::per_thread::QueueCore;
use crate::reader::word::nap_ns;

/// Nanoseconds after which the worker retries what failed for lack of memory.
const RETRY: u64 = 1_000_000_000;

/// Most passes over the same domains before the others get their turn: a callback may queue itself forever.
pub(super) const PASSES: u32 = 64;

/// The worker's work in a domain: a pass, and another one if the pass found work.
struct Pass {
    state: &'static State,
    /// The pass has found work.
    busy: bool,
    stage: Stage,
    turn: Option<Turn<'static>>,
    /// The domain's `gp_seq` when the pass began: a change means that a grace period has ended.
    before: u64,
    /// The readers flagged before the fence of `[CT-1]`; `None` before that fence is requested.
    flagged: Option<u64>,
    /// To be reported when no role is held.
    report: Option<Stalled>,
    /// The time of the next check of a driver that does not seem to run.
    look: Option<u64>,
}

/// The progress of a pass.
enum Stage {
    Sweeping(Sweep),
    Driving,
    /// Nothing waits for a grace period, or one has ended, or a reader blocks it.
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

    /// Begins a pass: chooses queues.
    fn begin(&mut self) {
        let state = self.state;
        let now = prim::now_ns();
        let mut core = state.lock();
        core.expire(now);
        let low = core.engine.take_pressure(State::now(now));
        let all = core.engine.sweeps_all(); // the budget is nearly used up
        drop(core);
        let due = |core: &QueueCore| {
            let whole = || (all && !core.is_idle()).then_some(Cause::Budget);
            core.cpu.due(State::now(now), low).or_else(whole)
        };
        let sweep = Sweep::begin(state, due);
        self.busy = sweep.chosen > 0;
        self.stage = Stage::Sweeping(sweep);
        (self.flagged, self.look) = (None, None);
        self.before = state.root_seq.load(Ordering::Acquire);
    }

    /// Continues until a reader or a fence is needed: true if it needs a fence. `fenced` is the result of the
    /// requested fence, if one was requested.
    fn advance(&mut self, mut fenced: Option<Fenced>) -> bool {
        while let Stage::Sweeping(sweep) = &mut self.stage {
            if sweep.owned {
                match fenced.take() {
                    None => return true,
                    Some(Ok(time)) => {
                        count(&self.state.counters.fences_take);
                        self.state.lock().fence_ended(time);
                    }
                    Some(Err(errno)) => {
                        self.stage = Stage::Failed(SyncError::FenceRefused { errno });
                        return false;
                    }
                }
            }
            sweep.take(|_| ()); // [RET-2]
            if sweep.left == 0 {
                self.stage = match self.state.something_waits() {
                    true => Stage::Driving,
                    false => {
                        self.state.lose_interest(); // another thread has completed it
                        Stage::Over
                    }
                };
            }
        }
        match self.stage {
            Stage::Driving => self.drive(fenced.unwrap_or(Ok(None))),
            _ => false,
        }
    }

    /// Drives grace periods as far as possible. Asks a reader that blocks one to call the worker when it ends
    /// its section.
    fn drive(&mut self, fenced: Fenced) -> bool {
        let end = match (&mut self.turn, fenced) {
            (Some(turn), fenced) => turn.drive_fenced(fenced, Interest::Poller),
            (None, Ok(_)) => self.take_role(),
            (None, Err(errno)) => Drive::Failed(SyncError::FenceRefused { errno }),
        };
        if end == Drive::Fence {
            return true;
        }
        if let Some(mut turn) = self.turn.take() {
            turn.leave();
        }
        match end {
            Drive::Stalled(stalled) => self.report = self.report.or(Some(stalled)),
            Drive::Failed(error) => {
                self.stage = Stage::Failed(error);
                return false;
            }
            _ => {}
        }
        let waits = self.waits_for_reader();
        if !waits {
            self.stage = Stage::Over;
        }
        waits
    }

    /// Drives, if there is no driver, until the engine would wait or fence.
    fn take_role(&mut self) -> Drive {
        let state = self.state;
        let mut core = state.lock();
        if !core.engine.busy() {
            return Drive::Home;
        }
        let taken = state.take_role(&mut core, None, Interest::Poller);
        if let Look::At(at) = taken {
            self.look = Some(at).filter(|&at| at != u64::MAX);
            return Drive::GaveUp; // the driver, if it runs, calls us when it leaves
        }
        let turn = self.turn.insert(Turn::begin_batched(state, core, taken));
        turn.drive(Interest::Poller, None)
    }

    /// The drive is over. True if it has to be repeated behind a fence, so that the blocking reader calls the
    /// worker.
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
            // A reader that ends meanwhile may miss a flag set only now: repeat behind another fence.
            Some(before) if flagged == before => return false,
            Some(_) => {}
        }
        self.flagged = Some(flagged);
        true
    }

    /// Ends the pass. No role is held. True if another pass is needed now.
    fn end(&mut self) -> bool {
        let state = self.state;
        if let Some(stalled) = self.report.take() {
            state.report_stall(stalled);
        }
        if let Stage::Failed(error) = &self.stage {
            // The attempt failed: a thread that makes progress calls the worker, or else the retry time does.
            state.interested.swap(1, Ordering::AcqRel);
            let retry = state.give_up(error);
            #[cfg(feature = "helpers")]
            state.look_at_owners();
            state.rest_until(true, retry);
            return false;
        }
        let code = !state.has(DRAINED);
        let ran = state.run_as_worker(Until { deadline: None }, code);
        state.env().host.look_at_overflow();
        #[cfg(not(quiescent_model))]
        {
            let done = |it: Awaits| it.is_some_and(|cookie| state.is_done(cookie));
            if state.tasks.any(done) {
                let wake = || state.wake_tasks(&done);
                state.env().watched(|| "the waker of a task", wake);
            }
        }
        if state.unreported.load(Ordering::Acquire) != 0 {
            state.deliver_reports();
        }
        #[cfg(feature = "helpers")]
        state.look_at_owners();
        if !code && state.code_is_ready() {
            state.env().host.ready();
        }
        if state.env().host.is_dismissed() {
            return false;
        }
        // What became ready just now, by the grace period of another thread, causes no call.
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
    /// Nothing may be freed now: it stays queued and counted. Returns the time of the next attempt, if one
    /// may succeed.
    pub(super) fn give_up(&'static self, error: &SyncError) -> Option<u64> {
        let refused = self.refuse(error);
        self.give_up_barrier();
        (!refused).then(|| prim::now_ns() + RETRY)
    }

    /// The worker needs no call when a grace period can continue.
    fn lose_interest(&self) {
        self.interested.store(0, Ordering::Relaxed);
        self.naps.store(0, Ordering::Relaxed);
    }

    /// The flagged readers among the holdouts, as a number that changes with them.
    pub(super) fn flagged(&self) -> u64 {
        let core = self.lock();
        self.readers().flagged(core.engine.holdouts())
    }

    /// True if an item of the worker waits for a grace period.
    fn something_waits(&'static self) -> bool {
        #[cfg(not(quiescent_model))]
        {
            let waits = |it: Awaits| it.is_some_and(|cookie| !self.is_done(cookie));
            if self.tasks.any(waits) {
                return true;
            }
        }
        self.taken_waits()
    }
}

impl Env {
    /// The worker's loop, until another thread has its role (false), or it is to end.
    pub fn serve(&'static self) -> bool {
        // The worker processes every state first, whatever its predecessor had done.
        for state in self.states() {
            state.called.store(1, Ordering::Release);
        }
        loop {
            self.look_after(self.states());
            if self.host.is_dismissed() {
                return false;
            }
            self.set_alarm();
            self.host.rest();
            self.publish();
            if self.host.ends_worker() {
                return true;
            }
            if let Some(woken) = self.alarm.sleep() {
                self.woken(woken);
            }
        }
    }

    /// Processes those of these domains that have work due. The calling thread is the worker.
    pub fn look_after(&'static self, states: impl Iterator<Item = &'static State>) {
        self.host.look_at_overflow(); // the timer may have been set for this check only
        let late = Cell::new(false);
        let due = states.filter(|state| state.is_due(&late));
        let mut due = due.map(Pass::of).fuse();
        // Nearly always one domain is due. The worker may be a thread with a small stack.
        while let Some(first) = due.next() {
            let goes_on = match due.next() {
                None => self.work_through(&mut [Some(first)]),
                Some(second) => self.work_together(first, second, &mut due),
            };
            if !goes_on {
                return;
            }
        }
    }

    /// Processes up to [`TOGETHER`] domains. A separate function, for the stack's size.
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

    /// Repeats passes over these domains until no work remains. False: another worker has taken over.
    fn work_through(&'static self, passes: &mut [Option<Pass>]) -> bool {
        let mut rounds = 0;
        while passes.iter().any(Option::is_some) {
            rounds += 1;
            passes.iter_mut().flatten().for_each(Pass::begin);
            self.advance_together(passes);
            for place in &mut *passes {
                let Some(pass) = place else { continue };
                let again = pass.end();
                if self.host.is_dismissed() {
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

    /// Rounds: all passes proceed until they need a fence, until none needs one.
    fn advance_together(&self, passes: &mut [Option<Pass>]) {
        let mut fenced = None;
        loop {
            let (mut needs, mut last) = (0, None);
            for pass in passes.iter_mut().flatten() {
                if !matches!(pass.stage, Stage::Over | Stage::Failed(_)) && pass.advance(fenced) {
                    needs += 1;
                    last = Some(pass.state.domain());
                }
            }
            if needs == 0 {
                return;
            }
            let only = last.filter(|_| needs == 1);
            fenced = Some(self.deferred_fence_for(needs, only)); // [GP-1] [GP-2] [CT-1] [RET-2]
        }
    }

    /// Sets the timer to the earliest time at which a domain has work due, or stops it.
    pub fn set_alarm(&'static self) {
        self.alarm.follow(|| {
            let armed = self
                .states()
                .filter_map(|state| state.lock().engine.armed());
            let times = self
                .states()
                .map(|state| state.look_at.load(Ordering::Relaxed));
            let times = times.filter(|&at| at != 0);
            armed.chain(times).chain(self.host.overflow_look()).min()
        });
    }
}

impl State {
    /// True if this domain was called or has a deadline that has passed. Other domains are skipped:
    /// processing one that waits for readers costs a fence. `late`: one was late in this round.
    fn is_due(&self, late: &Cell<bool>) -> bool {
        let called = self.called.swap(0, Ordering::AcqRel) != 0;
        let called_at = match called {
            true => self.called_at.swap(0, Ordering::Relaxed),
            false => 0,
        };
        let look_at = self.look_at.load(Ordering::Relaxed);
        let armed = self.lock().due().unwrap_or(0);
        let now = prim::now_ns();
        let times = [called_at, look_at, armed].into_iter();
        let since = times.filter(|at| (1..=now).contains(at)).min();
        let due = called || since.is_some();
        if due {
            count(&self.counters.worker_passes);
        }
        // Once: what is due may stay so for many rounds, while another thread drives.
        let is_new = |since| self.late_to.fetch_max(since, Ordering::Relaxed) < since;
        if since.is_some_and(|since| is_late(since, now) && is_new(since)) && !late.replace(true) {
            count(&self.env().state.counters.late_wakeups);
        }
        due
    }
}

impl State {
    /// No work remains here before a call, the time `at`, or a deadline; `blocked` excludes deadlines. If a
    /// grace period waits, it is looked at when its readers may have to be reported, or may have left
    /// unheard.
    pub fn rest_until(&'static self, blocked: bool, at: Option<u64>) {
        let owners = self.rearm(blocked);
        let (mut report, mut nap) = (None, None);
        if self.interested.load(Ordering::Relaxed) != 0 {
            let stall_ns = self.lock().engine.config().pace.stall_ns;
            let now = prim::now_ns();
            report = (stall_ns > 0 && !blocked).then(|| now.saturating_add(stall_ns));
            if !cfg!(quiescent_model) && self.may_miss_readers() {
                let naps = self.naps.fetch_add(1, Ordering::Relaxed);
                nap = Some(now.saturating_add(nap_ns(naps))); // [RD-4]
            }
        }
        let look_at = sooner(sooner(at, report), sooner(nap, owners));
        self.look_at.store(look_at.unwrap_or(0), Ordering::Relaxed);
    }

    /// Sets the domain's timer to the earliest deadline. `blocked`: the remaining deadlines have passed.
    /// Returns when an owner that was seen in a destructor is to be looked at again, to be reported.
    pub fn rearm(&'static self, blocked: bool) -> Option<u64> {
        // From here on a thread that queues sets the timer; the loop below sees what was queued before.
        self.lock().engine.disarm();
        let (mut earliest, mut owners) = (None, None);
        let hears = self.env().host.stalls().is_some();
        for queue in self.queues() {
            let core = queue.lock();
            earliest = sooner(earliest, core.cpu.deadline());
            owners = sooner(owners, queue.next_look(&core).filter(|_| hears));
        }
        match earliest {
            _ if blocked => {}
            Some(earliest) => _ = self.lock().engine.arm(earliest),
            None => self.lock().engine.calm(),
        }
        owners
    }
}

/// The earlier of two times.
fn sooner(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

impl Env {
    /// The worker has slept; `by` says what woke it.
    pub fn woken(&'static self, by: Woken) {
        let counters = &self.state.counters;
        match by {
            Woken { pressure: true, .. } => count(&counters.woken_pressure),
            Woken { kick: true, .. } => count(&counters.woken_kick),
            Woken { timer: true, .. } => count(&counters.woken_timer),
            _ => {} // by a signal
        }
        if by.low {
            count(&counters.pressure_events);
            self.states().for_each(State::memory_low);
        }
    }
}

impl State {
    /// A source reports that memory is low.
    pub fn memory_low(&'static self) {
        let is_pending = self.lock().engine.memory_is_said_low();
        if is_pending || self.held().0 == 0 {
            return;
        }
        let low = self.lock().engine.memory_low(State::now(prim::now_ns()));
        self.arm_and_kick(Refill {
            arm: low.arm,
            kick: low.kick,
            ..Refill::default()
        });
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests;
