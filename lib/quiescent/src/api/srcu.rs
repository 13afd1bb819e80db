//! Readers that may sleep: [`Srcu`], and the guards of its sections.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use quiescent_engine::FullCookie;

use crate::error::SyncError;
use crate::inner::domain::yard::Yard;
use crate::inner::gp::driven::Driven as _;
use crate::inner::gp::driver::{Drives as _, How};
use crate::inner::prim::{AtomicPtr, Ordering, const_new};
use crate::stats::Holdout;

mod barrier;
mod cell;
#[cfg(not(quiescent_model))]
mod future;
mod queue;

pub use barrier::SrcuBarrier;
pub use cell::{SrcuCell, SrcuRetired};
#[cfg(not(quiescent_model))]
pub use future::SrcuGracePeriod;

/// Grace periods of its own, for readers that may sleep, wait, and go to another thread in the middle of a section.
///
/// A [`Guard`](crate::Guard) holds up the reclaiming of the whole process and belongs to its thread. An [`SrcuGuard`] holds up what was
/// replaced under *its* `Srcu`, and nothing else; it is `Send`, and may be kept across an `await`, over a network call, or for
/// as long as a task lives.
///
/// ```
/// use quiescent::{Srcu, SrcuCell};
///
/// static SRCU: Srcu = Srcu::new();
/// let config = SrcuCell::new(&SRCU, String::from("v1"));
///
/// let guard = SRCU.read_lock();
/// let seen = config.load(&guard);
/// std::thread::sleep(std::time::Duration::from_millis(1)); // others go on
/// assert_eq!(seen, "v1");
/// drop(guard);
///
/// config.store(String::from("v2")); // the old one is dropped once its readers are gone
/// SRCU.synchronize();               // or wait for them
/// ```
///
/// # Cost
/// A section is two additions to counts that no other thread writes, without a fence: `quiescent bench srcu` measures it beside the
/// others. A grace period is one process-wide fence and a sum over the threads that have ever read here (none where only the caller
/// ever has). An `Srcu` that was never used is a word; then it has about two kilobytes, and one for eight threads' counts.
/// What it queues goes through one lock; and all of an `Srcu`'s callbacks, and those of every other one, run on one thread, the *caretaker*.
///
/// # What it cannot do
/// * **Not for signal handlers.** A handler that reads may destroy the count of the section that it interrupts.
/// * Waiting for a grace period inside a section of the same `Srcu` is for ever, if the guard is dropped only afterwards. It cannot be
///   refused, since guards belong to no thread; [`synchronize_timeout`](Srcu::synchronize_timeout) returns, and a stall report tells where
///   the sections were begun.
/// * A guard that is forgotten holds up its `Srcu` for ever: its objects are held, nothing else is.
/// * In the child of a fork sections that other threads had open are open still, for ever unless the child drops their guards. Make a
///   new `Srcu` there.
/// * Callbacks must not end their thread (`pthread_exit`), and one that does not return holds up those of other `Srcu`s, too.
///
/// # Dropping it
/// Never waits. What is queued is run all the same, later. Guards cannot outlive it (an [`OwnedSrcuGuard`] keeps it alive); cells may.
pub struct Srcu {
    yard: AtomicPtr<Yard>,
}

impl Default for Srcu {
    fn default() -> Srcu {
        Srcu::new()
    }
}

impl Srcu {
    const_new! {
        /// A new one. Nothing is allocated before it is used.
        pub fn new() -> Srcu {
            Srcu { yard: AtomicPtr::new(std::ptr::null_mut()) }
        }
    }

    /// In a model.
    #[cfg(quiescent_model)]
    pub(crate) fn of(yard: &'static Yard) -> Srcu {
        Srcu {
            yard: AtomicPtr::new(std::ptr::from_ref(yard).cast_mut()),
        }
    }

