//! A queue's telemetry cursor: the positions up to which queued and executed entries were counted.
//!
//! # Counting outside the fast path
//! The owner pushes and pops with plain stores, and takes the lock once per batch. What it has pushed since
//! is in the blocks of the chain. So is what it has popped since: blocks leave a chain only under the lock,
//! and only as far as the engine was informed, which happens after this code has counted. So both can be
//! counted when the owner next holds the lock, by traversing the second words of the entries. (The objects of
//! popped entries are gone; this code does not access them.)
//!
//! # Invariants, under the lock
//! * `ends[lane]` is the end as of the last count, and every entry behind it is in the chain.
//! * `heads[lane]` is the position up to which executed entries were counted. A lane has one consumer at a
//!   time, in order, so they are counted in order; what is behind `heads` and was popped is still in the
//!   chain.
//! * Positions below `starts` were queued before the page existed: neither their queueing nor their execution
//!   is counted.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use quiescent_engine::Pos;
use quiescent_engine::cpu::{Cpu, LANES, Lane};
use quiescent_engine::credit::{Queued, Urgency};

use self::marks::{Marks, TimeMark};
use crate::prim;
use crate::queue::chain::{Chain, end_of_block};
use crate::queue::intrusive::RunHead;
use crate::queue::kind::{self, BLOCK_LANES, HEAD};

/// Lanes that are counted: none without the feature `telemetry`.
const COUNTED: usize = if cfg!(feature = "telemetry") {
    LANES
} else {
    0
};

mod marks;

/// Counters of the callbacks of one function.
#[derive(Debug, Default)]
#[repr(C)]
pub struct FunctionCounts {
    pub queued: AtomicU64,
    pub executed: AtomicU64,
    /// The bytes of those queued, as the budget counts them.
    pub queued_bytes: AtomicU64,
    /// The bytes of those executed.
    pub executed_bytes: AtomicU64,
    /// Number of times it caused a wake-up by a hurry.
    pub hurried: AtomicU64,
    /// Number of times it caused one as the first prompt callback.
    pub prompt: AtomicU64,
    /// Number of batches in which it was executed.
    pub batches: AtomicU64,
    /// Sum of the waiting times of those executed: lower bound.
    pub least_us: AtomicU64,
    /// The same: upper bound.
    pub most_us: AtomicU64,
    /// The longest waiting time: upper bound.
    pub longest_us: AtomicU64,
}

/// The counts of a function in a domain: `what` is an entry's second word, or an intrusive callback's
/// function. Called only while there is a page.
pub type CountsOf = fn(place: u32, lane: usize, what: u64) -> &'static FunctionCounts;

/// The counts of hosts that have no page.
pub fn uncounted(_place: u32, _lane: usize, _what: u64) -> &'static FunctionCounts {
    unreachable!("there is no page")
}

/// What is queued is counted, by domain and function, while there is a page.
#[derive(Debug)]
pub struct Meter {
    /// Odd while there is a page; another number for each.
    page: AtomicU32,
    /// The time of its creation, ns.
    started: AtomicU64,
    counts: CountsOf,
}

impl Meter {
    pub const fn new(counts: CountsOf) -> Meter {
        Meter {
            page: AtomicU32::new(0),
            started: AtomicU64::new(0),
            counts,
        }
    }

    /// A page was made at this time: what a queue reported to an earlier one is not reported to it.
    pub fn open(&self, started: u64) {
        self.started.store(started, Ordering::Relaxed);
        self.page.fetch_add(1, Ordering::Release);
    }

    /// There is no page any more, in the child of a fork.
    pub fn close(&self) {
        self.page.fetch_add(1, Ordering::Relaxed);
    }

    /// True if there is a page.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.page().is_some()
    }

    /// The number of the page, if there is one.
    #[inline]
    fn page(&self) -> Option<u32> {
        let page = self.page.load(Ordering::Acquire);
        (cfg!(feature = "telemetry") && page & 1 != 0).then_some(page)
    }
}

