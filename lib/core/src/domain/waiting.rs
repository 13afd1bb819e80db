//! Waiting for a grace period: the actions of a `synchronize` caller until it is satisfied.
//!
//! A caller that is the only registered thread passes its grace period in one call of the engine
//! ([`sole_gp`](quiescent_engine::Global::sole_gp)). Any other drives if there is no driver
//! ([`driver`](crate::domain::driver)), and otherwise sleeps on its own word. At times it wakes up by
//! itself and checks the driver ([`quiescent_engine::driver`]): one that is stopped, or starved, loses
//! its role, and continues at its old place in the list when it returns. The check also finds what such a
//! driver did not announce: that the caller is satisfied, or that there is no driver because a waiter was
//! asked to drive and does not run.
//!
//! Only waiters check whether the driver is alive (rule R5): the checks are time-outs of waiters, not a
//! timer.
//!
//! # The list of waiters
//! The FIFO of `synchronize` callers that do not drive.
//!
//! The engine identifies waiters by position; here they are stack objects in a doubly linked list under the
//! domain's lock. Each sleeps on its own word, so that the end of a grace period wakes exactly the waiters it
//! satisfies, and a hand-over wakes exactly one.
//!
//! # Validity of the pointers
//! A waiter is in the list only while its owner is inside the caller of [`Waiter::sleep`], which leaves in
//! one of two ways: it takes the lock and unlinks itself, or it sees [`DONE`], which is written under the
//! lock after the waiter was unlinked. After `DONE` is written no thread dereferences the waiter again: the
//! wake-up that follows uses the address only.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use quiescent_engine::{CpuId, Interest, Look, Pos};

use crate::domain::driver::{Drive, How, Turn};
use crate::domain::error::SyncError;
use crate::domain::state::{Core, NO_SLEEPER, State};
use crate::domain::statistics::is_late;
use crate::prim::counters::count;
use crate::prim::{self, AtomicU32, MutexGuard, Ordering, full_fence};

impl State {
    /// Waits for a full grace period.
    pub fn synchronize(&'static self, how: How) -> Result<(), SyncError> {
        let local = self.env().local();
        if self.in_section_of(&local) {
            return Err(SyncError::InsideSection);
        }
        if local.in_callback() {
            return Err(SyncError::InsideCallback);
        }
        full_fence(); // [SNAP-1]
        let cpu = self.own_cpu(&local);
        let mut core = self.lock();
        let (engine, view) = core.beside(self.readers());
        if !engine.sole_gp(cpu, &view) {
            return self.wait_or_drive(core, cpu, how);
        }
        #[cfg(quiescent_virtual)]
        {
            prim::hold_is_over(1); // one step, which it pays for
            prim::observe_step(&core.engine);
        }
        self.publish(core.engine.published());
        drop(core);
        self.gp_ended();
        Ok(())
    }

    /// Waits for a full grace period, with other threads or for them.
    #[inline(never)]
    fn wait_or_drive(
        &'static self,
        mut core: MutexGuard<'static, Core>,
        cpu: Option<CpuId>,
        how: How,
    ) -> Result<(), SyncError> {
        let ticket = core.engine.wait_for_gp(how.expedited);
        let interest = Interest::Waiter(ticket);
        let waiter = Waiter::new(ticket);
        loop {
            if ticket < core.engine.waiters().done() {
                core.waiters.unlink(&waiter);
                return Ok(());
            }
            core = match self.take_role(&mut core, cpu, interest) {
                Look::At(look) => match self.wait_turn(core, &waiter, look, how.deadline)? {
                    Some(core) => core,
                    None => return Ok(()),
                },
                taken => {
                    core.waiters.unlink(&waiter);
                    let mut turn = Turn::begin(self, core, taken);
                    match drive_for(&mut turn, ticket, how) {
                        Some(result) => return result,
                        None => self.lock(),
                    }
                }
            };
        }
    }

    /// Takes the role if it is free, or if its driver has made no progress.
    pub fn take_role(&self, core: &mut Core, cpu: Option<CpuId>, interest: Interest) -> Look {
        if core.engine.try_drive(cpu, interest) {
            return Look::Yours;
        }
        let sleeping = self.sleeper.load(Ordering::Acquire) != NO_SLEEPER;
        core.engine
            .take_over(cpu, interest, prim::now_ns(), sleeping)
    }

