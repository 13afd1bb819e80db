//! Waiting for a grace period, and driving one.
//!
//! Whoever needs a grace period and finds the driver role free drives it in its own thread: no hop,
//! no worker. Everybody else sleeps on a word of its own and is woken when satisfied, or asked to
//! drive. The engine decides every step ([`Next`]); this file carries it out.
//!
//! # Rules
//! * System calls, fences, spins and wake-ups happen with no lock held.
//! * Sequence numbers for lock-free polls are published before the lock is dropped, so that they never
//!   go back.
//! * A driver that leaves, for whatever reason, hands its role over if anybody waits. A waiter that
//!   was asked to drive and leaves instead passes the request on.
//!
//! # Edges
//! `[SNAP-1]` the caller's updates, a *full fence*, then the request. `[GP-1]` the grace period
//! starts, *heavy fence*, then the first look at readers. `[GP-2]` flags are set, *heavy fence*, then
//! the last look before sleeping. `[FS-1]` the sleeper is declared with a locked instruction before
//! the flags are looked at for the last time; a reader clears its flag before it takes the sleeper.
//! `[WT-1]` a grace period's end, release of the waiter's word, its acquire. `[POLL-1]` release of the
//! published number, acquire and a full fence when a poll says yes.

use std::time::Duration;

use quiescent_engine::{
    CpuId, Effects, FenceCause, FullCookie, Global, Interest, Next, Seq, Until,
};

use crate::domain::{Core, Domain, SLEEPER_FUTEX, SLEEPER_NOBODY};
use crate::error::SyncError;
use crate::looks::count;
use crate::reader::{self, FLAG_CLEAR, FLAG_WAKE};
use crate::sync::{self, LEAF_SLOTS, MutexGuard, Ordering, full_fence};
use crate::waitlist::{DONE, Waiter, Wakes};

/// Steps in one hold of the lock.
const STEPS_A_HOLD: u32 = 32;

/// How to wait.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct How {
    /// Monotonic nanoseconds at which to give up.
    pub(crate) deadline: Option<u64>,
    /// Spin longer before sleeping.
    pub(crate) expedited: bool,
}

/// How a drive ended.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Drive {
    /// The engine sent the driver home.
    Home,
    /// The deadline passed, or a poller would have had to wait.
    GaveUp,
    Failed(SyncError),
}

/// One turn of the driver: what the engine asked for, and whom to wake.
struct Turn<'a> {
    domain: &'a Domain,
    core: Option<MutexGuard<'a, Core>>,
    wakes: Wakes,
    steps: u32,
}