/// The telemetry number of the process's domain.
pub const PROCESS: u32 = 0;
/// The telemetry number of all domains without a name.
pub const UNNAMED: u32 = 1;
/// The telemetry number of the first domain with counted readers; the others follow.
pub const SRCUS: u32 = 1 << 13;

/// The telemetry cursor of a queue.
#[derive(Debug)]
pub struct Cursor {
    /// The telemetry number of the queue's domain.
    place: u32,
    /// The number of the page that the cursor belongs to; 0: none.
    page: u32,
    starts: [Pos; COUNTED],
    ends: [Pos; COUNTED],
    heads: [Pos; COUNTED],
    marks: [Marks; COUNTED],
    /// When the owner of a lane last got credit, ns; 0: it has none.
    credited: [u64; COUNTED],
    /// When the lanes were last counted, ns.
    looked: u64,
}

impl Cursor {
    pub const fn new() -> Cursor {
        Cursor {
            place: PROCESS,
            page: 0,
            starts: [0; COUNTED],
            ends: [0; COUNTED],
            heads: [0; COUNTED],
            marks: [Marks::new(); COUNTED],
            credited: [0; COUNTED],
            looked: 0,
        }
    }

    /// Sets the telemetry number of the queue's domain.
    pub fn set_place(&mut self, place: u32) {
        self.place = place;
    }

    /// True if there is a page. Then the cursor belongs to it.
    #[inline]
    fn counts(&mut self, meter: &Meter, cpu: &Cpu) -> bool {
        let Some(page) = meter.page() else {
            return false;
        };
        if self.page != page {
            self.begin(page, meter.started.load(Ordering::Relaxed), cpu);
        }
        true
    }

    /// A new page: what is queued by now is not counted in it.
    #[cold]
    fn begin(&mut self, page: u32, started: u64, cpu: &Cpu) {
        for (lane, which) in Lane::ALL.into_iter().enumerate() {
            let end = cpu.list(which).end();
            (self.starts[lane], self.ends[lane], self.heads[lane]) = (end, end, end);
            self.marks[lane] = Marks::new();
        }
        // What was queued since the owner last held the lock is treated as being as old as the page.
        self.credited = [started; COUNTED];
        self.looked = started;
        self.page = page;
    }

    /// Counts what was `queued` and popped, before the engine is informed of it.
    #[inline]
    pub fn update(
        &mut self,
        meter: &Meter,
        cpu: &Cpu,
        chains: &[Chain; BLOCK_LANES],
        queued: &[Queued; LANES],
    ) {
        if self.counts(meter, cpu) {
            let now = prim::coarse_ns();
            for (lane, chain) in chains.iter().enumerate() {
                self.pushed(meter, lane, chain, queued[lane].end, now);
                if let Some(head) = queued[lane].freed_to {
                    self.popped(meter, lane, chain, head, now);
                }
            }
            self.looked = now;
        }
    }

    #[cold]
    fn pushed(&mut self, meter: &Meter, lane: usize, chain: &Chain, end: Pos, now: u64) {
        let from = self.ends[lane];
        if end <= from {
            return;
        }
        let mut all = 0; // the second word, if all are equal
        for_each_run(chain, from..end, |what, count| {
            let row = (meter.counts)(self.place, lane, what);
            row.queued.fetch_add(count, Ordering::Relaxed);
            row.queued_bytes
                .fetch_add(bytes(lane, what, count), Ordering::Relaxed);
            if count == end - from {
                all = what;
            }
        });
        let first = match self.credited[lane] {
            0 => now,
            credited => credited.min(now),
        };
        self.mark(lane, end, first, now, all);
    }

    /// The entries up to `end` were queued in this interval.
    fn mark(&mut self, lane: usize, end: Pos, first: u64, last: u64, what: u64) {
        self.marks[lane].push(TimeMark {
            end,
            first,
            last,
            what,
        });
        self.ends[lane] = end;
    }

