//! The readers that still owe a quiescent state: a bit for each, in words of a leaf each, and a bit for each
//! leaf that has one. Also the stamp of each in the first scan of the grace period.

use alloc::vec::Vec;

use crate::common::host::{CpuId, Host, LeafId};

/// Bits of a word, and leaves of a group ([`Host::occupied`]).
const GROUP: usize = 64;

/// No memory for the leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory;

/// The leaves of a number of CPUs. Built by the host with no lock held and handed to
/// [`Global::grow`](crate::Global::grow).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Leaves {
    /// CPUs of a leaf.
    width: usize,
    /// The CPUs of each leaf that still owe.
    owed: Vec<u64>,
    /// The leaves with such CPUs.
    owing: Vec<u64>,
    /// By CPU.
    stamps: Vec<u64>,
}

impl Leaves {
    pub(crate) fn new(cpus: u32, width: u32) -> Result<Leaves, OutOfMemory> {
        let zeroes = |len: usize| {
            let mut all = Vec::new();
            all.try_reserve_exact(len).map_err(|_| OutOfMemory)?;
            all.resize(len, 0);
            Ok(all)
        };
        let leaves = cpus.div_ceil(width) as usize;
        Ok(Leaves {
            width: width as usize,
            owed: zeroes(leaves)?,
            owing: zeroes(leaves.div_ceil(GROUP))?,
            stamps: zeroes(leaves * width as usize)?,
        })
    }

    pub(crate) fn cpus(&self) -> u32 {
        self.stamps.len() as u32
    }

    pub(crate) fn leaves(&self) -> usize {
        self.owed.len()
    }

    /// The leaf of a CPU, and its bit there.
    pub(crate) fn place_of(&self, cpu: CpuId) -> (LeafId, u64) {
        (cpu as usize / self.width, 1 << (cpu as usize % self.width))
    }

    /// The lowest CPU of a leaf.
    pub(crate) fn lo(&self, leaf: LeafId) -> CpuId {
        (leaf * self.width) as CpuId
    }

    pub(crate) fn stamp(&self, cpu: CpuId) -> u64 {
        self.stamps[cpu as usize]
    }

    pub(crate) fn set_stamp(&mut self, cpu: CpuId, stamp: u64) {
        self.stamps[cpu as usize] = stamp;
    }

    pub(crate) fn owed(&self, leaf: LeafId) -> Bits {
        Bits(self.owed[leaf])
    }

    /// These CPUs of a leaf still owe, and no others.
    pub(crate) fn set_owed(&mut self, leaf: LeafId, cpus: u64) {
        self.owed[leaf] = cpus;
        let (group, bit) = (&mut self.owing[leaf / GROUP], 1 << (leaf % GROUP));
        match cpus {
            0 => *group &= !bit,
            _ => *group |= bit,
        }
    }

    /// The first leaf from `from` on with a CPU that owes.
    pub(crate) fn owing_from(&self, from: LeafId) -> Option<LeafId> {
        self.first(from, |group| self.owing[group])
    }

    /// The first leaf from `from` on that may be occupied.
    pub(crate) fn occupied_from(&self, from: LeafId, host: &impl Host) -> Option<LeafId> {
        self.first(from, |group| host.occupied(group))
    }

    /// The CPUs that owe.
    pub(crate) fn holdouts(&self) -> Holdouts<'_> {
        Holdouts {
            leaves: Some(self),
            leaf: 0,
            bits: Bits(self.owed.first().copied().unwrap_or(0)),
        }
    }

    fn first(&self, from: LeafId, of: impl Fn(usize) -> u64) -> Option<LeafId> {
        let mut above = u64::MAX << (from % GROUP);
        for group in from / GROUP..self.owing.len() {
            let mask = of(group) & above;
            if mask != 0 {
                let leaf = group * GROUP + mask.trailing_zeros() as usize;
                return (leaf < self.leaves()).then_some(leaf);
            }
            above = u64::MAX;
        }
        None
    }
}

/// The CPUs that owe.
pub(crate) struct Holdouts<'l> {
    leaves: Option<&'l Leaves>,
    leaf: LeafId,
    bits: Bits,
}

impl Holdouts<'_> {
    pub(crate) const NONE: Holdouts<'static> = Holdouts {
        leaves: None,
        leaf: 0,
        bits: Bits(0),
    };
}

impl Iterator for Holdouts<'_> {
    type Item = CpuId;

    #[inline(never)]
    fn next(&mut self) -> Option<CpuId> {
        let leaves = self.leaves?;
        loop {
            if let Some(bit) = self.bits.next() {
                return Some(leaves.lo(self.leaf) + bit);
            }
            self.leaf = leaves.owing_from(self.leaf + 1)?;
            self.bits = leaves.owed(self.leaf);
        }
    }
}

/// The set bits of a mask, lowest first.
pub(crate) struct Bits(pub u64);

impl Iterator for Bits {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        if self.0 == 0 {
            return None;
        }
        let bit = self.0.trailing_zeros();
        self.0 &= self.0 - 1;
        Some(bit)
    }
}
