//! Sharing of heavy fences between threads that need one at the same time.
//!
//! Every domain has its own grace periods, and the fence of each reaches the same threads. So a thread can
//! use any fence that *begins after* the thread came to need one. Fences have numbers, in the order in which
//! they begin:
//!
//! ```text
//!   A  comes: none in progress  ──► 7 begins ══════════ 7 ends
//!   B           comes: 7 is in progress, began too early     │─► 8 begins ══════════ 8 ends
//!   C                  comes: the same ──────────────────────│─ waits ─────────────────│─► uses 8, too
//! ```
//!
//! A thread that finds no fence in progress issues one: a load or two, a compare-and-swap, the system call,
//! and two locked instructions. It waits for no other fence.
//!
//! # Invariants
//! * `ended` ≤ `begun`, `failed` ≤ `begun`, and none of them ever decreases: a number is assigned to one
//!   fence only, before it begins.
//! * A fence is in progress if `begun` is above both others. (If the fence that began last is over, an
//!   earlier one may be late; see below.)
//! * If `ended` is k, some fence that began as number k or later has ended.
//!
//! # A preempted issuer
//! A thread that has a number and loses its CPU, before the call or after it, delays its waiters for at most
//! `PATIENCE`. Then each of them takes its own number and issues a fence; the first to end records its
//! number, after which no fence counts as in progress, and later callers do not wait at all. The number that
//! the late thread records when it runs again is an old one, and changes nothing. If every fence takes longer
//! than `PATIENCE`, no fence is shared, and each caller issues its own after that delay.
//!
//! # Refusal
//! The errno of a refused fence is returned to its issuer. Its waiters issue their own fences, and get their
//! own results: a filter of system calls is per thread, and memory that was missing (`ENOMEM`) may be
//! available now.
//!
//! # Correctness
//! Let W have stores C before the fence it needs and loads D after it, let S issue the fence that W uses, and
//! let R be a reader that executes `A; light; B`. W may treat the fence as its own if either B sees C or D
//! sees A.
//!
//! `[FN-1]` W: C, *full fence*, a load of `begun`; it uses number `begun` + 1 or a later one. S: `begun`, a
//! *locked* addition; the fence; `ended`, *release*. W: `ended`, *acquire*; D. The value that W loaded from
//! `begun` is older than the one that S wrote, so W's full fence comes before S's heavy one, and C is visible
//! to all threads when that begins. Let t be the moment at which it reaches R. If B comes after t, it sees C.
//! Else A came before t, hence before the heavy fence's end, which happens before D by the release and the
//! acquire: D sees A.
//!
//! `[FN-2]` the sleeper: the bell, a *locked* swap, then another check of `ended` and `failed`; the ender:
//! one of these two, then the bell, a *locked* swap. Both swap one word. If the sleeper was first, it is
//! woken; else it sees what the ender recorded before. (Without either, it would sleep until `PATIENCE` has
//! passed.)
//!
//! # Fork
//! In the child no fence is in progress, and the fork itself is a fence for its only thread (`fork`): all
//! that began counts as ended.

use std::time::Duration;

use crate::prim::counters::value;
use crate::prim::{self, AtomicU32, AtomicU64, Counter, FENCE_CHECKS, Ordering, full_fence};

/// The longest wait for another thread's fence, in nanoseconds: ten times the duration of a fence on a busy
/// machine.
const PATIENCE: u64 = 200_000;

/// Number of pause instructions between two checks of another thread's fence.
const SPIN: u32 = 16;

/// No thread sleeps for the end of a fence.
const SILENT: u32 = 0;
/// A thread does, or is about to.
const AWAITED: u32 = 1;

/// The fences of a process.
#[derive(Debug)]
pub struct Fences {
    /// The number of the fence that began last.
    begun: AtomicU64,
    /// The highest number of those that have ended.
    ended: AtomicU64,
    /// The highest number of those that were refused.
    failed: AtomicU64,
    bell: AtomicU32,
    /// The value of `begun` when this process was forked.
    inherited: Counter,
}

/// The issuer of the fence that was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    Own,
    /// Another thread has issued it.
    Shared,
}