    /// Sleeps until satisfied (`None`); until asked to drive, or the time `look` (returns the lock); or until
    /// the deadline.
    pub(super) fn wait_turn<'a>(
        &'a self,
        mut core: MutexGuard<'a, Core>,
        waiter: &Waiter,
        look: u64,
        deadline: Option<u64>,
    ) -> Result<Option<MutexGuard<'a, Core>>, SyncError> {
        // SAFETY: the waiter stays on the caller's stack, which is left only after it is unlinked: after
        // DONE, or below. One that was asked to drive and came too late is still in its place: tickets
        // ascend.
        unsafe { core.waiters.link(waiter) };
        drop(core);
        let check = Some(look).filter(|&look| look != u64::MAX);
        let end = check.into_iter().chain(deadline).min();
        loop {
            let now = end.map_or(0, |_| prim::now_ns());
            if deadline.is_some_and(|deadline| now >= deadline) {
                break;
            }
            if now >= look {
                // The caller then finds a request to drive, or that it is satisfied; or a free role
                // that was not offered to it.
                let core = self.lock();
                let satisfied = waiter.ticket < core.engine.waiters().done();
                if !waiter.take_drive() && !satisfied && !core.engine.is_driven() {
                    count(&self.counters.found_free);
                }
                return Ok(Some(core));
            }
            let (state, late) = waiter.sleep(end.map(|end| Duration::from_nanos(end - now)));
            if late {
                count(&self.env().state.counters.late_wakeups);
            }
            match state {
                DONE => return Ok(None),
                DRIVE => {
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
            // Asked to drive, but leaving: pass the request on.
            Turn::begin(self, core, Look::Yours).leave();
        }
        Err(SyncError::TimedOut { holdouts })
    }
}

/// Drives for the waiter `ticket`, which has the role, and leaves. `None`: the role was lost, or given up for
/// a report, and the waiter has to wait again.
fn drive_for(turn: &mut Turn<'static>, ticket: Pos, how: How) -> Option<Result<(), SyncError>> {
    let end = turn.drive(Interest::Waiter(ticket), how.deadline);
    if let Drive::Stalled(stalled) = end {
        turn.report(stalled);
        return None;
    }
    // While the engine still has the holdouts:
    let timed_out = end == Drive::GaveUp;
    let satisfied = ticket < turn.core().engine.waiters().done();
    let holdouts = if timed_out && !satisfied {
        turn.unlocked(State::holdouts)
    } else {
        Vec::new()
    };
    turn.leave();
    debug_assert!(satisfied || end != Drive::Home, "sent home unsatisfied");
    match end {
        _ if satisfied => Some(Ok(())),
        Drive::Failed(error) => Some(Err(error)),
        Drive::Replaced => None,
        _ => Some(Err(SyncError::TimedOut { holdouts })),
    }
}

/// Still waiting.
pub const WAITING: u32 = 0;
/// Satisfied, and out of the list.
pub const DONE: u32 = 1;
/// Asked to drive.
pub const DRIVE: u32 = 2;

/// Largest number of waiters woken between two holds of the lock.
const BATCH: usize = 16;

/// A sleeping caller of `synchronize`.
#[derive(Debug)]
pub struct Waiter {
    /// The position that the engine has assigned.
    pub ticket: Pos,
    state: AtomicU32,
    /// The time of the last change of the state, for a statistic only: the models do not see it.
    changed: AtomicU64,
    linked: Cell<bool>,
    prev: Cell<*const Waiter>,
    next: Cell<*const Waiter>,
}

impl Waiter {
    pub fn new(ticket: Pos) -> Waiter {
        Waiter {
            ticket,
            state: AtomicU32::new(WAITING),
            changed: AtomicU64::new(0),
            linked: Cell::new(false),
            prev: Cell::new(ptr::null()),
            next: Cell::new(ptr::null()),
        }
    }

    /// Sleeps until another thread changes the state and wakes this one, or for `timeout`; returns the state,
    /// and whether it had changed [long](is_late) before this thread ran again.
    pub fn sleep(&self, timeout: Option<Duration>) -> (u32, bool) {
        let state = self.state.load(Ordering::Acquire);
        if state != WAITING {
            return (state, false);
        }
        prim::futex_wait(&self.state, WAITING, timeout);
        let state = self.state.load(Ordering::Acquire); // [WT-1]
        let since = self.changed.load(Ordering::Relaxed);
        (state, state != WAITING && is_late(since, prim::now_ns()))
    }

