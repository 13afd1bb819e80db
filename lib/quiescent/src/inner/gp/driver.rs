//! Driving a grace period.
//!
//! Whoever needs a grace period and finds the driver role free drives it in its own thread: no hop,
//! no worker. Everybody else waits ([`waiting`](crate::inner::gp::waiting)). The engine decides every step ([`Next`]); this file carries it out.
//!
//! # Rules
//! * System calls, fences, spins and wake-ups happen with no lock held.
//! * Sequence numbers for lock-free polls are published before the lock is dropped, so that they never
//!   go back.
//! * A driver that leaves, for whatever reason, hands its role over if anybody waits. A waiter that
//!   was asked to drive and leaves instead passes the request on.
//! * A driver may stop for good between two of its steps: whoever waits looks at it now and then
//!   (the engine says when), and takes its role if it finds nothing of it. So each time a driver takes the lock
//!   again it first asks whether it still is the driver. One that is not makes no call of the engine any
//!   more, wakes whom it still had to wake, and waits like anybody else, at its old place.
//! * For the same reason a waiter that looks finds out by itself that it is satisfied: the driver may have
//!   stopped before it woke it.
//!
//! # Edges
//! `[SNAP-1]` the caller's updates, a *full fence*, then the request. `[GP-1]` the grace period
//! starts, *heavy fence*, then the first look at readers. `[GP-2]` flags are set, *heavy fence*, then
//! the last look before sleeping. `[FS-1]` the sleeper is declared with a locked instruction before
//! the flags are looked at for the last time; a reader clears its flag before it takes the sleeper.
//! `[WT-1]` a grace period's end, release of the waiter's word, its acquire. `[POLL-1]` release of the
//! published number, acquire and a full fence when a poll says yes.

use std::time::Duration;

use quiescent_engine::owner::STEPS_A_HOLD;
use quiescent_engine::stall::Stalled;
use quiescent_engine::{
    CpuId, Effects, FenceCause, FullCookie, Global, Interest, Look, Next, Phase, Pos, Seq, Until,
};

use crate::error::SyncError;
use crate::inner::domain::counters::count;
use crate::inner::domain::state::{Core, SLEEPER_NOBODY, State};
use crate::inner::gp::waiters::Wakes;
use crate::inner::prim::{self, LEAF_SLOTS, MutexGuard, Ordering, full_fence};
use crate::inner::reader::word::{FLAG_CLEAR, FLAG_WAKE};

mod apart;

/// How to wait.
#[derive(Clone, Copy, Debug, Default)]
pub struct How {
    /// Monotonic nanoseconds at which to give up.
    pub(crate) deadline: Option<u64>,
    /// Spin longer before sleeping.
    pub(crate) expedited: bool,
}

impl How {
    /// In a hurry.
    pub(crate) const EXPEDITED: How = How {
        deadline: None,
        expedited: true,
    };

    /// For at most this long from now.
    pub(crate) fn within(timeout: Duration) -> How {
        How {
            deadline: crate::inner::defer::sweep::Until::after(timeout).deadline,
            expedited: false,
        }
    }
}

/// How a drive ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Drive {
    /// The engine sent the driver home.
    Home,
    /// The deadline passed, or a poller would have had to wait.
    GaveUp,
    Failed(SyncError),
    /// Somebody else has the role now.
    Usurped,
    /// The driver is to report this, and then to go on.
    Stalled(Stalled),
    /// The driver needs a fence, and [shares](apart) it with others.
    Fence,
}

/// What a sleeping driver of this reign writes into the word.
fn sleeper_of(reign: u32) -> u32 {
    reign << 1 | 1
}

/// One turn of the driver: what the engine asked for, and whom to wake.
pub(crate) struct Turn<'a> {
    state: &'a State,
    core: Option<MutexGuard<'a, Core>>,
    wakes: Wakes,
    steps: u32,
    /// A grace period has ended, and nobody was told yet.
    ended: bool,
    reign: u32,
    /// The role is somebody else's.
    lost: bool,
    stall: Option<Stalled>,
    /// Its fences are issued by whoever called it.
    apart: bool,
}

