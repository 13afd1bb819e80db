//! Driving a grace period.
//!
//! A thread that needs a grace period and finds the driver role free drives it itself: no thread switch, no
//! worker. All others wait ([`waiting`](crate::domain::waiting)). The engine decides every step ([`Next`]);
//! this file executes it.
//!
//! # Rules
//! * System calls, fences, spins and wake-ups happen with no lock held.
//! * Sequence numbers for lock-free polls are published before the lock is released, so that they never
//!   decrease.
//! * A driver that leaves, for whatever reason, hands its role over if there are waiters. A waiter that was
//!   asked to drive and leaves instead passes the request on.
//! * A driver may stop forever between two of its steps: waiters check it at times that the engine sets, and
//!   take its role if it has made no progress. So each time a driver takes the lock again it first checks
//!   whether it still is the driver. One that is not makes no further call of the engine, wakes the waiters
//!   that it still had to wake, and waits like any other thread, at its old place in the list.
//! * For the same reason a waiter that checks the driver also checks whether it is itself satisfied: the
//!   driver may have stopped before waking it.
//!
//! # Interrupted turns
//! * Code of the program (a report) is called without the role.
//! * A driver with *batched* fences returns where it needs one ([`Drive::Fence`]), with the role and without
//!   any lock. Its caller issues one fence for all drivers that have returned, and lets each continue. A
//!   fence later than the request is equally valid; and if the role was lost meanwhile, that is detected as
//!   after a driver's own fence.
//!
//! # Cookies
//! A caller that polls drives the grace period as far as that needs no waiting: polling alone completes it.
//!
//! # Edges
//! `[SNAP-1]` the caller's updates, a *full fence*, then the request. `[GP-1]` the grace period starts,
//! *heavy fence*, then the first scan of readers. `[GP-2]` flags are set, *heavy fence*, then the last scan
//! before sleeping. `[FS-1]` the sleeper is declared with a locked instruction before the last scan of the
//! flags; a reader clears its flag before it takes the sleeper. `[WT-1]` a grace period's end, release of the
//! waiter's word, its acquire. `[POLL-1]` release of the published number; acquire, and a full fence when a
//! poll succeeds.

use std::time::Duration;

use quiescent_engine::owner::STEPS_A_HOLD;
use quiescent_engine::stall::Stalled;
use quiescent_engine::{CpuId, FenceCause, Global, Interest, Look, Next, Phase, Pos, Seq};

use crate::domain::env::Fenced;
use crate::domain::error::SyncError;
use crate::domain::state::{Core, NO_SLEEPER, State};
use crate::domain::waiters::Wakes;
use crate::prim::counters::{add, count};
use crate::prim::{self, MutexGuard, Ordering, full_fence};
use crate::reader::word::{FLAG_CLEAR, FLAG_WAKE, nap_ns};

/// Parameters of a wait.
#[derive(Clone, Copy, Debug, Default)]
pub struct How {
    /// Monotonic nanoseconds of the deadline.
    pub deadline: Option<u64>,
    /// Spin longer before sleeping.
    pub expedited: bool,
}

impl How {
    /// Expedited, without a deadline.
    pub const EXPEDITED: How = How {
        deadline: None,
        expedited: true,
    };

    /// With a deadline `timeout` from now.
    pub fn within(timeout: Duration) -> How {
        How {
            deadline: Some(deadline_after(timeout)),
            expedited: false,
        }
    }
}

/// The time `timeout` from now, in monotonic nanoseconds.
pub fn deadline_after(timeout: Duration) -> u64 {
    let timeout = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
    prim::now_ns().saturating_add(timeout)
}

/// How a drive ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Drive {
    /// The engine released the driver.
    Home,
    /// The deadline passed, or a poller would have had to wait.
    GaveUp,
    Failed(SyncError),
    /// Another thread has the role now.
    Replaced,
    /// The driver is to report this, and then to continue.
    Stalled(Stalled),
    /// The driver needs a fence, and shares it with others.
    Fence,
}

/// The value of `sleeper` while the driver of this epoch sleeps.
fn sleeper_of(epoch: u32) -> u32 {
    epoch << 1 | 1
}

/// A thread's use of the driver role: its progress, and the waiters to wake.
pub struct Turn<'a> {
    state: &'a State,
    core: Option<MutexGuard<'a, Core>>,
    wakes: Wakes,
    steps: u32,
    /// A grace period has ended, and `gp_ended` was not called yet.
    ended: bool,
    epoch: u32,
    /// Another thread has the role.
    lost: bool,
    /// The caller issues the fences of this turn.
    batched: bool,
    /// How often it has slept for readers that execute fences.
    naps: u32,
}

