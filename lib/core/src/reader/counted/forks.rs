//! Sections of other threads in the child of a fork, and the origin of sections in reports.
//!
//! In the child the tallies of other threads are unused again. Their sections *here* are dropped with them:
//! those threads, and the guards on their stacks, are not in the child. The tally of the thread that forks
//! is kept, as are its guards. No other thread's section is in it: a slot is not released while a section
//! here is open. (Threads without a slot share one tally. If the thread that forks is such a thread and
//! inside a section of any `Srcu`, those sections stay counted: which are its own is not known.)
//!
//! A guard that may be sent may have been anywhere in the parent's memory, which the child has a copy of. So
//! sections that were *sent* stay open. Those of other threads move to the tally of the unregistered readers,
//! and `inherited` says how many they are. A thread that has ended sections of others has a negative
//! difference; at the fork it is set off against the other side, so that neither is negative in the child.
//!
//! The memory of the child is that of one moment in the order of cause and effect: who has seen a guard has
//! seen its section begin. So the sum over all tallies is never negative.

use super::Counted;
use crate::prim::{Ordering, full_fence};
use crate::queue::per_thread::Queue;
use crate::reader::local::Local;
use crate::reader::tally::SectionCounts;

/// Where a section began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// On the thread with this slot.
    Slot(u32),
    /// On a thread without a slot.
    Unregistered,
    /// On another thread of the parent, before the fork.
    Parent,
}

impl SectionCounts {
    /// Makes this number of sections open: the beginnings of others are forgotten with their ends.
    fn set_open(&self, count: usize, open: u64) {
        self.locks[count].store(1 + open, Ordering::Relaxed);
        self.unlocks[count].store(1, Ordering::Relaxed);
    }
}

impl Counted {
    /// In the child of a fork: of the sections here only those of the thread that has the slot `own` remain
    /// open, and only queues that `keep` accepts remain. A flag is kept: it costs a wake-up.
    #[cfg(feature = "fork")]
    pub fn forked(&self, local: &Local, own: Option<u32>, keep: impl Fn(&Queue) -> bool) {
        let (unregistered, inherited) = (&self.unregistered, &self.inherited);
        let mut sent = [0, 0];
        for (number, tally) in self.tallies() {
            tally.queue.forked(&keep);
            if number.is_some() && number != own {
                for (count, sent) in sent.iter_mut().enumerate() {
                    *sent = tally.sent.open(count).wrapping_add(*sent);
                }
                tally.here.clear();
                tally.sent.clear();
            }
        }
        if !local.counted.any() {
            unregistered.here.clear();
        } // otherwise they may belong to the forking thread
        let mine = own.and_then(|number| self.of_slot_if_any(number));
        let mine = mine.filter(|tally| tally.is_used());
        for (count, sent) in sent.into_iter().enumerate() {
            let others = unregistered
                .sent
                .open(count)
                .wrapping_add(sent)
                .cast_signed();
            let own = mine.map_or(0, |tally| tally.sent.open(count).cast_signed());
            let all = others.saturating_add(own).max(0);
            let [others, own] = [others, own].map(|part| part.clamp(0, all).cast_unsigned());
            unregistered.sent.set_open(count, others);
            if let Some(tally) = mine {
                tally.sent.set_open(count, own);
            }
            inherited[count].store(others, Ordering::Relaxed);
        }
    }

    /// Forgets all sections that were sent and are open; returns their number.
    ///
    /// The caller guarantees that none of them ends later, that nothing is used that they protect, and that
    /// no such section begins or ends meanwhile.
    pub fn forget_sent(&self) -> u64 {
        let forget = |count: usize| {
            let open = self.sum(|tally, count| tally.sent.open(count), count);
            self.inherited[count].store(0, Ordering::Relaxed);
            self.unregistered.sent.initialize();
            self.unregistered.sent.unlocks[count].fetch_add(open, Ordering::AcqRel);
            open
        };
        let forgotten = forget(0) + forget(1);
        full_fence(); // [SR-3]: the caller loads the flags next
        forgotten
    }

    /// Where the open sections of this count have begun, and how many; judged by one scan.
    ///
    /// Of sections that were sent, it is known how many are open. A thread that has ended others' sections
    /// makes it unknown where those began: then first those of the parent count, and then those of each
    /// thread that has begun more than it has ended, until there are as many as are open.
    pub fn begun_on(&self, count: usize) -> impl Iterator<Item = (Origin, u64)> {
        let mut left = self
            .sum(|tally, count| tally.sent.open(count), count)
            .cast_signed()
            .max(0);
        let mut take = move |most: i64| {
            let taken = most.clamp(0, left);
            left -= taken;
            taken.cast_unsigned()
        };
        let of_parent = self.inherited[count].load(Ordering::Relaxed).cast_signed();
        let parent = (Origin::Parent, take(of_parent));
        let of_threads = self.tallies().map(move |(number, tally)| {
            let (origin, of_parent) = match number {
                Some(number) => (Origin::Slot(number), 0),
                None => (Origin::Unregistered, of_parent),
            };
            let here = tally.here.open(count).cast_signed().max(0).cast_unsigned();
            let sent = take(tally.sent.open(count).cast_signed() - of_parent);
            (origin, here + sent)
        });
        std::iter::once(parent)
            .chain(of_threads)
            .filter(|(_, open)| *open > 0)
    }
}