impl Fences {
    const_new! {
        pub fn new() -> Fences {
            Fences {
                begun: AtomicU64::new(0),
                ended: AtomicU64::new(0),
                failed: AtomicU64::new(0),
                bell: AtomicU32::new(SILENT),
                inherited: Counter::new(0),
            }
        }
    }

    /// A fence that begins after this call and has ended when it returns: one that `issue` issues, or that of
    /// another thread.
    ///
    /// # Errors
    /// The error of `issue`.
    #[inline]
    pub fn pass(&self, issue: impl FnOnce() -> Result<(), i32>) -> Result<Whose, i32> {
        let over = self.over();
        if self.begin(over) {
            return self.end(over + 1, issue());
        }
        self.pass_with_others(PATIENCE, issue)
    }

    /// The same, while another thread's fence is in progress.
    #[cold]
    fn pass_with_others(
        &self,
        patience: u64,
        issue: impl FnOnce() -> Result<(), i32>,
    ) -> Result<Whose, i32> {
        full_fence(); // [FN-1]
        let need = self.begun.load(Ordering::Relaxed) + 1;
        let mut deadline = None;
        let number = loop {
            if self.ended.load(Ordering::Acquire) >= need {
                return Ok(Whose::Shared); // [FN-1]
            }
            let over = self.over();
            if self.begin(over) {
                break over + 1;
            }
            let now = prim::now_ns();
            let end = *deadline.get_or_insert(now.saturating_add(patience));
            if now >= end {
                break self.begun.fetch_add(1, Ordering::AcqRel) + 1; // [FN-1]
            }
            self.sleep(over, end - now);
        };
        self.end(number, issue())
    }

    /// The highest number that is over, ended or refused.
    fn over(&self) -> u64 {
        let failed = self.failed.load(Ordering::Relaxed);
        self.ended.load(Ordering::Relaxed).max(failed)
    }

    /// Takes the number after `over`, if no fence is in progress.
    fn begin(&self, over: u64) -> bool {
        let order = (Ordering::AcqRel, Ordering::Relaxed);
        self.begun
            .compare_exchange(over, over + 1, order.0, order.1) // [FN-1]
            .is_ok()
    }

    /// Records that the fence with this number is over.
    fn end(&self, number: u64, result: Result<(), i32>) -> Result<Whose, i32> {
        let word = match result {
            Ok(()) => &self.ended,
            Err(_) => &self.failed,
        };
        let mut now = word.load(Ordering::Relaxed);
        while now < number {
            let order = (Ordering::AcqRel, Ordering::Relaxed); // [FN-1]
            match word.compare_exchange(now, number, order.0, order.1) {
                Ok(_) => break,
                Err(later) => now = later,
            }
        }
        if self.bell.swap(SILENT, Ordering::AcqRel) != SILENT {
            prim::futex_wake_all(&self.bell); // [FN-2]
        }
        result.map(|()| Whose::Own)
    }

    /// Sleeps until more than `over` may be over, for at most `nanos` nanoseconds.
    fn sleep(&self, over: u64, nanos: u64) {
        let mut checks = FENCE_CHECKS;
        while checks > 0 {
            prim::spin(SPIN);
            if self.over() != over {
                return;
            }
            checks -= 1;
        }
        self.bell.swap(AWAITED, Ordering::AcqRel); // [FN-2]
        if self.over() == over {
            let time = Duration::from_nanos(nanos);
            prim::futex_wait(&self.bell, AWAITED, Some(time));
        }
    }

    /// Number of fences that this process has issued.
    pub fn issued(&self) -> u64 {
        let begun = self.begun.load(Ordering::Relaxed);
        begun.saturating_sub(value(&self.inherited))
    }

    /// In the child of a fork: no fence is in progress.
    #[cfg(feature = "fork")]
    pub fn forked(&self) {
        let begun = self.begun.load(Ordering::Relaxed);
        self.ended.store(begun, Ordering::Relaxed);
        self.bell.store(SILENT, Ordering::Relaxed);
        self.inherited
            .store(begun, std::sync::atomic::Ordering::Relaxed);
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests;