impl<'a> Turn<'a> {
    /// The role was `taken` just now.
    #[inline] // the result is large
    pub fn begin(state: &'a State, core: MutexGuard<'a, Core>, taken: Look) -> Turn<'a> {
        let mut turn = Turn {
            state,
            epoch: core.engine.driver_epoch(),
            core: Some(core),
            wakes: Wakes::new(),
            steps: 0,
            ended: false,
            lost: false,
            batched: false,
            naps: 0,
        };
        if taken == Look::TakenOver {
            // At most one driver sleeps, and a reader that wakes one wakes the thread that drives.
            turn.unlocked(State::wake_sleeper);
        }
        turn
    }

    /// Takes the lock, if it is not held, and checks whether this thread still has the role.
    #[inline]
    pub fn core(&mut self) -> &mut MutexGuard<'a, Core> {
        if self.core.is_none() {
            self.take_lock();
        }
        self.core.as_mut().expect("taken just now")
    }

    #[inline(never)]
    fn take_lock(&mut self) {
        let mut core = self.state.lock();
        self.lost = self.lost || !core.engine.resume(self.epoch);
        self.core = Some(core);
    }

    /// True if this thread still drives. Leaves the lock held, so that the answer stays valid.
    fn is_driver(&mut self) -> bool {
        self.core();
        !self.lost
    }

    /// Calls `what` with no lock held.
    #[inline]
    pub fn unlocked<T>(&mut self, what: impl FnOnce(&'a State) -> T) -> T {
        self.unlock();
        what(self.state)
    }

    /// Releases the lock, and wakes who waits for that.
    #[inline(never)]
    fn unlock(&mut self) {
        self.core = None;
        self.steps = 0;
        add(&self.state.counters.wakeups, self.wakes.wake() as u64);
        if std::mem::take(&mut self.ended) {
            self.state.gp_ended();
        }
    }

    /// Pieces of the grace period, until the engine asks for something else, or for a break.
    fn step(&mut self, now_ns: u64) -> Next {
        self.steps += 1;
        if self.steps > 1 {
            self.unlock();
        }
        if !self.is_driver() {
            return Next::Done;
        }
        let state = self.state;
        let core = self.core.as_mut().expect("taken by `is_driver`");
        let (engine, view) = core.beside(state.readers());
        let next = engine.step(State::now(now_ns), &view, STEPS_A_HOLD);
        if state.publish(core.engine.published()) {
            self.ended = true;
            // The waiters that it satisfies, regardless of the driver.
            let until = core.engine.waiters().done();
            while self.finish(until) {
                self.unlock();
            }
        }
        next
    }

    /// Marks waiters below `until` as done; true if there are more than can be woken at once.
    fn finish(&mut self, until: Pos) -> bool {
        self.core();
        let core = self.core.as_mut().expect("taken just now");
        core.waiters.finish(until, &mut self.wakes)
    }

    /// Flags every holdout; returns the next action.
    fn flag_holdouts(&mut self, arm: bool) -> Next {
        let state = self.state;
        if !self.is_driver() {
            return Next::Done;
        }
        if arm {
            let sleeper = sleeper_of(self.epoch);
            state.sleeper.swap(sleeper, Ordering::AcqRel); // [FS-1]
        }
        let readers = state.readers();
        let core = self.core();
        let mut newly = 0;
        if let Some(foreign) = readers.0.foreign() {
            foreign.advance();
            if arm {
                newly = foreign.arm(&mut core.engine.holdouts()); // [FR-3]
            }
        }
        for cpu in core.engine.holdouts() {
            let Some(flag) = readers.flag(cpu) else {
                continue;
            };
            if flag.load(Ordering::Acquire) == FLAG_CLEAR {
                flag.store(FLAG_WAKE, Ordering::Release); // [GR-1]
                newly += 1;
            }
        }
        core.engine.flagged(newly)
    }

    /// Releases the lock for a fence. `None`: the fence is batched.
    fn fence(&mut self, cause: FenceCause, interest: Interest) -> Option<Fenced> {
        let batched = self.batched;
        self.unlocked(|state| {
            let counter = match cause {
                FenceCause::GpStart => &state.counters.fences_gp,
                FenceCause::Flag => &state.counters.fences_flag,
            };
            count(counter);
            if let Some(foreign) = state.readers().0.foreign() {
                foreign.advance();
                if foreign.execute_fences() {
                    full_fence(); // [GP-1] [GP-2]
                    return Some(Ok(None));
                }
            }
            (!batched).then(|| state.fence(interest == Interest::Passing)) // [GP-1] [GP-2]
        })
    }

    #[inline(never)]
    fn grow(&mut self, threads: u32) -> Result<(), SyncError> {
        let config = *self.core().engine.config();
        let tree = self.unlocked(|_| Global::new_leaves(&config, threads));
        let tree = tree.map_err(|_| SyncError::OutOfMemory { threads })?;
        let old = match self.is_driver() {
            true => self.core().engine.grow(tree).unwrap_or_else(|tree| tree),
            false => tree,
        };
        self.unlocked(|_| drop(old));
        Ok(())
    }

    /// Sleeps until a reader or the timeout wakes this driver; false if the deadline has passed.
    #[inline(never)]
    fn sleep(&mut self, until: u64, deadline: Option<u64>) -> bool {
        let sleeper = sleeper_of(self.epoch);
        let naps = self.naps;
        self.naps = naps.saturating_add(1);
        self.unlocked(|state| {
            let now = prim::now_ns();
            let past = deadline.is_some_and(|deadline| now >= deadline);
            let end = deadline.map_or(until, |deadline| deadline.min(until));
            let foreign = state.readers().0.foreign();
            let hears = foreign.is_some_and(|it| it.hears());
            let end = match state.may_miss_readers() && !hears {
                true => end.min(now.saturating_add(nap_ns(naps))), // [RD-4]
                false => end,
            };
            if !past && end > now {
                count(&state.counters.sleeps);
                state.env().publish();
                let timeout = Some(Duration::from_nanos(end - now));
                match foreign.zip(timeout) {
                    Some((foreign, timeout)) => foreign.sleep(timeout),
                    None => prim::futex_wait(&state.sleeper, sleeper, timeout),
                }
            }
            // Unless the word belongs to a later driver, which relies on being found there.
            let order = (Ordering::AcqRel, Ordering::Relaxed);
            let _ = (state.sleeper).compare_exchange(sleeper, NO_SLEEPER, order.0, order.1);
            !past
        })
    }

    /// Drives until the engine ends the drive, or the deadline passes. The caller has the role.
    pub fn drive(&mut self, interest: Interest, deadline: Option<u64>) -> Drive {
        // The time matters only when a reader may block the grace period; until then the clock is not read,
        // and the engine uses the latest time it knows. (A reader may block it if a grace period is already
        // in flight, or if the driver is in a section of its own, which is impossible for a waiter.)
        let fresh = self.core().engine.phase() == Phase::Idle;
        let now = match interest {
            Interest::Waiter(_) if fresh => 0,
            _ => prim::coarse_ns(),
        };
        self.drive_on(Next::Again, now, interest, deadline)
    }

    /// Continues with `next`.
    #[inline]
    fn drive_on(
        &mut self,
        mut next: Next,
        mut now: u64,
        interest: Interest,
        deadline: Option<u64>,
    ) -> Drive {
        loop {
            next = match next {
                Next::Again => self.step(now),
                Next::Done | Next::HandOver => return Drive::Home,
                Next::Fence(cause) => match self.fence(cause, interest).map(|it| self.fenced(it)) {
                    None => return Drive::Fence,
                    Some(Ok(next)) => {
                        now = prim::coarse_ns();
                        next
                    }
                    Some(Err(error)) => return Drive::Failed(error),
                },
                Next::Grow(threads) => match self.grow(threads) {
                    Ok(()) => Next::Again,
                    Err(error) => return Drive::Failed(error),
                },
                Next::Report => return Drive::Stalled(self.core().engine.stalled()),
                Next::Spin(times) => {
                    self.unlocked(|_| prim::spin(times));
                    now = prim::coarse_ns();
                    Next::Again
                }
                Next::FlagHoldouts { arm } => {
                    let next = self.flag_holdouts(arm);
                    if arm {
                        now = prim::now_ns(); // from here on sleeps need the exact time
                    }
                    next
                }
                Next::Sleep(_) if interest == Interest::Poller => return Drive::GaveUp,
                Next::Sleep(until) => {
                    if !self.sleep(until, deadline) {
                        return Drive::GaveUp;
                    }
                    now = prim::now_ns();
                    Next::Again
                }
            };
            if self.lost {
                return Drive::Replaced;
            }
        }
    }

    /// Gives the role up, and asks a waiter to take it if the engine says so.
    pub fn leave(&mut self) {
        if self.is_driver() && self.core().engine.leave() == Next::HandOver {
            if !self.wakes.is_empty() {
                self.unlock();
            }
            let core = self.core.get_or_insert_with(|| self.state.lock());
            if !core.engine.is_driven() && core.waiters.hand_over(&mut self.wakes) {
                count(&self.state.counters.hand_overs);
            }
        }
        self.unlock();
    }
}

