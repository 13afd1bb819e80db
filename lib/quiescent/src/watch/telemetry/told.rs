//! What a queue has told the page: up to which entry it has counted what was queued, and what was executed.
//!
//! # Why nothing is counted in the fast path
//! The owner pushes and pops with plain stores, and comes for the lock once a batch. What it has pushed since is in the blocks of the chain. What
//! it has popped since is, too: blocks leave a chain under the lock only, and only by what the engine has been told, which is told
//! what was popped after this has looked. So the owner's next look at the lock is soon enough to count both, by walking over the second words of the entries.
//! (The objects of popped entries are gone; nobody looks at them.)
//!
//! # Invariants, under the lock
//! * `ends[lane]` is the end as of the last look, and no entry behind it is out of the chain.
//! * `heads[lane]` is the position up to which executed entries were counted. A lane has one consumer at a time, in order, so they are
//!   counted in order; what is behind `heads` and was popped is in the chain still.
//! * Positions below `starts` were queued before there was a page: neither their beginning nor their end is counted.

use std::ops::Range;

use quiescent_engine::Pos;
use quiescent_engine::cpu::{Cpu, LANES, Lane as Which};
use quiescent_engine::credit::{Queued, Urgency};

use super::marks::{Mark, Marks};
use super::page::{self, Page};
use crate::inner::prim::{self, Ordering};
use crate::inner::queue::chain::{Chain, end_of_block};
use crate::inner::queue::intrusive::RunHead;
use crate::inner::queue::lane::Entry;
use crate::inner::queue::per_thread::BLOCK_LANES;

/// The lane of intrusive callbacks.
const HEAD: usize = Which::Head as usize;

/// What a queue has told.
#[derive(Debug)]
pub(crate) struct Told {
    /// Whose queue it is.
    place: u32,
    /// Which page was told; 0: none.
    page: u32,
    starts: [Pos; LANES],
    ends: [Pos; LANES],
    heads: [Pos; LANES],
    marks: [Marks; LANES],
    /// When the owner of a lane was last given credit, ns; 0: it has none.
    credited: [u64; BLOCK_LANES],
    /// When the lanes were last looked at, ns.
    looked: u64,
}

impl Told {
    pub(crate) const fn new() -> Told {
        Told {
            place: page::PROCESS,
            page: 0,
            starts: [0; LANES],
            ends: [0; LANES],
            heads: [0; LANES],
            marks: [Marks::new(); LANES],
            credited: [0; BLOCK_LANES],
            looked: 0,
        }
    }

    /// The queue is this domain's from now on.
    pub(crate) fn set_place(&mut self, place: u32) {
        self.place = place;
    }

