//! Waiting for every callback queued so far (`rcu_barrier`).
//!
//! A barrier is not a grace period: with nothing queued anywhere it is complete at once, and it requests no
//! grace period of its own. It visits every CPU and is complete when each has invoked everything that was
//! queued there at the visit.
//!
//! # Two ways of visiting
//! * **Entrain** (a kernel): the visit puts a callback of the barrier behind all others in the CPU's list.
//!   The callback waits for them, not for a grace period; when it is invoked, the CPU's share is done.
//! * **Positions** (a thread host): the visit notes the ends of the CPU's lists and puts nothing into them.
//!   The share is done when everything below these positions has been invoked. The share does not depend on
//!   the list's owner, and an empty list needs no entry.
//!
//! # The count
//! Starts at 2; the two are subtracted only when all CPUs have been visited, so a share that is done early
//! cannot complete the barrier before the last visit. Each open share adds one.
//!
//! # Calls
//! ```text
//! s = snap()                 any number of callers
//!   (the host's mutex; held from here to `end`)
//! start(s)                   Covered: another caller's barrier began after our snap; done
//! visit_*                    each CPU, under its lock; CPUs that arrive later have queued nothing before
//! visited_all()              true: complete already
//!   one_done()               for each share; true for the one that completes
//! end()                      once complete
//! ```
//!
//! # Why a barrier that began after our snap covers us
//! [`Seq::snap`] names the end of a barrier that has not started: it visits every CPU after our snap,
//! and hence after all that we queued.
//!
//! # Moving callbacks
//! While a barrier is in progress, callbacks move from one CPU to another only after the source was visited:
//! otherwise they would arrive at a CPU that was already visited, and be missed. Only entrained ones move. A
//! thread host leaves callbacks where they are: their queue survives its thread.

use crate::cblist::CbList;
use crate::host::LANES;
use crate::seq::Seq;

/// The initial count, which keeps a barrier from completing before every CPU was visited.
const GUARD: u32 = 2;

/// The result of starting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "a barrier that has started must visit every CPU and end"]
pub enum Begin {
    /// A whole barrier has passed since the snap: the caller's callbacks have run.
    Covered,
    /// Started, with this number.
    Started {
        /// The barrier's number while it is in flight.
        seq: Seq,
    },
}

/// The result of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Visit {
    /// The CPU owes nothing.
    Empty,
    /// The CPU has a share now. With entrained callbacks the host appends the barrier's callback.
    Noted,
    /// This barrier has already visited the CPU.
    Already,
}

/// The barrier of a domain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Barrier {
    seq: Seq,
    count: u32,
}

/// One CPU's state for the barrier.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CpuMark {
    /// The barrier that visited this CPU last. Any other number means: not visited by that barrier.
    seen: Seq,
    /// Its share is open: the lists are marked ([`CbList::mark`]).
    open: bool,
}

impl Barrier {
    /// No barrier has been made yet.
    pub const fn new() -> Barrier {
        Barrier {
            seq: Seq::ZERO,
            count: 0,
        }
    }

    /// The number at which a barrier that covers everything queued until now will have ended. A full fence
    /// follows.
    pub fn snap(&self) -> Seq {
        self.seq.snap()
    }

    /// Begins a barrier, unless a whole one has passed since `snap` was taken.
    ///
    /// # Panics
    /// If a barrier is in flight: they run one at a time.
    pub fn start(&mut self, snap: Seq) -> Begin {
        if self.seq.done(snap) {
            return Begin::Covered;
        }
        self.seq = self.seq.start();
        self.count = GUARD;
        Begin::Started { seq: self.seq }
    }

    /// Is a barrier in flight?
    pub fn in_flight(&self) -> bool {
        self.seq.state() != 0
    }

    /// The number.
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// The guard and the open shares.
    pub fn remaining(&self) -> u32 {
        self.count
    }

