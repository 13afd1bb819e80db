//! The roles of the library's own threads, and what finds a callback that does not return.
//!
//! A role has a number, incremented with every change. Its thread keeps the number with which it took the
//! role: a thread that finds another number later has been replaced, and ends.
//!
//! # A callback that does not return
//! Another thread looks at it from time to time. What has run for [`STUCK`], and still runs at a second look
//! a tenth of that later, is stuck: the thread that looks takes the role away. The first of the two threads
//! to clear `since` decides. (At the first look alone every callback would be stuck after the process, or the
//! machine, was stopped for a second.)
//!
//! The thread-local cells have no destructors: they are valid to the very end of the thread.

use std::cell::Cell;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::thread::LocalKey;

use quiescent_core::prim;
use quiescent_core::queue::per_thread::STUCK_NS;

/// A callback that runs for longer counts as stuck, in nanoseconds.
pub(crate) const STUCK: u64 = STUCK_NS;
/// The least time between two looks.
const AGAIN: u64 = STUCK / 10;
/// The number of a thread that was replaced.
const DISMISSED: usize = usize::MAX;

thread_local! {
    /// The role number of a worker; 0 on other threads.
    pub(crate) static WORKER: Cell<usize> = const { Cell::new(0) };
    /// The role number of an overflow worker; 0 on other threads.
    pub(crate) static OVERFLOW: Cell<usize> = const { Cell::new(0) };
    /// What watches the callback that this thread runs: 1 the stand-by, 2 the worker, 0 nothing.
    pub(crate) static WATCHED: Cell<usize> = const { Cell::new(0) };
}

/// A role, and the callback that its thread runs.
#[derive(Debug)]
pub(crate) struct Role {
    /// The number with which the calling thread took it; 0 if it never did.
    own: &'static LocalKey<Cell<usize>>,
    /// The number of the thread that has it, or of the next one.
    number: AtomicU32,
    /// When the callback began; 0 if none runs.
    since: AtomicU64,
    /// The function that returns its name.
    name: AtomicPtr<()>,
    /// The beginning of a callback that had run for too long at a look, and the time of that look.
    seen: [AtomicU64; 2],
    /// The time of the last look.
    looked: AtomicU64,
}

/// A callback that does not return.
#[derive(Debug)]
pub(crate) struct Stuck {
    pub(crate) name: &'static str,
    /// Its running time, in nanoseconds.
    pub(crate) running: u64,
    /// The number with which its thread had the role.
    pub(crate) number: u32,
}

impl Role {
    pub(crate) const fn new(own: &'static LocalKey<Cell<usize>>) -> Role {
        Role {
            own,
            number: AtomicU32::new(1),
            since: AtomicU64::new(0),
            name: AtomicPtr::new(std::ptr::null_mut()),
            seen: [const { AtomicU64::new(0) }; 2],
            looked: AtomicU64::new(0),
        }
    }

    /// The number of the thread that has it, or of the next one.
    pub(crate) fn number(&self) -> u32 {
        self.number.load(Ordering::Relaxed)
    }

    /// The calling thread has it, with this number.
    pub(crate) fn take(&self, number: u32) {
        self.own.set(number as usize);
    }

    /// The calling thread has it no longer.
    pub(crate) fn leave(&self) {
        self.own.set(0);
    }

    /// Takes it from the thread that has it; returns that thread's number.
    pub(crate) fn revoke(&self) -> u32 {
        self.number.fetch_add(1, Ordering::AcqRel)
    }

    pub(crate) fn is_mine(&self) -> bool {
        self.own.get() == self.number() as usize
    }

    /// Whether the calling thread had it, and was replaced.
    pub(crate) fn is_dismissed(&self) -> bool {
        let own = self.own.get();
        own != 0 && own != self.number.load(Ordering::Acquire) as usize
    }

    /// In the child of a fork no thread has it. If the thread that forked had it (in a callback), it
    /// continues as one that was replaced.
    #[cfg(feature = "fork")]
    pub(crate) fn forked(&self) {
        self.revoke();
        self.since.store(0, Ordering::Relaxed);
    }

    /// A callback is about to run. Returns the time if the calling thread has this role.
    pub(crate) fn begin(&self, name: fn() -> &'static str) -> Option<u64> {
        self.is_mine().then(|| {
            let now = prim::coarse_ns();
            self.name.store(name as *mut (), Ordering::Relaxed);
            self.since.store(now, Ordering::Release);
            now
        })
    }

    /// The callback has returned. If a look was faster, another thread has the role, or is about to take it.
    pub(crate) fn end(&self) {
        if self.is_mine() && self.since.swap(0, Ordering::AcqRel) == 0 {
            self.own.set(DISMISSED);
        }
    }

    /// Another thread looks at the callback, and takes the role away if it is stuck.
    pub(crate) fn look(&self) -> Option<Stuck> {
        // The clock of `begin`: the other one may be hours ahead of it after a virtual machine was stopped.
        self.look_at(prim::coarse_ns())
    }

