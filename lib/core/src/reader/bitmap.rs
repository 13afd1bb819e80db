//! Two bits for each leaf of slots: occupied, and full. With them a grace period or a registration skips the
//! leaves that are irrelevant to it, however many leaves there once were.
//!
//! * **Occupied** answers the engine's query ([`Host::occupied`](quiescent_engine::Host::occupied)). A claim
//!   sets the bit; only the driver clears it, under the domain's lock, after a grace period found the leaf
//!   empty. So under that lock a set bit may be outdated, and a clear one never is. The first leaf always
//!   counts as occupied: it contains the unregistered readers.
//! * **Full** is a hint for claims. A claim that finds no free slot marks the leaf, a release clears the
//!   mark.
//!
//! # Edges
//! `[REG-3]` a claim takes its bit of the leaf's bitmap, then sets *occupied*, then executes the full fence
//! of `[REG-1]`, which therefore covers both. The driver clears *occupied* and then *loads the bitmap again*.
//! Both change the same word with locked instructions, so one is first: the claim (then the driver sees its
//! bit in the bitmap, and sets *occupied* again, under the lock and hence before the next query) or the
//! driver (then *occupied* stays set).
//!
//! In between the bit is clear although a thread is registered, perhaps for a long time. So only the holder
//! of the lock may conclude anything from the bit, and gives [`UnderLock`] to show that it holds it. All
//! others look at the leaves themselves (`[ASK-3]`).
//! `[REG-4]` a claim marks the leaf, *full fence*, and checks for room again; a release clears its bit, *full
//! fence*, and loads the mark. One of them sees the other, so no leaf with room stays marked.

use crate::prim::{AtomicU64, MAX_LEAVES, Ordering, full_fence};

/// Number of words for one bit per leaf.
const GROUPS: usize = MAX_LEAVES.div_ceil(64);

/// Shows that the caller holds the lock of a domain's state: the only value of each domain is behind it.
#[derive(Debug)]
pub struct UnderLock(());

impl UnderLock {
    /// For what the lock of a state protects.
    #[expect(clippy::new_without_default, reason = "there is no other use for one")]
    pub const fn new() -> UnderLock {
        UnderLock(())
    }
}

/// The two bits of each leaf.
#[derive(Debug)]
pub struct LeafMap {
    occupied: [AtomicU64; GROUPS],
    full: [AtomicU64; GROUPS],
}

impl LeafMap {
    const_new! {
        pub fn new() -> LeafMap {
            LeafMap {
                occupied: array_of!(AtomicU64::new(0); GROUPS),
                full: array_of!(AtomicU64::new(0); GROUPS),
            }
        }
    }

    /// The leaves of a group that may contain readers.
    pub fn occupied(&self, group: usize, _lock: &UnderLock) -> u64 {
        let first = u64::from(group == 0);
        let group = self.occupied.get(group);
        first | group.map_or(0, |group| group.load(Ordering::Acquire))
    }

    /// The caller has claimed a slot of this leaf, and executes a full fence after this.
    pub fn arrive(&self, leaf: usize) {
        if leaf != 0 {
            self.occupied[leaf / 64].fetch_or(1 << (leaf % 64), Ordering::AcqRel); // [REG-3]
        }
    }

    /// The engine has found the leaf with this bitmap empty.
    pub fn vacate(&self, leaf: usize, bitmap: &AtomicU64, _lock: &UnderLock) {
        let (group, bit) = (&self.occupied[leaf / 64], 1 << (leaf % 64));
        group.fetch_and(!bit, Ordering::AcqRel);
        if bitmap.load(Ordering::Acquire) != 0 {
            group.fetch_or(bit, Ordering::AcqRel); // [REG-3]
        }
    }

    /// The first leaf from `from` on that may have room, including leaves that do not exist yet. O(groups).
    pub fn with_room(&self, from: usize) -> Option<usize> {
        let mut above = u64::MAX << (from % 64);
        for (group, full) in self.full.iter().enumerate().skip(from / 64) {
            let room = !full.load(Ordering::Relaxed) & above;
            if room != 0 {
                let leaf = group * 64 + room.trailing_zeros() as usize;
                return (leaf < MAX_LEAVES).then_some(leaf);
            }
            above = u64::MAX;
        }
        None
    }

    /// A claim found no room in the leaf. `has_room` checks again.
    pub fn filled(&self, leaf: usize, has_room: impl FnOnce() -> bool) {
        let (group, bit) = (&self.full[leaf / 64], 1 << (leaf % 64));
        group.fetch_or(bit, Ordering::Relaxed);
        full_fence(); // [REG-4]
        if has_room() {
            group.fetch_and(!bit, Ordering::Relaxed);
        }
    }

    /// A slot of the leaf was released.
    pub fn freed(&self, leaf: usize) {
        let (group, bit) = (&self.full[leaf / 64], 1 << (leaf % 64));
        full_fence(); // [REG-4]
        if group.load(Ordering::Relaxed) & bit != 0 {
            group.fetch_and(!bit, Ordering::Relaxed);
        }
    }

    /// In the child of a fork: a thread of the parent may have been lost between its mark and its second
    /// check. (*Occupied* may be outdated anyway.)
    #[cfg(feature = "fork")]
    pub fn forked(&self) {
        for group in &self.full {
            group.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests {
    use super::*;

    #[test]
    fn occupied_until_found_empty() {
        let (map, lock) = (LeafMap::new(), &UnderLock::new());
        let (empty, taken) = (AtomicU64::new(0), AtomicU64::new(4));
        assert_eq!(map.occupied(0, lock), 1, "the unregistered readers' leaf");
        assert_eq!((map.occupied(1, lock), map.occupied(1 << 20, lock)), (0, 0));
        map.arrive(3);
        map.arrive(64 + 5);
        assert_eq!(
            (map.occupied(0, lock), map.occupied(1, lock)),
            (0b1001, 1 << 5)
        );
        map.vacate(64 + 5, &taken, lock);
        assert_eq!(map.occupied(1, lock), 1 << 5, "a thread came meanwhile");
        map.vacate(64 + 5, &empty, lock);
        map.vacate(0, &empty, lock);
        assert_eq!((map.occupied(0, lock), map.occupied(1, lock)), (0b1001, 0));
    }

    #[test]
    fn full_leaves_are_skipped_until_a_release() {
        let map = LeafMap::new();
        for leaf in 0..70 {
            assert_eq!(map.with_room(0), Some(leaf));
            map.filled(leaf, || false);
        }
        assert_eq!((map.with_room(0), map.with_room(71)), (Some(70), Some(71)));
        map.freed(65);
        map.freed(2);
        assert_eq!((map.with_room(0), map.with_room(3)), (Some(2), Some(65)));
        map.filled(2, || true);
        assert_eq!(map.with_room(0), Some(2), "a thread left meanwhile");
        (0..MAX_LEAVES).for_each(|leaf| map.filled(leaf, || false));
        assert_eq!(map.with_room(0), None);
    }
}
