//! The stores of a thread that have not reached memory yet, in program order.
//!
//! One list serves both models: each entry has the sequence number (`after`) below which every store of its
//! thread must have left. Under TSO that is its own number, so the list is a FIFO. Under PSO it is 0 for a
//! relaxed store, which then waits for earlier stores to the same location only.

/// Number of a location in an execution's memory.
pub(crate) type Loc = u32;

/// A store that has not reached memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Position in the order of execution of all stores of all threads.
    pub seq: u64,
    pub loc: Loc,
    pub value: u64,
    /// Every entry of this thread with a smaller `seq` than this leaves first.
    pub after: u64,
}

/// The stores of one thread.
#[derive(Debug, Default)]
pub(crate) struct StoreBuffer {
    entries: Vec<Entry>,
}

impl StoreBuffer {
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn push(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    /// The store to `loc` that the thread itself sees, if it is still in the buffer.
    pub(crate) fn newest(&self, loc: Loc) -> Option<Entry> {
        self.entries.iter().rev().find(|e| e.loc == loc).copied()
    }

    /// Does the buffer hold a store to `loc`?
    pub(crate) fn holds(&self, loc: Loc) -> bool {
        self.entries.iter().any(|e| e.loc == loc)
    }

    /// Does the buffer hold a store to a location of this kind?
    pub(crate) fn any(&self, kind: impl Fn(Loc) -> bool) -> bool {
        self.entries.iter().any(|e| kind(e.loc))
    }

    /// The number of the oldest store to `loc`, the count of such stores, and how many of them were executed
    /// before `seq`.
    pub(crate) fn pending(&self, loc: Loc, seq: u64) -> Option<(u64, usize, usize)> {
        let mut of_loc = self.entries.iter().filter(|e| e.loc == loc);
        let first = of_loc.next()?.seq;
        let older = |e: &&Entry| e.loc == loc && e.seq < seq;
        let count = 1 + of_loc.count();
        Some((first, count, self.entries.iter().filter(older).count()))
    }

    /// The oldest store to `loc`.
    pub(crate) fn oldest(&self, loc: Loc) -> Option<Entry> {
        self.entries.iter().find(|e| e.loc == loc).copied()
    }

    /// The first store that has to leave before `wanted` may; `wanted` itself when none has to.
    pub(crate) fn first_due(&self, wanted: Entry) -> Entry {
        let mut entry = wanted;
        let earlier = |entry: Entry| {
            let due = |e: &&Entry| e.seq < entry.seq && (e.seq < entry.after || e.loc == entry.loc);
            self.entries.iter().find(due).copied()
        };
        while let Some(before) = earlier(entry) {
            entry = before;
        }
        entry
    }

    /// The oldest store.
    pub(crate) fn front(&self) -> Option<Entry> {
        self.entries.first().copied()
    }

    pub(crate) fn remove(&mut self, seq: u64) {
        self.entries.retain(|e| e.seq != seq);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(stores: &[(Loc, u64)]) -> StoreBuffer {
        let mut buffer = StoreBuffer::default();
        for (i, &(loc, after)) in stores.iter().enumerate() {
            let seq = i as u64 + 1;
            buffer.push(Entry {
                seq,
                loc,
                value: 10 + seq,
                after,
            });
        }
        buffer
    }

    /// The order in which stores leave when the oldest store to `loc` has to reach memory.
    fn leaves(buffer: &mut StoreBuffer, loc: Loc) -> Vec<u64> {
        let wanted = buffer.oldest(loc).expect("a store to it");
        let mut order = Vec::new();
        loop {
            let due = buffer.first_due(wanted);
            buffer.remove(due.seq);
            order.push(due.seq);
            if due == wanted {
                return order;
            }
        }
    }

    #[test]
    fn a_fifo_when_every_store_waits_for_all_earlier_ones() {
        assert_eq!(leaves(&mut buffer(&[(7, 1), (8, 2), (9, 3)]), 9), [1, 2, 3]);
    }

    #[test]
    fn relaxed_stores_wait_for_their_own_location_only() {
        let mut b = buffer(&[(7, 0), (8, 0), (7, 0)]);
        assert_eq!(leaves(&mut b, 8), [2]);
        assert_eq!(leaves(&mut b, 7), [1]);
        assert_eq!(b.front().map(|e| e.seq), Some(3));
    }

    #[test]
    fn what_a_wanted_store_waits_for_may_wait_itself() {
        // A release store to 8 after a store to 7; the second store to 8 is relaxed.
        let mut b = buffer(&[(7, 0), (8, 2), (8, 0), (9, 0)]);
        assert_eq!(b.pending(8, 3), Some((2, 2, 1)));
        assert_eq!(b.newest(8).map(|e| e.value), Some(13));
        assert_eq!(leaves(&mut b, 9), [4]);
        assert_eq!(leaves(&mut b, 8), [1, 2]);
        assert!(b.holds(8) && !b.holds(7) && !b.is_empty());
    }
}