    /// Puts a callback of the barrier behind all entries of `list`, once. Also called for a CPU that is about
    /// to lose its callbacks to another one: without a barrier in flight it does nothing.
    ///
    /// On [`Visit::Noted`] the host appends the callback; it calls [`one_done`](Barrier::one_done) when the
    /// callback is invoked, on any CPU.
    pub fn visit_entrain(&mut self, mark: &mut CpuMark, list: &mut CbList) -> Visit {
        if !self.visits(mark) {
            return Visit::Already;
        }
        if !list.entrain(0) {
            return Visit::Empty;
        }
        self.count += 1;
        Visit::Noted
    }

    /// Notes the ends of a CPU's lists, once. The lists are up to date: the host has reported everything that
    /// was queued before the barrier began ([`CbList::enqueue_to`]).
    pub fn visit_positions(&mut self, mark: &mut CpuMark, lists: &mut [CbList; LANES]) -> Visit {
        if !self.visits(mark) {
            return Visit::Already;
        }
        if lists.iter().all(CbList::is_empty) {
            return Visit::Empty;
        }
        self.open(mark, lists);
        Visit::Noted
    }

    /// Every CPU has been visited. True if the barrier is complete already.
    pub fn visited_all(&mut self) -> bool {
        self.drop_count(GUARD)
    }

    /// A share is done. True if that completes the barrier.
    pub fn one_done(&mut self) -> bool {
        self.drop_count(1)
    }

    /// Ends the barrier; the next one may start.
    ///
    /// # Panics
    /// If it is not complete, or no barrier is in flight.
    pub fn end(&mut self) {
        assert!(
            self.count == 0,
            "a barrier was ended with {} shares open",
            self.count
        );
        self.seq = self.seq.end();
    }

    /// In the child of a fork: the barrier in progress is the parent's, and has no waiter here. (The child's
    /// marks are cleared as well: [`Cpu::forked`](crate::Cpu::forked).)
    pub fn forked(&mut self) {
        let in_flight = self.in_flight();
        let Barrier { seq, count } = self;
        *count = 0;
        if in_flight {
            *seq = seq.end();
        }
    }

    /// Is a barrier in flight that has not visited the CPU?
    pub fn would_visit(&self, mark: &CpuMark) -> bool {
        self.in_flight() && mark.seen != self.seq
    }

    /// Marks the CPU as visited; false if it already was, or if no barrier is in flight.
    fn visits(&self, mark: &mut CpuMark) -> bool {
        let visits = self.would_visit(mark);
        if visits {
            mark.seen = self.seq;
        }
        visits
    }

    fn open(&mut self, mark: &mut CpuMark, lists: &mut [CbList; LANES]) {
        self.count += u32::from(!mark.open);
        mark.open = true;
        lists.iter_mut().for_each(CbList::mark);
    }

    fn drop_count(&mut self, n: u32) -> bool {
        assert!(
            self.in_flight() && self.count >= n,
            "more shares of a barrier were done than opened"
        );
        self.count -= n;
        self.count == 0
    }
}

impl Default for Barrier {
    fn default() -> Barrier {
        Barrier::new()
    }
}

impl CpuMark {
    /// A CPU that no barrier has visited.
    pub const fn new() -> CpuMark {
        CpuMark {
            seen: Seq::ZERO,
            open: false,
        }
    }

    /// This CPU's share has no waiter any more. Its visited number stays: numbers are not used twice.
    pub(crate) fn forked(&mut self) {
        let CpuMark { seen: _, open } = self;
        *open = false;
    }

    /// Does this CPU have an open share, by positions?
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Some callbacks of this CPU have been invoked. True, once, if that has completed its share: the host
    /// then calls [`Barrier::one_done`]. Callbacks that are out count as not invoked.
    pub fn ran(&mut self, lists: &[CbList; LANES]) -> bool {
        let done = self.open && lists.iter().all(CbList::is_past_mark);
        self.open &= !done;
        done
    }
}

impl Default for CpuMark {
    fn default() -> CpuMark {
        CpuMark::new()
    }
}

#[cfg(test)]
mod tests;