    #[inline(always)]
    pub(crate) fn yard(&self) -> &'static Yard {
        let yard = self.yard.load(Ordering::Acquire);
        // SAFETY: null, or a yard, and those live for ever.
        match unsafe { yard.as_ref() } {
            Some(yard) => yard,
            None => self.first_use(),
        }
    }

    #[cold]
    #[inline(never)]
    fn first_use(&self) -> &'static Yard {
        #[cfg(quiescent_model)]
        unreachable!("a model's has its yard");
        #[cfg(not(quiescent_model))]
        {
            let new = Yard::found();
            let order = (Ordering::AcqRel, Ordering::Acquire);
            let raw = std::ptr::from_ref(new).cast_mut();
            match self
                .yard
                .compare_exchange(std::ptr::null_mut(), raw, order.0, order.1)
            {
                Ok(_) => new,
                Err(other) => {
                    new.abandon();
                    // SAFETY: as above.
                    unsafe { &*other }
                }
            }
        }
    }

    /// Opens a section. Never waits, never fails.
    ///
    /// # Ordering
    /// As [`read_lock`](crate::read_lock()): a grace period of this `Srcu` that starts while the section is open does not end before it
    /// has; a section that opens after one has started sees everything that happened before that start.
    #[inline(always)]
    pub fn read_lock(&self) -> SrcuGuard<'_> {
        SrcuGuard {
            section: Section::open(self.yard()),
            srcu: PhantomData,
        }
    }

    /// Runs `f` inside a section.
    #[inline(always)]
    pub fn read<R>(&self, f: impl FnOnce(&SrcuGuard<'_>) -> R) -> R {
        let guard = self.read_lock();
        f(&guard)
    }

    /// Opens a section whose guard keeps the `Srcu` alive: for tasks that outlive the place where they are made.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use quiescent::Srcu;
    ///
    /// let srcu = Arc::new(Srcu::new());
    /// let guard = srcu.read_owned();
    /// drop(srcu);
    /// std::thread::spawn(move || drop(guard)).join().unwrap();
    /// ```
    pub fn read_owned(self: &Arc<Srcu>) -> OwnedSrcuGuard {
        OwnedSrcuGuard {
            section: Section::open(self.yard()),
            _srcu: Arc::clone(self),
        }
    }

    /// Waits for a grace period: until every section of this `Srcu` that was open when this was called has ended.
    ///
    /// # Panics
    /// Inside a [`read_lock`](crate::read_lock()) section (which would hold up the whole process meanwhile) and inside a callback; if
    /// `membarrier(2)` was taken away since start-up; [`try_synchronize`](Srcu::try_synchronize) returns these.
    pub fn synchronize(&self) {
        if let Err(error) = self.try_synchronize() {
            panic!("Srcu::synchronize: {error}");
        }
    }

    /// As [`synchronize`](Srcu::synchronize), returning the reason why it cannot.
    ///
    /// # Errors
    /// [`SyncError::InsideSection`], [`SyncError::InsideCallback`], [`SyncError::FenceRefused`]. No grace period has been waited for then.
    pub fn try_synchronize(&self) -> Result<(), SyncError> {
        self.yard().wait_for_gp(How::default())
    }

    /// As [`try_synchronize`](Srcu::try_synchronize), giving up after `timeout`.
    ///
    /// # Errors
    /// Also [`SyncError::TimedOut`], with the threads on which the sections were begun.
    ///
    /// ```
    /// use std::time::Duration;
    /// use quiescent::{Srcu, SyncError};
    ///
    /// let srcu = Srcu::new();
    /// let guard = srcu.read_lock();
    /// let result = srcu.synchronize_timeout(Duration::from_millis(1));
    /// assert!(matches!(result, Err(SyncError::TimedOut { .. })));
    /// drop(guard);
    /// assert_eq!(srcu.synchronize_timeout(Duration::from_secs(60)), Ok(()));
    /// ```
    pub fn synchronize_timeout(&self, timeout: Duration) -> Result<(), SyncError> {
        self.yard().wait_for_gp(How::within(timeout))
    }

    /// As [`synchronize`](Srcu::synchronize), in a hurry: spins longer before it sleeps.
    ///
    /// # Panics
    /// As [`synchronize`](Srcu::synchronize).
    pub fn synchronize_expedited(&self) {
        if let Err(error) = self.yard().wait_for_gp(How::EXPEDITED) {
            panic!("Srcu::synchronize_expedited: {error}");
        }
    }

    /// Asks for a grace period without waiting, and returns the cookie it will satisfy.
    pub fn start_poll(&self) -> SrcuCookie {
        let yard = self.yard();
        SrcuCookie {
            yard,
            cookie: yard.start_poll(),
        }
    }

    /// Has a full grace period passed since the cookie was taken? Never waits; helps it along as far as that goes without waiting.
    ///
    /// # Panics
    /// If the cookie is of another `Srcu`.
    pub fn poll(&self, cookie: SrcuCookie) -> bool {
        let yard = self.own(cookie);
        yard.poll_gp(cookie.cookie).unwrap_or(false)
    }

    /// Waits until a full grace period has passed since the cookie was taken.
    ///
    /// # Panics
    /// If the cookie is of another `Srcu`; else as [`synchronize`](Srcu::synchronize), if it has to wait.
    pub fn wait(&self, cookie: SrcuCookie) {
        if !self.own(cookie).is_done(cookie.cookie) {
            self.synchronize();
        }
    }

    fn own(&self, cookie: SrcuCookie) -> &'static Yard {
        let yard = self.yard();
        assert!(
            std::ptr::eq(yard, cookie.yard),
            "a cookie of another Srcu: ask the one that it was taken from"
        );
        yard
    }

    /// The threads on which the sections were begun that the grace period in flight waits for, as far as one look can tell; empty if none is
    /// in flight. Sections may end on other threads.
    pub fn holdouts(&self) -> Vec<Holdout> {
        self.yard().holdouts()
    }

    /// Reports stalls of its grace periods after this time from now on; zero: not at all. See
    /// [`set_stall_after`](crate::set_stall_after), which is about the process's domain, and [`on_report()`](crate::on_report()).
    pub fn set_stall_after(&self, time: Duration) {
        self.yard().set_stall_time(time);
    }

    /// What it has done so far, and holds now.
    pub fn statistics(&self) -> SrcuStatistics {
        SrcuStatistics::of(self.yard())
    }
}

