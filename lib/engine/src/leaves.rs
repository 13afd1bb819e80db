//! The readers that still owe a quiescent state: a bit for each, in a word for each leaf, and a bit for each
//! leaf that has one. Also the stamp that each had in the first scan of the grace period.

use alloc::vec::Vec;

use crate::host::{CpuId, Host, LeafId};

/// Bits of a word, and leaves of a group ([`Host::occupied`]).
const GROUP: usize = 64;

/// No memory for the leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory;

/// The leaves of a number of CPUs. Built by the host with no lock held and handed to
/// [`Global::grow`](crate::Global::grow).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Leaves {
    leaves: u32,
    /// CPUs of a leaf.
    width: u32,
    /// A bit for each leaf with a CPU that owes; a word for each leaf, with the CPUs that owe; a stamp for
    /// each CPU.
    words: Vec<u64>,
}

impl Leaves {
    /// For no CPU.
    pub(crate) const fn none() -> Leaves {
        Leaves {
            leaves: 0,
            width: 1,
            words: Vec::new(),
        }
    }

    pub(crate) fn new(cpus: u32, width: u32) -> Result<Leaves, OutOfMemory> {
        let leaves = cpus.div_ceil(width);
        let room = leaves as usize;
        let all = room.div_ceil(GROUP) + room + room * width as usize;
        let mut words = Vec::new();
        words.try_reserve_exact(all).map_err(|_| OutOfMemory)?;
        words.resize(all, 0);
        Ok(Leaves {
            leaves,
            width,
            words,
        })
    }

    /// The number of CPUs that there is room for.
    pub(crate) fn cpus(&self) -> u32 {
        self.leaves * self.width
    }

    fn groups(&self) -> usize {
        (self.leaves as usize).div_ceil(GROUP)
    }

    /// The lowest CPU of a leaf.
    pub(crate) fn lowest(&self, leaf: LeafId) -> CpuId {
        leaf as CpuId * self.width
    }

    /// The stamps of a leaf's CPUs.
    pub(crate) fn stamps(&mut self, leaf: LeafId) -> &mut [u64] {
        let width = self.width as usize;
        let first = self.groups() + self.leaves as usize + leaf * width;
        &mut self.words[first..first + width]
    }

    pub(crate) fn stamp(&self, cpu: CpuId) -> u64 {
        self.words[self.groups() + self.leaves as usize + cpu as usize]
    }

    /// The CPUs of a leaf that owe.
    pub(crate) fn owed(&self, leaf: LeafId) -> u64 {
        self.words[self.groups() + leaf]
    }

    /// These CPUs of a leaf still owe, and no others.
    pub(crate) fn set_owed(&mut self, leaf: LeafId, cpus: u64) {
        let groups = self.groups();
        self.words[groups + leaf] = cpus;
        let (group, bit) = (&mut self.words[leaf / GROUP], 1 << (leaf % GROUP));
        match cpus {
            0 => *group &= !bit,
            _ => *group |= bit,
        }
    }

    /// The first leaf from `from` on with a CPU that owes.
    pub(crate) fn owing_from(&self, from: LeafId) -> Option<LeafId> {
        first(from, self.leaves, |group| self.words[group])
    }

    /// The first leaf from `from` on that may be occupied.
    pub(crate) fn occupied_from(&self, from: LeafId, host: &impl Host) -> Option<LeafId> {
        first(from, self.leaves, |group| host.occupied(group))
    }

    /// The CPUs that owe.
    pub(crate) fn holdouts(&self) -> Holdouts<'_> {
        let first = (self.leaves > 0).then(|| self.owed(0));
        Holdouts {
            leaves: self,
            leaf: 0,
            bits: Bits(first.unwrap_or(0)),
        }
    }
}

/// The CPUs that owe. One loop, in one place: chained closures are copied to each of their users.
pub(crate) struct Holdouts<'l> {
    leaves: &'l Leaves,
    leaf: LeafId,
    bits: Bits,
}

impl Iterator for Holdouts<'_> {
    type Item = CpuId;

    #[inline(never)]
    fn next(&mut self) -> Option<CpuId> {
        loop {
            if let Some(bit) = self.bits.next() {
                return Some(self.leaves.lowest(self.leaf) + bit);
            }
            self.leaf = self.leaves.owing_from(self.leaf + 1)?;
            self.bits = Bits(self.leaves.owed(self.leaf));
        }
    }
}

/// The first leaf from `from` on, of so many, whose bit is set in its group.
#[inline]
pub(crate) fn first(from: LeafId, leaves: u32, of: impl Fn(usize) -> u64) -> Option<LeafId> {
    let mut from = from;
    while from < leaves as usize {
        let mask = of(from / GROUP) >> (from % GROUP);
        if mask != 0 {
            return Some(from + mask.trailing_zeros() as usize)
                .filter(|&leaf| leaf < leaves as usize);
        }
        from = (from / GROUP + 1) * GROUP;
    }
    None
}

/// The set bits of a mask, lowest first.
pub(crate) struct Bits(pub u64);

impl Iterator for Bits {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        if self.0 == 0 {
            return None;
        }
        let bit = self.0.trailing_zeros();
        self.0 &= self.0 - 1;
        Some(bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_leaf_is_found_in_any_group() {
        let set = [3, 63, 64, 129];
        let of = |group: usize| {
            let here = set.iter().filter(|&&leaf| leaf / GROUP == group);
            here.fold(0, |mask, leaf| mask | 1 << (leaf % GROUP))
        };
        let all = |leaves| {
            core::iter::successors(first(0, leaves, of), move |&at| first(at + 1, leaves, of))
        };
        assert!(all(200).eq(set));
        assert!(
            all(129).eq([3, 63, 64]),
            "leaves that do not exist are not found"
        );
        assert_eq!((first(0, 0, of), first(130, 130, of)), (None, None));
    }

    #[test]
    fn who_owes_is_known_by_leaf_and_in_all() {
        let mut leaves = Leaves::new(130 * 2, 2).expect("memory");
        assert_eq!((leaves.cpus(), leaves.owing_from(0)), (260, None));
        for (leaf, owed) in [(0, 0b10), (65, 0b11), (129, 0b01)] {
            leaves.set_owed(leaf, owed);
            leaves.stamps(leaf)[1] = leaf as u64;
        }
        assert!(leaves.holdouts().eq([1, 130, 131, 258]));
        assert_eq!(
            [1, 131, 259, 0].map(|cpu| leaves.stamp(cpu)),
            [0, 65, 129, 0]
        );
        leaves.set_owed(65, 0);
        assert!(leaves.holdouts().eq([1, 258]));
        assert_eq!(leaves.owing_from(1), Some(129));
    }
}