    /// The page, and this queue in step with it.
    #[inline]
    fn page(&mut self, cpu: &Cpu) -> Option<&'static Page> {
        let page = page::page()?;
        if self.page != page::number() {
            self.begin(cpu);
        }
        Some(page)
    }

    /// A new page: what is queued by now does not concern it.
    #[cold]
    fn begin(&mut self, cpu: &Cpu) {
        for (lane, which) in Which::ALL.into_iter().enumerate() {
            let end = cpu.list(which).end();
            (self.starts[lane], self.ends[lane], self.heads[lane]) = (end, end, end);
            self.marks[lane] = Marks::new();
        }
        // What was queued since the owner last came is taken for as old as the page.
        self.credited = [page::started(); BLOCK_LANES];
        self.looked = page::started();
        self.page = page::number();
    }

    /// A look at the lanes, before the engine hears of what was `queued` and popped.
    #[inline]
    pub(crate) fn look(
        &mut self,
        cpu: &Cpu,
        chains: &[Chain; BLOCK_LANES],
        queued: &[Queued; LANES],
    ) {
        if let Some(page) = self.page(cpu) {
            let now = prim::coarse_ns();
            for (lane, chain) in chains.iter().enumerate() {
                self.pushed(page, lane, chain, queued[lane].end, now);
                if let Some(head) = queued[lane].freed_to {
                    self.popped(page, lane, chain, head, now);
                }
            }
            self.looked = now;
        }
    }

    #[cold]
    fn pushed(&mut self, page: &Page, lane: usize, chain: &Chain, end: Pos, now: u64) {
        let from = self.ends[lane];
        if end <= from {
            return;
        }
        let mut all = 0; // of one kind, if they are
        for_each_run(chain, from..end, |what, count| {
            let row = page.row(self.place, lane, what);
            row.queued.fetch_add(count, Ordering::Relaxed);
            if count == end - from {
                all = what;
            }
        });
        let credited = self.credited[lane];
        self.marks[lane].push(Mark {
            end,
            first: if credited == 0 {
                now
            } else {
                credited.min(now)
            },
            last: now,
            what: all,
        });
        self.ends[lane] = end;
    }

    #[cold]
    fn popped(&mut self, page: &Page, lane: usize, chain: &Chain, head: Pos, now: u64) {
        let from = self.heads[lane].max(self.starts[lane]);
        if head > from {
            // At some time since the last look.
            self.in_lots(
                lane,
                from..head,
                (self.looked, now),
                |told, lot, all, waited| {
                    let each = |what, count| executed(page, told.place, lane, what, count, waited);
                    match all {
                        0 => for_each_run(chain, lot, each),
                        what => each(what, lot.end - lot.start), // as it was queued: no need to look again
                    }
                },
            );
        }
        self.heads[lane] = self.heads[lane].max(head);
    }

    /// These were taken out to be executed by whoever asks, and `places` has their entries.
    #[inline]
    pub(crate) fn extracted(
        &mut self,
        cpu: &Cpu,
        lane: usize,
        range: &Range<Pos>,
        places: &[Entry],
    ) {
        if !range.is_empty()
            && let Some(page) = self.page(cpu)
        {
            self.taken_out(page, lane, range, |at| {
                places[(at - range.start) as usize].what
            });
        }
    }

    #[cold]
    fn taken_out(
        &mut self,
        page: &Page,
        lane: usize,
        range: &Range<Pos>,
        what: impl Fn(Pos) -> u64,
    ) {
        let from = range.start.max(self.heads[lane]).max(self.starts[lane]);
        let now = prim::coarse_ns();
        self.in_lots(lane, from..range.end, (now, now), |told, lot, _, waited| {
            let mut run = (0, 0);
            for at in lot {
                let next = what(at);
                if next != run.0 && run.1 > 0 {
                    executed(page, told.place, lane, run.0, run.1, waited);
                    run.1 = 0;
                }
                run = (next, run.1 + 1);
            }
            if run.1 > 0 {
                executed(page, told.place, lane, run.0, run.1, waited);
            }
        });
        self.heads[lane] = self.heads[lane].max(range.end);
    }

    /// An intrusive callback was queued.
    pub(crate) fn head_pushed(&mut self, cpu: &Cpu, run: RunHead, end: Pos) {
        if let Some(page) = self.page(cpu) {
            let row = page.row(self.place, HEAD, run as usize as u64);
            row.queued.fetch_add(1, Ordering::Relaxed);
            let now = prim::coarse_ns();
            self.marks[HEAD].push(Mark {
                end,
                first: now,
                last: now,
                what: run as usize as u64,
            });
            self.ends[HEAD] = end;
        }
    }

    /// An intrusive callback was taken out to be executed.
    pub(crate) fn head_popped(&mut self, cpu: &Cpu, run: RunHead, range: &Range<Pos>) {
        if let Some(page) = self.page(cpu) {
            self.taken_out(page, HEAD, range, |_| run as usize as u64);
        }
    }

    /// Something is about to be queued that wakes somebody.
    pub(crate) fn broke(&mut self, cpu: &Cpu, lane: usize, what: u64, urgency: Urgency) {
        if let Some(page) = self.page(cpu) {
            let row = page.row(self.place, lane, what);
            let count = match urgency {
                Urgency::Hurry => &row.hurried,
                _ => &row.prompt,
            };
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The owner has been given credit on this lane, or none.
    #[inline]
    pub(crate) fn credit(&mut self, lane: usize, given: bool) {
        if page::page().is_some() {
            self.credited[lane] = if given { prim::coarse_ns() } else { 0 };
        }
    }

    /// Those of a range that were queued at about the same time, what all of them are (0: not known), and how long they have waited, at least and at
    /// most, if they were executed between these two times.
    fn in_lots(
        &mut self,
        lane: usize,
        range: Range<Pos>,
        executed: (u64, u64),
        mut each: impl FnMut(&Told, Range<Pos>, u64, (u64, u64)),
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

/// Counts a run of one function's callbacks, which have waited so long each.
fn executed(page: &Page, place: u32, lane: usize, what: u64, count: u64, waited: (u64, u64)) {
    let row = page.row(place, lane, what);
    let (least, most) = waited;
    row.executed.fetch_add(count, Ordering::Relaxed);
    row.batches.fetch_add(1, Ordering::Relaxed);
    let (least, most) = (least / 1000, most.div_ceil(1000));
    row.least_us.fetch_add(least * count, Ordering::Relaxed);
    row.most_us.fetch_add(most * count, Ordering::Relaxed);
    row.longest_us.fetch_max(most, Ordering::Relaxed);
}

/// Walks over published entries of a chain; neighbours that are alike are one run.
fn for_each_run(chain: &Chain, range: Range<Pos>, mut each: impl FnMut(u64, u64)) {
    let mut at = range.start;
    let end = range.end.min(chain.end());
    let mut block = chain.block_of(at);
    let mut run = (0, 0);
    while at < end && !block.is_null() {
        let stop = end_of_block(at).min(end);
        // SAFETY: a block of the chain that holds these positions, which are published; the lock is held.
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

/// How many there are of it at the beginning. The compiler makes vector instructions of the second half.
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
    use super::alike;

    #[test]
    fn runs_end_where_they_end() {
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