impl Drop for Srcu {
    fn drop(&mut self) {
        let yard = self.yard.load(Ordering::Acquire);
        // SAFETY: null, or a yard, and those live for ever.
        if let Some(yard) = unsafe { yard.as_ref() } {
            yard.abandon();
        }
    }
}

impl fmt::Debug for Srcu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Srcu").finish_non_exhaustive()
    }
}

/// An open section; whoever drops it closes it.
pub(crate) struct Section {
    yard: &'static Yard,
    count: usize,
}

impl Section {
    #[inline(always)]
    fn open(yard: &'static Yard) -> Section {
        Section {
            yard,
            count: yard.readers.enter(),
        }
    }
}

impl fmt::Debug for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "open in count {}", self.count)
    }
}

impl Drop for Section {
    #[inline(always)]
    fn drop(&mut self) {
        if self.yard.readers.leave(self.count) {
            self.yard.may_be_empty(self.count);
        }
    }
}

/// An open section of an [`Srcu`]. It ends when the guard is dropped, on whatever thread.
#[derive(Debug)]
#[must_use = "the section ends when the guard is dropped"]
pub struct SrcuGuard<'a> {
    section: Section,
    srcu: PhantomData<&'a Srcu>,
}

/// As [`SrcuGuard`]; keeps its [`Srcu`] alive.
#[derive(Debug)]
#[must_use = "the section ends when the guard is dropped"]
pub struct OwnedSrcuGuard {
    section: Section,
    _srcu: Arc<Srcu>,
}

mod sealed {
    pub trait Inside {
        /// The address of what the section is in.
        fn place(&self) -> *const ();
    }
}

/// Proof of being inside a section of some [`Srcu`]: an [`SrcuGuard`] or an [`OwnedSrcuGuard`].
pub trait InSrcu: sealed::Inside {}

impl sealed::Inside for SrcuGuard<'_> {
    #[inline(always)]
    fn place(&self) -> *const () {
        std::ptr::from_ref(self.section.yard).cast()
    }
}

impl InSrcu for SrcuGuard<'_> {}

impl sealed::Inside for OwnedSrcuGuard {
    #[inline(always)]
    fn place(&self) -> *const () {
        std::ptr::from_ref(self.section.yard).cast()
    }
}

impl InSrcu for OwnedSrcuGuard {}

/// A point in the sequence of an [`Srcu`]'s grace periods: "a full grace period from now".
#[derive(Clone, Copy)]
pub struct SrcuCookie {
    yard: &'static Yard,
    cookie: FullCookie,
}

impl fmt::Debug for SrcuCookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SrcuCookie").field(&self.cookie).finish()
    }
}

/// What an [`Srcu`] has done, and holds. Counters only grow; they go on where another `Srcu` that was dropped has left its place to
/// this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SrcuStatistics {
    /// Grace periods that ended.
    pub grace_periods: u64,
    /// Those of them that needed no fence: nobody but their driver had ever read.
    pub grace_periods_sole: u64,
    /// Looks at the sums.
    pub scans: u64,
    /// Times new sections were sent to the other count.
    pub turns: u64,
    /// Process-wide fences.
    pub fences: u64,
    /// Drivers woken by the last section to end.
    pub reader_wakeups: u64,
    /// Times the caretaker looked.
    pub looks: u64,
    /// Callbacks and destructors run.
    pub callbacks: u64,
    /// Of those, how many panicked.
    pub callback_panics: u64,
    /// Callbacks and objects queued and not gone yet, and their bytes.
    pub queued: u64,
    /// See [`queued`](SrcuStatistics::queued).
    pub queued_bytes: u64,
    /// Is a grace period in flight or wanted?
    pub busy: bool,
}

impl SrcuStatistics {
    fn of(yard: &'static Yard) -> SrcuStatistics {
        let (queued, queued_bytes) = yard.held();
        let core = yard.lock();
        let (counts, busy) = (core.engine.counts(), core.engine.busy());
        drop(core);
        let c = &yard.counters;
        let value = crate::inner::domain::counters::value;
        SrcuStatistics {
            grace_periods: counts.grace_periods,
            grace_periods_sole: counts.sole,
            scans: counts.scans,
            turns: counts.turns,
            fences: value(&c.fences_gp) + value(&c.fences_flag),
            reader_wakeups: value(&c.reader_wakeups),
            looks: value(&c.worker_passes),
            callbacks: value(&c.callbacks),
            callback_panics: value(&c.panics),
            queued,
            queued_bytes,
            busy,
        }
    }
}
