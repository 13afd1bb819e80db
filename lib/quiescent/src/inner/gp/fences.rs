//! Whoever needs a heavy fence at the same time as others shares theirs.
//!
//! Every domain has grace periods of its own, and the fence of each reaches the same threads. So one
//! that *begins after* somebody came to need one is as good as his own. Fences have numbers, in the order in which they begin:
//!
//! ```text
//!   A  comes: nothing is under way ─► 7 begins ══════════ 7 ends
//!   B           comes: 7 is under way, which began too early │─► 8 begins ══════════ 8 ends
//!   C                  comes: the same ──────────────────────│─ waits ─────────────────│─► goes on: 8 is its fence, too
//! ```
//!
//! Whoever finds nothing under way issues one: that is a load or two, a compare-and-swap, the system call, and two locked instructions.
//! Nobody else's fence is waited for, then.
//!
//! # Invariants
//! * `ended` ≤ `begun`, `failed` ≤ `begun`, and none of them ever goes back: a number is given to one fence only, before it begins.
//! * A fence is under way if `begun` is above both others. (If the last one to begin is over, an earlier one may be late; see below.)
//! * If `ended` is k, some fence that began as number k or later has ended.
//!
//! # One that issues and does not run
//! Who has a number and loses its processor, before the call or after it, holds up those who wait for it: for [`PATIENCE`] and no longer.
//! Then each of them takes a number of its own and issues a fence; the first to end says so, which leaves nothing under way, and whoever
//! comes later does not wait at all. What the late one says when it runs again is an old number, and changes nothing. Where every fence
//! takes longer than the patience, nobody shares, and all is as if each had come alone, that much later.
//!
//! # Refusal
//! The errno of a refused fence is for whoever issued it. Those who waited for it issue their own, and hear what the kernel says to
//! *them*: a filter of system calls is a thread's own, and memory that was not there (`ENOMEM`) may be there now.
//!
//! # Why it is right
//! Let W have stores C behind it and loads D before it, let S issue the fence that W takes, and let R be a reader that executes `A; light;
//! B`. W may take it for its own if either B sees C or D sees A.
//!
//! `[FN-1]` W: C, *full fence*, a look at `begun`; it takes number `begun` + 1 or a later one. S: `begun`, a *locked* addition; the fence;
//! `ended`, *release*. W: `ended`, *acquire*; D. What W saw in `begun` is older than what S wrote there, so W's full fence comes before S's
//! heavy one, and C is everybody's when that begins. Let t be the moment at which it reaches R. If B comes after t, it sees C. Else A
//! came before t, hence before the heavy fence's end, which happens before D by the release and the acquire: D sees A.
//!
//! `[FN-2]` who sleeps: the bell, a *locked* swap, then another look at what is over; who ends: what is over, then the bell, a *locked* swap.
//! Both swap one word. If the sleeper was first, it is woken; else it sees what the other one said before. (If neither: it oversleeps, by its
//! patience.)
//!
//! # A fork
//! In the child nobody is under way, and a fork is a fence for whoever was alone to come through it ([`fork`](crate::global::fork)): all that began
//! counts as ended.

use std::time::Duration;

use crate::inner::domain::counters::value;
use crate::inner::prim::{
    self, AtomicU32, AtomicU64, Counter, FENCE_LOOKS, Ordering, const_new, full_fence,
};

/// Somebody else's fence is waited for so long, in nanoseconds: ten times what one takes on a busy machine of today.
const PATIENCE: u64 = 200_000;

/// Between two looks at somebody else's fence the processor is relaxed so many times.
const SPIN: u32 = 16;

/// Nobody sleeps for the end of a fence.
const SILENT: u32 = 0;
/// Somebody does, or is about to.
const AWAITED: u32 = 1;

/// The fences of a process.
#[derive(Debug)]
pub(crate) struct Fences {
    /// The number of the fence that began last.
    begun: AtomicU64,
    /// The highest number of those that have ended.
    ended: AtomicU64,
    /// The highest number of those that were refused.
    failed: AtomicU64,
    bell: AtomicU32,
    /// How many had begun when this process was forked.
    inherited: Counter,
}

/// Whose fence it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    Own,
    /// Another thread has issued it.
    Shared,
}

impl Fences {
    const_new! {
        pub(crate) fn new() -> Fences {
            Fences {
                begun: AtomicU64::new(0),
                ended: AtomicU64::new(0),
                failed: AtomicU64::new(0),
                bell: AtomicU32::new(SILENT),
                inherited: Counter::new(0),
            }
        }
    }

    /// A fence that begins after this call and has ended when it returns: one that `issue` issues, or that somebody else does.
    ///
    /// # Errors
    /// What `issue` says.
    #[inline]
    pub(crate) fn pass(&self, issue: impl FnOnce() -> Result<(), i32>) -> Result<Whose, i32> {
        let over = self.over();
        if self.begin(over) {
            return self.end(over + 1, issue());
        }
        self.pass_with_others(PATIENCE, issue)
    }

    /// The same, where somebody else's is under way.
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

    /// What is over, one way or the other.
    fn over(&self) -> u64 {
        let failed = self.failed.load(Ordering::Relaxed);
        self.ended.load(Ordering::Relaxed).max(failed)
    }

    /// Takes the number after `over`, if nothing is under way.
    fn begin(&self, over: u64) -> bool {
        let order = (Ordering::AcqRel, Ordering::Relaxed);
        self.begun
            .compare_exchange(over, over + 1, order.0, order.1) // [FN-1]
            .is_ok()
    }

    /// The fence with this number is over.
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

    /// Sleeps until more than `over` may be over, or for so many nanoseconds.
    fn sleep(&self, over: u64, nanos: u64) {
        let mut looks = FENCE_LOOKS;
        while looks > 0 {
            prim::spin(SPIN);
            if self.over() != over {
                return;
            }
            looks -= 1;
        }
        self.bell.swap(AWAITED, Ordering::AcqRel); // [FN-2]
        if self.over() == over {
            let time = Duration::from_nanos(nanos);
            prim::futex_wait(&self.bell, AWAITED, Some(time));
        }
    }

    /// How many this process has issued.
    pub(crate) fn issued(&self) -> u64 {
        let begun = self.begun.load(Ordering::Relaxed);
        begun.saturating_sub(value(&self.inherited))
    }

    /// In the child of a fork: another process, in which nobody is under way.
    #[cfg(not(quiescent_model))]
    pub(crate) fn forked(&self) {
        let begun = self.begun.load(Ordering::Relaxed);
        self.ended.store(begun, Ordering::Relaxed);
        self.bell.store(SILENT, Ordering::Relaxed);
        self.inherited
            .store(begun, std::sync::atomic::Ordering::Relaxed);
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests;