impl<'a> Turn<'a> {
    fn new(domain: &'a Domain, core: MutexGuard<'a, Core>) -> Turn<'a> {
        Turn {
            domain,
            core: Some(core),
            wakes: Wakes::new(),
            steps: 0,
        }
    }

    fn core(&mut self) -> &mut MutexGuard<'a, Core> {
        self.core.get_or_insert_with(|| self.domain.lock())
    }

    /// Does something with no lock held.
    fn unlocked<T>(&mut self, what: impl FnOnce(&'a Domain) -> T) -> T {
        self.core = None;
        self.steps = 0;
        let woken = self.wakes.wake();
        for _ in 0..woken {
            count(&self.domain.counters.wakeups);
        }
        what(self.domain)
    }

    /// One step of the engine, with its effects.
    fn step(&mut self, now_ns: u64) -> Next {
        self.steps += 1;
        if self.steps > STEPS_A_HOLD {
            self.unlocked(|_| ());
        }
        let domain = self.domain;
        let Effects {
            publish,
            waiters_until,
            vacated,
            next,
            ..
        } = self.core().step(&domain.slots, now_ns);
        if let Some(published) = publish {
            domain
                .root_seq
                .store(published.root.to_bits(), Ordering::Release); // [POLL-1]
        }
        if let Some(leaf) = vacated {
            domain.slots.vacated(leaf);
        }
        if let Some(until) = waiters_until {
            let core = self.core.get_or_insert_with(|| domain.lock());
            let mut more = core.waiters.finish(until, &mut self.wakes);
            while more {
                self.unlocked(|_| ());
                let core = self.core.get_or_insert_with(|| domain.lock());
                more = core.waiters.finish(until, &mut self.wakes);
            }
        }
        next
    }

    /// Flags every holdout; returns what comes next.
    fn flag_holdouts(&mut self, arm: bool) -> Next {
        let domain = self.domain;
        if arm {
            domain.sleeper.swap(SLEEPER_FUTEX, Ordering::AcqRel); // [FS-1]
        }
        let core = self.core();
        let mut newly = 0;
        for cpu in core.engine.holdouts() {
            let Some(slot) = domain.slots.slot(cpu) else {
                continue;
            };
            if slot.reader.flag.load(Ordering::Acquire) == FLAG_CLEAR {
                slot.reader.flag.store(FLAG_WAKE, Ordering::Relaxed);
                newly += 1;
            }
        }
        core.flagged(&domain.slots, newly)
    }

    fn fence(&mut self, cause: FenceCause) -> Result<Next, SyncError> {
        let fenced = self.unlocked(|domain| {
            let counter = match cause {
                FenceCause::GpStart => &domain.counters.fences_gp,
                FenceCause::Flag => &domain.counters.fences_flag,
            };
            count(counter);
            domain.heavy_fence() // [GP-1] [GP-2]
        });
        fenced.map_err(|errno| SyncError::FenceRefused { errno })?;
        let slots = &self.domain.slots;
        Ok(self.core().fenced(slots))
    }

    fn grow(&mut self, threads: u32) -> Result<(), SyncError> {
        let config = *self.core().engine.config();
        let tree = self.unlocked(|_| Global::new_tree(&config, threads));
        let tree = tree.map_err(|_| SyncError::OutOfMemory { threads })?;
        let slots = &self.domain.slots;
        let old = self.core().grow(slots, tree);
        self.unlocked(|_| drop(old));
        Ok(())
    }

    /// Sleeps until a reader wakes us or a time; false if it is past the deadline.
    fn sleep(&mut self, until: Until, deadline: Option<u64>) -> bool {
        let Until::Ns(until) = until else { return true };
        self.unlocked(|domain| {
            let now = sync::now_ns();
            let past = deadline.is_some_and(|deadline| now >= deadline);
            let end = deadline.map_or(until, |deadline| deadline.min(until));
            if !past && end > now {
                count(&domain.counters.sleeps);
                let timeout = Some(Duration::from_nanos(end - now));
                sync::futex_wait(&domain.sleeper, SLEEPER_FUTEX, timeout);
            }
            domain.sleeper.swap(SLEEPER_NOBODY, Ordering::AcqRel);
            !past
        })
    }

    /// Drives until the engine says otherwise, or the deadline. The caller has the role.
    fn drive(&mut self, interest: Interest, deadline: Option<u64>) -> Drive {
        // Time matters once somebody is in the way; until then the clock is not asked. The engine
        // takes the latest time it knows.
        let mut now = 0;
        let mut next = Next::Again;
        loop {
            next = match next {
                Next::Again => self.step(now),
                Next::Done | Next::HandOver => return Drive::Home,
                Next::Fence(cause) => match self.fence(cause) {
                    Ok(next) => {
                        now = sync::coarse_ns();
                        next
                    }
                    Err(error) => return Drive::Failed(error),
                },
                Next::Grow(threads) => match self.grow(threads) {
                    Ok(()) => Next::Again,
                    Err(error) => return Drive::Failed(error),
                },
                Next::Spin(times) => {
                    self.unlocked(|_| sync::spin(times));
                    now = sync::coarse_ns();
                    Next::Again
                }
                Next::FlagHoldouts { arm } => {
                    let next = self.flag_holdouts(arm);
                    if arm {
                        now = sync::now_ns(); // from here on sleeps need the exact time
                    }
                    next
                }
                Next::Sleep(_) if interest == Interest::Poller => return Drive::GaveUp,
                Next::Sleep(until) => {
                    if !self.sleep(until, deadline) {
                        return Drive::GaveUp;
                    }
                    now = sync::now_ns();
                    Next::Again
                }
            };
        }
    }

    /// Gives the role up, and asks a waiter to take it if the engine says so.
    fn leave(&mut self) {
        let slots = &self.domain.slots;
        if self.core().leave(slots) == Next::HandOver {
            if !self.wakes.is_empty() {
                self.unlocked(|_| ());
            }
            let core = self.core.get_or_insert_with(|| self.domain.lock());
            if !core.engine.is_driven() && core.waiters.hand_over(&mut self.wakes) {
                count(&self.domain.counters.hand_overs);
            }
        }
        self.unlocked(|_| ());
    }
}