    #[cold]
    fn popped(&mut self, meter: &Meter, lane: usize, chain: &Chain, head: Pos, now: u64) {
        let from = self.heads[lane].max(self.starts[lane]);
        // Executed at some time since the last count.
        self.in_lots(
            lane,
            from..head,
            (self.looked, now),
            |this, lot, all, waited| {
                let each = |what, count| executed(meter, this.place, lane, what, count, waited);
                match all {
                    0 => for_each_run(chain, lot, each),
                    what => each(what, lot.end - lot.start), // as when queued: no traversal needed
                }
            },
        );
        self.heads[lane] = self.heads[lane].max(head);
    }

    /// The caller has taken these out to execute them; `what` gives their second words.
    #[inline]
    pub fn extracted(
        &mut self,
        meter: &Meter,
        cpu: &Cpu,
        lane: usize,
        range: &Range<Pos>,
        what: impl Fn(Pos) -> u64,
    ) {
        if !range.is_empty() && self.counts(meter, cpu) {
            self.taken_out(meter, lane, range, what);
        }
    }

    #[cold]
    fn taken_out(
        &mut self,
        meter: &Meter,
        lane: usize,
        range: &Range<Pos>,
        what: impl Fn(Pos) -> u64,
    ) {
        let from = range.start.max(self.heads[lane]).max(self.starts[lane]);
        let now = prim::coarse_ns();
        self.in_lots(lane, from..range.end, (now, now), |this, lot, _, waited| {
            let mut run = (0, 0);
            for at in lot {
                let next = what(at);
                if next != run.0 && run.1 > 0 {
                    executed(meter, this.place, lane, run.0, run.1, waited);
                    run.1 = 0;
                }
                run = (next, run.1 + 1);
            }
            if run.1 > 0 {
                executed(meter, this.place, lane, run.0, run.1, waited);
            }
        });
        self.heads[lane] = self.heads[lane].max(range.end);
    }

    /// An intrusive callback was queued.
    pub fn head_pushed(&mut self, meter: &Meter, cpu: &Cpu, run: RunHead, end: Pos) {
        if self.counts(meter, cpu) {
            let row = (meter.counts)(self.place, HEAD, run as usize as u64);
            row.queued.fetch_add(1, Ordering::Relaxed);
            let now = prim::coarse_ns();
            self.mark(HEAD, end, now, now, run as usize as u64);
        }
    }