impl State {
    /// Publishes the numbers for polls without the lock. True if that ends a grace period. Under the lock.
    #[inline]
    pub fn publish(&self, root: Seq) -> bool {
        let before = self.root_seq.load(Ordering::Relaxed);
        self.root_seq.store(root.to_bits(), Ordering::Release); // [POLL-1]
        root.state() == 0 && root.to_bits() != before
    }

    /// Drives, if there is no driver, until the engine ends the drive or would wait.
    pub fn drive_once<'a>(
        &'a self,
        mut core: MutexGuard<'a, Core>,
        cpu: Option<CpuId>,
        interest: Interest,
    ) {
        if core.engine.try_drive(cpu, interest) {
            let mut turn = Turn::begin(self, core, Look::Yours);
            let _ = turn.drive(interest, None);
            turn.leave();
        }
    }

    /// Ends the sleep of a driver.
    fn wake_sleeper(&self) {
        match self.readers().0.foreign() {
            Some(foreign) => foreign.wake(),
            None => prim::futex_wake(&self.sleeper),
        }
    }

    /// Wakes a sleeping driver, because of a reader or for another reason.
    pub fn rouse_driver(&self, by_reader: bool) {
        if self.sleeper.swap(NO_SLEEPER, Ordering::AcqRel) != NO_SLEEPER {
            if by_reader {
                count(&self.counters.reader_wakeups);
            }
            self.wake_sleeper();
        }
    }
}