impl<'a> Turn<'a> {
    #[inline]
    fn new(state: &'a State, core: MutexGuard<'a, Core>) -> Turn<'a> {
        Turn {
            state,
            reign: core.engine.driver_epoch(),
            core: Some(core),
            wakes: Wakes::new(),
            steps: 0,
            ended: false,
            lost: false,
            stall: None,
            apart: false,
        }
    }

    /// The role was `taken` just now.
    #[inline] // it is large
    pub(crate) fn begin(state: &'a State, core: MutexGuard<'a, Core>, taken: Look) -> Turn<'a> {
        let mut turn = Turn::new(state, core);
        if taken == Look::TakenOver {
            // At most one driver sleeps, and a reader that wakes one wakes the one that drives.
            turn.unlocked(|state| prim::futex_wake(&state.sleeper));
        }
        turn
    }

    /// Takes the lock, if it is not taken, and finds out whether the role is still ours.
    pub(crate) fn core(&mut self) -> &mut MutexGuard<'a, Core> {
        let (reign, lost) = (self.reign, &mut self.lost);
        self.core.get_or_insert_with(|| {
            let mut core = self.state.lock();
            *lost = *lost || !core.resume(reign);
            core
        })
    }

    /// Do we still drive? With the lock, so that the answer holds for as long as it is held.
    fn is_driver(&mut self) -> bool {
        self.core();
        !self.lost
    }

    /// Does something with no lock held.
    pub(crate) fn unlocked<T>(&mut self, what: impl FnOnce(&'a State) -> T) -> T {
        self.core = None;
        self.steps = 0;
        let woken = self.wakes.wake();
        for _ in 0..woken {
            count(&self.state.counters.wakeups);
        }
        if std::mem::take(&mut self.ended) {
            self.state.gp_ended();
        }
        what(self.state)
    }

    /// One step of the engine, with its effects.
    fn step(&mut self, now_ns: u64) -> Next {
        self.steps += 1;
        if self.steps > STEPS_A_HOLD {
            self.unlocked(|_| ());
        }
        if !self.is_driver() {
            return Next::Done;
        }
        let state = self.state;
        let Effects {
            publish,
            waiters_until,
            stall,
            vacated,
            join,
            next,
            ..
        } = self.core().step(state.readers(), now_ns);
        self.stall = stall;
        if let Some(published) = publish {
            let (root, before) = (&published.root, state.root_seq.load(Ordering::Relaxed));
            self.ended |= root.state() == 0 && root.to_bits() != before;
            state
                .root_seq
                .store(published.root.to_bits(), Ordering::Release); // [POLL-1]
        }
        if let Some(leaf) = vacated {
            state.readers().vacated(leaf);
        }
        if let Some(count) = join {
            state.readers().join(count);
        }
        if let Some(until) = waiters_until {
            // They are satisfied, whoever drives.
            while self.finish(until) {
                self.unlocked(|_| ());
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

    /// Flags every holdout; returns what comes next.
    fn flag_holdouts(&mut self, arm: bool) -> Next {
        let state = self.state;
        if !self.is_driver() {
            return Next::Done;
        }
        if arm {
            let sleeper = sleeper_of(self.reign);
            state.sleeper.swap(sleeper, Ordering::AcqRel); // [FS-1]
        }
        let readers = state.readers();
        let core = self.core();
        let mut newly = 0;
        for cpu in core.engine.holdouts() {
            let Some(flag) = readers.flag(cpu) else {
                continue;
            };
            if flag.load(Ordering::Acquire) == FLAG_CLEAR {
                flag.store(FLAG_WAKE, Ordering::Release); // [GR-1]
                newly += 1;
            }
        }
        core.flagged(newly)
    }

    /// Drops the lock for a fence. `None`: it is [shared](apart).
    fn fence(&mut self, cause: FenceCause) -> Option<Result<(), i32>> {
        let apart = self.apart;
        self.unlocked(|state| {
            let counter = match cause {
                FenceCause::GpStart => &state.counters.fences_gp,
                FenceCause::Flag => &state.counters.fences_flag,
            };
            count(counter);
            (!apart).then(|| state.heavy_fence()) // [GP-1] [GP-2]
        })
    }

    fn grow(&mut self, threads: u32) -> Result<(), SyncError> {
        let config = *self.core().engine.config();
        let tree = self.unlocked(|_| Global::new_tree(&config, threads));
        let tree = tree.map_err(|_| SyncError::OutOfMemory { threads })?;
        let old = match self.is_driver() {
            true => self.core().grow(tree),
            false => Some(tree),
        };
        self.unlocked(|_| drop(old));
        Ok(())
    }

    /// Sleeps until a reader wakes us or a time; false if it is past the deadline.
    fn sleep(&mut self, until: Until, deadline: Option<u64>) -> bool {
        let Until::Ns(until) = until else { return true };
        let sleeper = sleeper_of(self.reign);
        self.unlocked(|state| {
            let now = prim::now_ns();
            let past = deadline.is_some_and(|deadline| now >= deadline);
            let end = deadline.map_or(until, |deadline| deadline.min(until));
            if !past && end > now {
                state.gp_waits();
                let timeout = Some(Duration::from_nanos(end - now));
                prim::futex_wait(&state.sleeper, sleeper, timeout);
            }
            // Not if it is another driver's by now, who relies on being found there.
            let order = (Ordering::AcqRel, Ordering::Relaxed);
            let _ = (state.sleeper).compare_exchange(sleeper, SLEEPER_NOBODY, order.0, order.1);
            !past
        })
    }

    /// Drives until the engine says otherwise, or the deadline. The caller has the role.
    pub(crate) fn drive(&mut self, interest: Interest, deadline: Option<u64>) -> Drive {
        // Time matters once somebody is in the way; until then the clock is not asked. The engine
        // takes the latest time it knows. (Somebody is, perhaps, if a grace period is in flight
        // already, or if the driver is in a section of its own, which one that waits is not.)
        let fresh = self.core().engine.phase() == Phase::Idle;
        let now = match interest {
            Interest::Waiter(_) if fresh => 0,
            _ => prim::coarse_ns(),
        };
        self.drive_on(Next::Again, now, interest, deadline)
    }

    /// Goes on with this.
    #[inline]
    fn drive_on(
        &mut self,
        mut next: Next,
        mut now: u64,
        interest: Interest,
        deadline: Option<u64>,
    ) -> Drive {
        loop {
            if let Some(stalled) = self.stall.take() {
                return Drive::Stalled(stalled);
            }
            next = match next {
                Next::Again => self.step(now),
                Next::Done | Next::HandOver => return Drive::Home,
                Next::Fence(cause) => match self.fence(cause).map(|it| self.fenced(it)) {
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
                return Drive::Usurped;
            }
        }
    }

    /// Gives the role up, and asks a waiter to take it if the engine says so.
    pub(crate) fn leave(&mut self) {
        if self.is_driver() && self.core().leave() == Next::HandOver {
            if !self.wakes.is_empty() {
                self.unlocked(|_| ());
            }
            let core = self.core.get_or_insert_with(|| self.state.lock());
            if !core.engine.is_driven() && core.waiters.hand_over(&mut self.wakes) {
                count(&self.state.counters.hand_overs);
            }
        }
        self.unlocked(|_| ());
    }
}

impl State {
    /// Drives once, if nobody does, until the engine sends the driver home or would have it wait.
    pub(crate) fn drive_once<'a>(
        &'a self,
        mut core: MutexGuard<'a, Core>,
        cpu: Option<CpuId>,
        interest: Interest,
    ) {
        if core.try_drive(cpu, interest) {
            let mut turn = Turn::begin(self, core, Look::Yours);
            let _ = turn.drive(interest, None);
            turn.leave();
        }
    }

    /// A driver that sleeps looks again: on account of a reader, or for another reason.
    pub(crate) fn rouse_driver(&self, by_reader: bool) {
        if self.sleeper.swap(SLEEPER_NOBODY, Ordering::AcqRel) != SLEEPER_NOBODY {
            if by_reader {
                count(&self.counters.reader_wakeups);
            }
            prim::futex_wake(&self.sleeper);
        }
    }

    /// Asks for a grace period.
    pub(crate) fn start_poll(&self) -> FullCookie {
        full_fence(); // [SNAP-1]
        let leaf = self.own_cpu().map_or(0, |cpu| cpu as usize / LEAF_SLOTS);
        self.lock().start_poll(self.readers(), leaf)
    }

    /// Has the grace period of `cookie` ended? One acquire load.
    pub(crate) fn is_done(&self, cookie: FullCookie) -> bool {
        let root = Seq::from_bits(self.root_seq.load(Ordering::Acquire)); // [POLL-1]
        let done = cookie.done(root, Seq::ZERO);
        if done {
            full_fence();
        }
        done
    }

    /// As [`is_done`](Process::is_done); if not, helps the grace period along as far as that needs no
    /// waiting.
    pub(crate) fn poll(&'static self, cookie: FullCookie) -> Result<bool, SyncError> {
        // A cookie taken during a grace period needs that one and the next.
        for _ in 0..2 {
            if self.is_done(cookie) {
                return Ok(true);
            }
            let Some(mut core) = self.try_lock() else {
                break;
            };
            let cpu = self.own_cpu();
            let taken = self.take_role(&mut core, cpu, Interest::Poller);
            if matches!(taken, Look::At(_)) {
                break;
            }
            let mut turn = Turn::begin(self, core, taken);
            let end = turn.drive(Interest::Poller, None);
            if let Drive::Stalled(stalled) = end {
                turn.tell(stalled);
                continue;
            }
            turn.leave();
            match end {
                Drive::Home | Drive::Stalled(_) | Drive::Fence => {}
                Drive::GaveUp | Drive::Usurped => break,
                Drive::Failed(error) => return Err(error),
            }
        }
        Ok(self.is_done(cookie))
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests;