    /// A callback that wakes the worker is about to be queued.
    pub fn broke(&mut self, meter: &Meter, cpu: &Cpu, lane: usize, what: u64, urgency: Urgency) {
        if self.counts(meter, cpu) {
            let row = (meter.counts)(self.place, lane, what);
            let count = match urgency {
                Urgency::Hurry => &row.hurried,
                _ => &row.prompt,
            };
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The owner has got credit on this lane, or none.
    #[inline]
    pub fn credit(&mut self, meter: &Meter, lane: usize, given: bool) {
        if meter.is_open() {
            self.credited[lane] = if given { prim::coarse_ns() } else { 0 };
        }
    }

    /// Calls `each` for each part of a range that was queued at about the same time, with its common second
    /// word (0: unknown), and the lower and upper bound of its waiting time, if it was executed between these
    /// two times.
    fn in_lots(
        &mut self,
        lane: usize,
        range: Range<Pos>,
        executed: (u64, u64),
        mut each: impl FnMut(&Cursor, Range<Pos>, u64, (u64, u64)),
    ) {
        let mut from = range.start;
        while from < range.end {
            let mark = self.marks[lane].at(from);
            let to = mark.map_or(range.end, |mark| mark.end.min(range.end));
            let waited = mark.map_or((0, 0), |mark| {
                (
                    executed.0.saturating_sub(mark.last),
                    executed.1.saturating_sub(mark.first),
                )
            });
            each(self, from..to, mark.map_or(0, |mark| mark.what), waited);
            from = to;
        }
    }
}

/// Counts a run of one function's callbacks, with the bounds of their waiting time.
#[inline(never)]
fn executed(meter: &Meter, place: u32, lane: usize, what: u64, count: u64, waited: (u64, u64)) {
    let row = (meter.counts)(place, lane, what);
    let (least, most) = waited;
    row.executed.fetch_add(count, Ordering::Relaxed);
    row.executed_bytes
        .fetch_add(bytes(lane, what, count), Ordering::Relaxed);
    row.batches.fetch_add(1, Ordering::Relaxed);
    let (least, most) = (least / 1000, most.div_ceil(1000));
    row.least_us.fetch_add(least * count, Ordering::Relaxed);
    row.most_us.fetch_add(most * count, Ordering::Relaxed);
    row.longest_us.fetch_max(most, Ordering::Relaxed);
}

/// The bytes of so many entries with this second word.
#[inline(never)]
fn bytes(lane: usize, what: u64, count: u64) -> u64 {
    // SAFETY: the word of an entry that was queued in this lane.
    unsafe { kind::bytes(lane, what) }.saturating_mul(count)
}

/// Traverses published entries of a chain; equal neighbours form one run.
fn for_each_run(chain: &Chain, range: Range<Pos>, mut each: impl FnMut(u64, u64)) {
    let mut at = range.start;
    let end = range.end.min(chain.end());
    let mut block = chain.block_of(at);
    let mut run = (0, 0);
    while at < end && !block.is_null() {
        let stop = end_of_block(at).min(end);
        // SAFETY: a block of the chain that contains these positions, which are published; the lock is held.
        let mut rest = unsafe { (*block).whats(at..stop) };
        while let Some(&what) = rest.first() {
            if what != run.0 {
                let before = std::mem::replace(&mut run, (what, 0));
                if before.1 > 0 {
                    each(before.0, before.1);
                }
            }
            let alike = alike(rest, what);
            run.1 += alike as u64;
            rest = &rest[alike..];
        }
        at = stop;
        block = Chain::next(block);
    }
    if run.1 > 0 {
        each(run.0, run.1);
    }
}

/// The number of words at the beginning that equal `what`. The compiler vectorizes the second half.
fn alike(words: &[u64], what: u64) -> usize {
    let few = words.iter().take(4).take_while(|&&word| word == what);
    let few = few.count();
    if few < 4 {
        return few;
    }
    let rest = &words[few..];
    let chunks = rest.chunks_exact(16);
    let same = |chunk: &&[u64]| chunk.iter().fold(0, |differ, word| differ | (word ^ what)) == 0;
    let whole = few + 16 * chunks.take_while(same).count();
    let last = words[whole..].iter().take_while(|&&word| word == what);
    whole + last.count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::LazyLock;

    /// Bounds in whole microseconds, for each of them; the longest of all.
    #[test]
    fn a_run_adds_the_bounds_of_each_wait() {
        static COUNTS: LazyLock<FunctionCounts> = LazyLock::new(FunctionCounts::default);
        let meter = Meter::new(|_, _, _| &COUNTS);
        executed(&meter, 0, HEAD, 0, 3, (7_999, 9_001));
        executed(&meter, 0, HEAD, 0, 2, (0, 4_000));
        let it = &*COUNTS;
        let counts = [
            &it.executed,
            &it.batches,
            &it.least_us,
            &it.most_us,
            &it.longest_us,
        ];
        let counts = counts.map(|it| it.load(Ordering::Relaxed));
        assert_eq!(counts, [5, 2, 3 * 7, 3 * 10 + 2 * 4, 10]);
    }

    #[test]
    fn alike_counts_the_equal_prefix() {
        for length in 0..200 {
            for first_other in 0..=length {
                let mut words = vec![7; length];
                words[first_other..].fill(8);
                assert_eq!(alike(&words, 7), first_other, "{length}");
            }
        }
        assert_eq!(alike(&[7, 7, 7, 7, 7, 8, 7], 7), 5);
    }
}
