//! Fences without an interrupt: each thread of the process answers in a call that it makes anyway.
//!
//! A process-wide fence interrupts every CPU that runs one of our threads. Deferred work can wait a little,
//! so its driver first *asks*: each thread that is present answers at its next unlock or in the slow path of
//! its next push, with one release store. If one of them has not answered in time, the driver issues the
//! process-wide fence (rule R7).
//!
//! ```text
//!   asker    C; full fence; n = ++number; present threads: ask flag set, limits of queues 0;
//!            every answer ≥ n (acquire); D                                  on time-out: a heavy fence
//!   thread   ask flag cleared; n = number (acquire); answer = n (release)
//! ```
//!
//! # Correctness
//! `[ASK-1]` asker: C, number, *locked* addition (release); thread: number, *acquire*, then what it does
//! later. `[ASK-2]` thread: what it did before, answer, *release*; asker: answer, *acquire*; D.
//!
//! Let a thread execute `A; light; B`. If B comes after its load of the number, it sees C by ASK-1. Else A
//! comes before that load, hence before its answer, and D sees A by ASK-2. That is what a heavy fence
//! promises, at whatever point of the thread the answer is, also inside a section or in a signal handler.
//! Only an answer with the asker's number or a later one counts: an earlier one may come before C.
//!
//! `[ASK-3]` asker: C, *full fence*, the load of which threads are present. A thread that is not asked has a
//! full fence of its own that pairs with this one: a thread that registers meanwhile (`[REG-1]`), and an
//! unregistered reader, at each lock and unlock. A thread that ends meanwhile does not answer. The load is
//! that of every leaf's bitmap: the asker does not hold the lock under which a leaf's *occupied* bit has a
//! meaning ([`bitmap`](crate::reader::bitmap)).
//!
//! # Cost
//! A cache miss or two for each thread on either side; so at most `MOST_ASKED` are asked.
//! After a time-out the next fences are process-wide at once: 1, then 2, 4 … 64 of them, until a question is
//! answered. A question that was lost (its flag cleared, or its limit overwritten, at the same moment) ends
//! in a time-out.

use crate::prim::counters::Counter;
use crate::prim::{AtomicU64, Ordering};

/// Number of pause instructions between two checks of an answer.
pub const SPIN: u32 = 4;

/// The largest number of fences without a question after a time-out.
const MOST_SKIPPED: u64 = 64;

/// The questions of a process.
#[derive(Debug)]
pub struct Asking {
    /// The number of the last question. It never decreases, also across forks.
    number: AtomicU64,
    /// This many of the next fences are process-wide at once, without a question.
    skip: Counter,
    /// The initial value of `skip` after the last time-out; 0 after an answer.
    skipped: Counter,
}

/// A thread's answer: the highest number that it has read, or a lower one that it also has read.
#[derive(Debug)]
pub struct Answer(AtomicU64);

impl Answer {
    const_new! {
        pub fn new() -> Answer {
            Answer(AtomicU64::new(0))
        }
    }

    /// True if the thread has answered this question, or a later one.
    pub fn covers(&self, number: u64) -> bool {
        self.0.load(Ordering::Acquire) >= number // [ASK-2]
    }
}

impl Asking {
    const_new! {
        pub fn new() -> Asking {
            Asking {
                number: AtomicU64::new(0),
                skip: Counter::new(0),
                skipped: Counter::new(0),
            }
        }
    }

    /// True if the next fence begins with a question. (Askers at the same time may count a fence twice.)
    pub fn is_due(&self) -> bool {
        let relaxed = std::sync::atomic::Ordering::Relaxed;
        let skip = self.skip.load(relaxed);
        if skip > 0 {
            self.skip.store(skip - 1, relaxed);
        }
        skip == 0
    }

    /// The number of a new question. The caller has executed a full fence since C: the release repeats it.
    pub fn ask(&self) -> u64 {
        self.number.fetch_add(1, Ordering::AcqRel) + 1 // [ASK-1]
    }

    /// The calling thread answers all questions so far.
    pub fn answer(&self, answer: &Answer) {
        let number = self.number.load(Ordering::Acquire); // [ASK-1]
        answer.0.store(number, Ordering::Release); // [ASK-2]
    }

    /// The question was answered, or its time is over.
    pub fn is_over(&self, answered: bool) {
        let relaxed = std::sync::atomic::Ordering::Relaxed;
        let skip = match answered {
            true => 0,
            false => (2 * self.skipped.load(relaxed)).clamp(1, MOST_SKIPPED),
        };
        self.skipped.store(skip, relaxed);
        self.skip.store(skip, relaxed);
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests {
    use super::*;

    #[test]
    fn only_this_answer_or_a_later_one_counts() {
        let (asking, answer) = (Asking::new(), Answer::new());
        let first = asking.ask();
        assert!(!answer.covers(first));
        asking.answer(&answer);
        assert!(answer.covers(first));
        let second = asking.ask();
        assert!(answer.covers(first) && !answer.covers(second));
        asking.answer(&answer);
        assert!(answer.covers(first) && answer.covers(second));
    }

    #[test]
    fn after_time_outs_more_and_more_fences_come_without_a_question() {
        let asking = Asking::new();
        let skipped = || (0..100).take_while(|_| !asking.is_due()).count();
        assert_eq!(skipped(), 0);
        for expected in [1, 2, 4, 8, 16, 32, 64, 64] {
            asking.is_over(false);
            assert_eq!(skipped(), expected);
        }
        asking.is_over(true);
        assert_eq!(skipped(), 0);
        asking.is_over(false);
        assert_eq!(skipped(), 1);
    }
}