    /// Changes the state of a linked waiter, which may be freed from here on if it is [`DONE`].
    fn change(&self, state: u32) {
        self.changed.store(prim::now_ns(), Ordering::Relaxed);
        self.state.store(state, Ordering::Release); // [WT-1]
    }

    /// True if it has been asked to drive. Resets the request.
    pub fn take_drive(&self) -> bool {
        let asked = self.state.load(Ordering::Acquire) == DRIVE;
        if asked {
            self.state.store(WAITING, Ordering::Relaxed);
        }
        asked
    }
}

/// Addresses to wake once the lock is released.
#[derive(Debug)]
pub struct Wakes {
    words: [*const AtomicU32; BATCH],
    len: usize,
}

impl Wakes {
    pub fn new() -> Wakes {
        Wakes {
            words: [ptr::null(); BATCH],
            len: 0,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn is_full(&self) -> bool {
        self.len == BATCH
    }

    fn push(&mut self, word: *const AtomicU32) {
        self.words[self.len] = word;
        self.len += 1;
    }

    /// Wakes them; returns how many. Call with no lock held.
    #[inline(never)]
    pub fn wake(&mut self) -> usize {
        for &word in &self.words[..self.len] {
            prim::futex_wake(word);
        }
        std::mem::replace(&mut self.len, 0)
    }
}

/// The list. Positions ascend from head to tail.
#[derive(Debug)]
pub struct WaitList {
    head: *const Waiter,
    tail: *const Waiter,
}

// SAFETY: the pointers are dereferenced only under the lock that protects the list, and the waiters they
// point to live while they are linked (see the module comment).
unsafe impl Send for WaitList {}

impl WaitList {
    pub const fn new() -> WaitList {
        WaitList {
            head: ptr::null(),
            tail: ptr::null(),
        }
    }

    /// Inserts a waiter in order of tickets, unless it is already in the list. The position is the tail,
    /// except for a waiter that has driven meanwhile and lost the role.
    ///
    /// # Safety
    /// It must not move until it is out of the list.
    pub unsafe fn link(&mut self, waiter: &Waiter) {
        if waiter.linked.replace(true) {
            return;
        }
        let mut before = self.tail;
        // SAFETY: a linked waiter lives.
        while let Some(later) = unsafe { before.as_ref() }
            && later.ticket > waiter.ticket
        {
            before = later.prev.get();
        }
        waiter.prev.set(before);
        // SAFETY: as above.
        let after = match unsafe { before.as_ref() } {
            Some(before) => before.next.replace(waiter),
            None => std::mem::replace(&mut self.head, waiter),
        };
        waiter.next.set(after);
        // SAFETY: as above.
        match unsafe { after.as_ref() } {
            Some(after) => after.prev.set(waiter),
            None => self.tail = waiter,
        }
    }

    /// Removes a waiter, if it is in the list.
    pub fn unlink(&mut self, waiter: &Waiter) {
        if !waiter.linked.replace(false) {
            return;
        }
        // SAFETY: neighbours of a linked waiter are linked, so they live.
        match unsafe { waiter.prev.get().as_ref() } {
            Some(prev) => prev.next.set(waiter.next.get()),
            None => self.head = waiter.next.get(),
        }
        // SAFETY: as above.
        match unsafe { waiter.next.get().as_ref() } {
            Some(next) => next.prev.set(waiter.prev.get()),
            None => self.tail = waiter.prev.get(),
        }
    }

    /// Removes waiters below `until` and marks them done; true if more remain.
    pub fn finish(&mut self, until: Pos, wakes: &mut Wakes) -> bool {
        loop {
            // SAFETY: a linked waiter lives.
            let Some(first) = (unsafe { self.head.as_ref() }) else {
                return false;
            };
            if first.ticket >= until {
                return false;
            }
            if wakes.is_full() {
                return true;
            }
            self.unlink(first);
            let word: *const AtomicU32 = &first.state;
            first.change(DONE);
            wakes.push(word);
        }
    }

    /// Asks the first waiter to drive, if there is one. `wakes` must not be full.
    pub fn hand_over(&mut self, wakes: &mut Wakes) -> bool {
        // SAFETY: a linked waiter lives.
        let Some(first) = (unsafe { self.head.as_ref() }) else {
            return false;
        };
        first.change(DRIVE);
        wakes.push(&first.state);
        true
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests;