impl Domain {
    /// Waits for a full grace period.
    pub(crate) fn synchronize(&'static self, how: How) -> Result<(), SyncError> {
        if reader::in_section() {
            return Err(SyncError::InsideSection);
        }
        if crate::run::in_callback() {
            return Err(SyncError::InsideCallback);
        }
        full_fence(); // [SNAP-1]
        let cpu = self.own_slot().map(|slot| slot.cpu());
        let leaf = cpu.map_or(0, |cpu| cpu as usize / LEAF_SLOTS);
        let mut core = self.lock();
        let ticket = core.wait_for_gp(&self.slots, leaf, how.expedited);
        let interest = Interest::Waiter(ticket);
        let waiter = Waiter::new(ticket);
        loop {
            if ticket < core.engine.waiters().done() {
                core.waiters.unlink(&waiter);
                return Ok(());
            }
            if core.try_drive(&self.slots, cpu, interest) {
                core.waiters.unlink(&waiter);
                let mut turn = Turn::new(self, core);
                let end = turn.drive(interest, how.deadline);
                // While the engine still knows them:
                let timed_out = end == Drive::GaveUp;
                let satisfied = ticket < turn.core().engine.waiters().done();
                let holdouts = if timed_out && !satisfied {
                    turn.unlocked(Domain::holdouts)
                } else {
                    Vec::new()
                };
                turn.leave();
                debug_assert!(satisfied || end != Drive::Home, "sent home unsatisfied");
                return match end {
                    _ if satisfied => Ok(()),
                    Drive::Failed(error) => Err(error),
                    _ => Err(SyncError::TimedOut { holdouts }),
                };
            }
            core = match self.wait_turn(core, &waiter, how.deadline)? {
                Some(core) => core,
                None => return Ok(()),
            };
        }
    }

    /// Sleeps until satisfied (`None`), asked to drive (the lock), or the deadline.
    fn wait_turn<'a>(
        &'a self,
        mut core: MutexGuard<'a, Core>,
        waiter: &Waiter,
        deadline: Option<u64>,
    ) -> Result<Option<MutexGuard<'a, Core>>, SyncError> {
        // SAFETY: it stays on the caller's stack, which it leaves only unlinked: after DONE, or below.
        // One that was asked to drive and came too late is still in its place: tickets ascend.
        unsafe { core.waiters.link(waiter) };
        drop(core);
        loop {
            let timeout = match deadline.map(|deadline| deadline.saturating_sub(sync::now_ns())) {
                Some(0) => break,
                left => left.map(Duration::from_nanos),
            };
            match waiter.sleep(timeout) {
                DONE => return Ok(None),
                crate::waitlist::DRIVE => {
                    let core = self.lock();
                    waiter.take_drive();
                    return Ok(Some(core));
                }
                _ => {}
            }
        }
        let holdouts = self.holdouts();
        let mut core = self.lock();
        if waiter.ticket < core.engine.waiters().done() {
            core.waiters.unlink(waiter);
            return Ok(None);
        }
        core.waiters.unlink(waiter);
        if waiter.take_drive() && !core.engine.is_driven() {
            // Asked to drive, but leaving: pass it on.
            Turn::new(self, core).leave();
        }
        Err(SyncError::TimedOut { holdouts })
    }

    /// Drives once, if nobody does, until the engine sends the driver home or would have it wait.
    pub(crate) fn drive_once<'a>(
        &'a self,
        mut core: MutexGuard<'a, Core>,
        cpu: Option<CpuId>,
        interest: Interest,
    ) {
        if core.try_drive(&self.slots, cpu, interest) {
            let mut turn = Turn::new(self, core);
            let _ = turn.drive(interest, None);
            turn.leave();
        }
    }

    /// Asks for a grace period.
    pub(crate) fn start_poll(&self) -> FullCookie {
        full_fence(); // [SNAP-1]
        let leaf = self
            .own_slot()
            .map_or(0, |slot| slot.cpu() as usize / LEAF_SLOTS);
        self.lock().start_poll(&self.slots, leaf)
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

    /// As [`is_done`](Domain::is_done); if not, helps the grace period along as far as that needs no
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
            let cpu = self.own_slot().map(|slot| slot.cpu());
            if !core.try_drive(&self.slots, cpu, Interest::Poller) {
                break;
            }
            let mut turn = Turn::new(self, core);
            let end = turn.drive(Interest::Poller, None);
            turn.leave();
            match end {
                Drive::Home => {}
                Drive::GaveUp => break,
                Drive::Failed(error) => return Err(error),
            }
        }
        Ok(self.is_done(cookie))
    }
}
