//! The worker's sleep: one `epoll_wait` for a timer, an event, and, while something is queued that has to
//! wait, for [memory pressure](crate::os::pressure).
//!
//! A word records whether the worker sleeps, so that a kick costs a system call only then:
//!
//! | word | kick | worker |
//! |---|---|---|
//! | `AWAKE` | → `PENDING` | about to sleep: → `ASLEEP`, and sleeps |
//! | `PENDING` | stays | about to sleep: → `AWAKE`, and checks again |
//! | `ASLEEP` | → `PENDING`, and writes the event | |
//!
//! `[ALM-1]` the kicker's earlier stores, its swap of the word, the worker's swap or compare-and-swap: the
//! worker sees those stores when it checks again.
//!
//! `[ALM-2]` a thread that wakes the worker counts itself before it loads the event's descriptor; a thread
//! that closes the descriptors first takes that one away, then waits until none is counted. All of them in
//! one order (`SeqCst`): a number that was given back is not written to.
//!
//! All descriptors are edge-triggered, so they need not be read. The thread that queues sets the timer with
//! one system call, which wakes no thread. A separate lock protects the timer and its setting. Its holder
//! takes no other lock, except to ask the engine whether the timer is still needed.
//!
//! # A time that has come stays until the worker has seen it
//! The timer may have expired, and the worker not have run yet. Setting the timer clears that: the worker
//! would sleep on, until the new time. So [`arm`](Alarm::arm) only moves the timer to an earlier time, never
//! to a later one, not even from one that has passed. The worker, when it is awake and has looked at all that
//! is due, sets the timer to what is left ([`follow`](Alarm::follow)), before each of its sleeps; a thread
//! that has drained a domain does so, too. They determine that time under the timer's lock, from the
//! deadlines themselves, each of which stays what it is until the worker has looked: so one that has come is
//! among them, and ends the sleep at once. Where there is no worker ([`forget`](Alarm::forget), the child of
//! a fork), the next one looks at everything when it starts.

#[cfg(not(quiescent_model))]
use crate::os;
use crate::os::Woken;
use crate::os::pressure::PressureSources;
use crate::prim::{AtomicU32, Mutex, MutexGuard, Ordering};

/// Sources of memory pressure are armed for deadlines at least this many nanoseconds away. PSI itself takes
/// up to two seconds.
const WORTH_NS: u64 = 1_000_000_000;

/// The worker is awake.
const AWAKE: u32 = 0;
/// The worker sleeps, or is about to.
const ASLEEP: u32 = 1;
/// The worker has to check again before it sleeps.
const PENDING: u32 = 2;

/// The timer and the event.
#[derive(Debug)]
pub struct Alarm {
    word: AtomicU32,
    /// The time that the timer is set to; 0 for none.
    set: Mutex<u64>,
    os: os::Wakeups,
}

impl Alarm {
    const_new! {
        pub fn new() -> Alarm {
            Alarm {
                word: AtomicU32::new(AWAKE),
                set: Mutex::new(0),
                os: os::Wakeups::new(),
            }
        }
    }

    /// The lock of the timer, with the time that it is set to. Wakeups are created under this lock, too,
    /// so that a fork finds them either recorded or not created.
    pub fn timer(&self) -> MutexGuard<'_, u64> {
        self.set
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Creates the descriptors. Called before the worker starts; later calls have no effect.
    ///
    /// # Errors
    /// Those of the system.
    pub fn open(&self) -> std::io::Result<()> {
        let set = self.timer();
        self.os.open()?;
        // The time set before the timer existed.
        if *set != 0 {
            self.os.set_timer(*set);
        }
        Ok(())
    }

    /// In the child of a fork: the descriptors are the parent's, and no thread sleeps on them here. `set`:
    /// its lock is held.
    #[cfg(feature = "fork")]
    pub fn forked(&self, set: &mut u64) {
        self.os.close();
        self.word.store(AWAKE, Ordering::Relaxed);
        *set = 0;
    }

    /// There is no worker: gives the descriptors back.
    #[cfg(not(quiescent_model))]
    pub fn close(&self) {
        let mut set = self.timer();
        self.os.end(); // [ALM-2]
        *set = 0;
    }

    /// Opens the sources of memory pressure. The worker calls this when it starts.
    #[cfg(not(quiescent_model))]
    #[inline]
    pub fn open_sources(&self) {
        let _set = self.timer();
        self.os.open_sources();
    }

    /// Sets whether the program uses the kernel's sources of memory pressure.
    #[cfg(not(quiescent_model))]
    pub fn set_sources_wanted(&self, wanted: bool) {
        let _set = self.timer();
        self.os.set_sources_wanted(wanted);
    }

    /// The states of the sources of memory pressure.
    pub fn sources(&self) -> PressureSources {
        self.os.sources()
    }

    /// There is no worker: the next thread that queues sets the timer, and tries to start a worker.
    #[inline]
    pub fn forget(&self) {
        *self.timer() = 0;
    }

    /// Ensures that the worker wakes by `deadline` (monotonic nanoseconds). A timer that is set to an earlier
    /// time stays, also if that time has come. With `holds`, something may be queued until then, and the
    /// worker listens for memory pressure meanwhile.
    pub fn arm(&self, deadline: u64, holds: bool) {
        let deadline = deadline.max(1); // 0 stops the timer
        let mut set = self.timer();
        if *set == 0 || deadline < *set {
            *set = deadline;
            self.os.set_timer(deadline);
        }
        if holds && is_worth(deadline, crate::prim::now_ns()) {
            self.os.listen();
        }
    }

    /// Sets the timer to the result of `wanted`, or stops it. `wanted` gives the earliest of all deadlines,
    /// those that have come included. Also sets it to the same time again: it may have expired unseen, or
    /// have been changed by a process that shares the descriptor (after a fork).
    pub fn follow(&self, wanted: impl FnOnce() -> Option<u64>) {
        let mut set = self.timer();
        let wanted = wanted().map_or(0, |at| at.max(1));
        if *set != 0 || wanted != 0 {
            *set = wanted;
            self.os.set_timer(wanted);
        }
        if wanted == 0 {
            self.os.ignore();
        } else if is_worth(wanted, crate::prim::now_ns()) {
            self.os.listen();
        }
    }

    /// True if the timer is set.
    pub fn is_armed(&self) -> bool {
        *self.timer() != 0
    }

    /// Makes the worker check, soon.
    #[inline(never)]
    pub fn kick(&self) {
        if self.word.swap(PENDING, Ordering::AcqRel) == ASLEEP {
            self.os.wake(&self.word); // [ALM-1]
        }
    }

    /// Sleeps until kicked, or until the timer expires, or memory is low. `None`: it did not sleep. Only the
    /// worker calls this.
    pub fn sleep(&self) -> Option<Woken> {
        let order = Ordering::AcqRel;
        let mut woken = None;
        if self
            .word
            .compare_exchange(AWAKE, ASLEEP, order, Ordering::Relaxed)
            .is_ok()
        {
            woken = Some(self.os.sleep(&self.word, ASLEEP));
        }
        self.word.swap(AWAKE, order); // [ALM-1]
        woken
    }
}

/// True if listening for memory pressure until `deadline` is worth the system calls.
fn is_worth(deadline: u64, now: u64) -> bool {
    deadline >= now.saturating_add(WORTH_NS)
}

#[cfg(quiescent_model)]
#[path = "../../../../check/models/inside/core/wakeups.rs"]
mod os;
#[cfg(all(test, not(quiescent_model)))]
mod tests;