    fn look_at(&self, now: u64) -> Option<Stuck> {
        self.looked.store(now, Ordering::Relaxed);
        let since = self.since.load(Ordering::Acquire);
        let running = now.saturating_sub(since);
        if since == 0 || running < STUCK {
            return None;
        }
        let [seen, at] = &self.seen;
        if seen.swap(since, Ordering::Relaxed) != since {
            at.store(now, Ordering::Relaxed);
        }
        if now.saturating_sub(at.load(Ordering::Relaxed)) < AGAIN {
            return None;
        }
        let name = self.name.load(Ordering::Relaxed);
        let order = (Ordering::AcqRel, Ordering::Relaxed);
        self.since
            .compare_exchange(since, 0, order.0, order.1)
            .ok()?;
        // SAFETY: `begin` stored a function of this type before it stored `since`.
        let name = unsafe { std::mem::transmute::<*mut (), fn() -> &'static str>(name) };
        Some(Stuck {
            name: name(),
            running,
            number: self.revoke(),
        })
    }

    /// The time until the next look; 0 if it has come. Asking does not put it off: while a callback runs,
    /// only a look changes when the next one is.
    pub(crate) fn left(&self) -> u64 {
        match self.since.load(Ordering::Acquire) {
            0 => STUCK,
            since => {
                let next = (since + STUCK).max(self.looked.load(Ordering::Relaxed) + AGAIN);
                next.saturating_sub(prim::coarse_ns())
            }
        }
    }
}

#[cfg(test)]
impl Role {
    pub(crate) fn since(&self) -> u64 {
        self.since.load(Ordering::Relaxed)
    }

    /// A callback began at this time.
    pub(crate) fn set_since(&self, since: u64) {
        let name: fn() -> &'static str = || "a callback";
        self.name.store(name as *mut (), Ordering::Relaxed);
        self.since.store(since, Ordering::Relaxed);
    }

    /// Its callback began so long ago.
    pub(crate) fn began(&self, ago: u64) {
        self.set_since(prim::coarse_ns() - ago);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The calling thread has it.
    fn mine() -> Role {
        let role = Role::new(&OVERFLOW);
        role.take(role.number());
        role
    }

    #[test]
    fn a_callback_that_runs_for_too_long_costs_the_role() {
        let role = mine();
        let number = role.number();
        assert!(role.look().is_none(), "none runs");
        role.begin(|| "its name");
        let since = role.since();
        assert!(role.look_at(since).is_none(), "it has just begun");
        for (ago, what) in [
            (STUCK - 1, "it may run for longer"),
            (STUCK, "it has not been seen"),
            (STUCK + AGAIN - 1, "it was seen too short a time ago"),
        ] {
            assert!(role.look_at(since + ago).is_none(), "{what}");
        }
        assert!(role.is_mine() && !role.is_dismissed());
        let stuck = role.look_at(since + STUCK + AGAIN).expect("it is stuck");
        let wanted = ("its name", number, STUCK + AGAIN);
        assert_eq!((stuck.name, stuck.number, stuck.running), wanted);
        assert!(role.is_dismissed() && !role.is_mine());
        assert!(role.look_at(since + 9 * STUCK).is_none(), "once");
        role.end();
        assert!(role.is_dismissed());
        role.leave();
    }

    /// After a process was stopped for long, its callbacks return as soon as it goes on.
    #[test]
    fn what_does_not_run_on_from_one_look_to_the_next_is_not_stuck() {
        let role = mine();
        let now = 100 * STUCK;
        for (look, since) in [95, 96, 0, 97, 98].into_iter().enumerate() {
            role.set_since(since * STUCK);
            let now = now + look as u64 * AGAIN;
            assert!(role.look_at(now).is_none(), "{since}");
        }
        assert!(role.look_at(now + STUCK).is_some());
        role.leave();
    }

    #[test]
    fn the_next_look_is_when_a_callback_may_be_stuck_and_not_at_once() {
        let role = mine();
        assert_eq!(role.left(), STUCK, "none runs");
        for (ago, most) in [(0, STUCK), (STUCK / 2, STUCK / 2), (3 * STUCK, AGAIN)] {
            role.began(ago);
            assert!(role.look().is_none(), "at the first look");
            assert!(role.left() <= most, "{ago}");
        }
        role.leave();
    }

    /// A thread that sees nothing asks, at any time: the time of the look stays.
    #[test]
    fn a_look_whose_time_has_come_is_not_put_off() {
        let role = mine();
        role.began(3 * STUCK);
        assert_eq!([role.left(), role.left()], [0; 2]);
        // One that has just looked waits: it cannot have seen a second time by now.
        role.looked
            .store(prim::coarse_ns() + STUCK, Ordering::Relaxed);
        assert!(role.left() > 0);
        role.leave();
    }

    #[test]
    fn a_callback_that_returns_in_time_costs_nothing() {
        let role = mine();
        role.began(STUCK - 1);
        role.end();
        assert!(!role.is_dismissed());
        assert_eq!(role.since(), 0);
        role.leave();
        assert!(!role.is_dismissed(), "it never had it");
    }

    #[test]
    fn callbacks_of_other_threads_are_not_watched() {
        let role = mine();
        role.leave();
        assert_eq!(role.begin(|| "another's"), None);
        assert_eq!(role.since(), 0);
        role.set_since(7);
        role.end();
        assert_eq!(role.since(), 7);
    }

    #[test]
    fn in_the_child_of_a_fork_no_thread_has_it() {
        let role = mine();
        role.begin(|| "forks");
        role.forked();
        assert!(role.is_dismissed() && role.look().is_none());
        assert_eq!(role.since(), 0);
        role.leave();
    }
}