impl Turn<'_> {
    /// The fence that the driver requested was issued, by any thread, or refused; returns the next action.
    pub(super) fn fenced(&mut self, fenced: Fenced) -> Result<Next, SyncError> {
        let time = fenced.map_err(|errno| SyncError::FenceRefused { errno })?;
        if !self.is_driver() {
            return Ok(Next::Done); // the fence may precede a later grace period
        }
        self.core().fence_ended(time);
        Ok(self.core().engine.fenced())
    }
}

impl Turn<'static> {
    /// As [`begin`](Turn::begin), for a driver that returns where it needs a fence.
    pub fn begin_batched(
        state: &'static State,
        core: MutexGuard<'static, Core>,
        taken: Look,
    ) -> Self {
        let mut turn = Turn::begin(state, core, taken);
        turn.batched = true;
        turn
    }

    /// The fence for which it has returned was issued, or refused: continues driving.
    pub fn drive_fenced(&mut self, fenced: Fenced, interest: Interest) -> Drive {
        match self.fenced(fenced) {
            Ok(_) if self.lost => Drive::Replaced,
            Ok(next) => self.drive_on(next, prim::coarse_ns(), interest, None),
            Err(error) => Drive::Failed(error),
        }
    }

    /// Reports a stall. Gives the role up first: other threads may drive while the reporter runs.
    pub fn report(&mut self, stalled: Stalled) {
        self.leave();
        self.state.report_stall(stalled);
    }
}

impl State {
    /// Requests a grace period.
    pub fn start_poll(&self) -> Seq {
        full_fence(); // [SNAP-1]
        self.lock().engine.start_poll()
    }

    /// True if the grace period of `cookie` has ended. One acquire load.
    pub fn is_done(&self, cookie: Seq) -> bool {
        let root = Seq::from_bits(self.root_seq.load(Ordering::Acquire)); // [POLL-1]
        let done = cookie == Seq::COMPLETED || root.done_exact(cookie);
        if done {
            full_fence();
        }
        done
    }

    /// As [`is_done`](State::is_done); if not, drives the grace period as far as possible without waiting.
    pub fn poll(&'static self, cookie: Seq) -> Result<bool, SyncError> {
        // A cookie taken during a grace period needs that one and the next.
        for _ in 0..2 {
            if self.is_done(cookie) {
                return Ok(true);
            }
            let Some(mut core) = self.try_lock() else {
                break;
            };
            let cpu = self.own_cpu(&self.env().local());
            let taken = self.take_role(&mut core, cpu, Interest::Poller);
            if matches!(taken, Look::At(_)) {
                break;
            }
            let mut turn = Turn::begin(self, core, taken);
            let end = turn.drive(Interest::Poller, None);
            if let Drive::Stalled(stalled) = end {
                turn.report(stalled);
                continue;
            }
            turn.leave();
            match end {
                Drive::Home | Drive::Stalled(_) | Drive::Fence => {}
                Drive::GaveUp | Drive::Replaced => break,
                Drive::Failed(error) => return Err(error),
            }
        }
        Ok(self.is_done(cookie))
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests;
