//! The pool of a slab, under its lock: which indexes are free, and lists that are ready to be taken.

use std::alloc::Layout;

use super::magazine::{Full, List};
use super::{Directory, Unit};
use crate::prim::Shared;

/// So many chunks without an entry in use are kept.
const SPARE: usize = 2;

pub struct Pool {
    /// What the [`Unit`] says.
    pub shift: u32,
    pub batch: usize,
    most: usize,
    /// Of a chunk.
    pub layout: Layout,
    pub directory: Directory,
    /// Former directories, together smaller than the present one.
    pub replaced: Vec<Directory>,
    pub ready: Vec<Full>,
    /// A bit for each free entry of a chunk; empty: the chunk is not there.
    pub bits: Vec<Box<[u64]>>,
    /// How many bits of each chunk are set.
    count: Vec<u32>,
    /// No chunk below this one has a free entry.
    first: usize,
    /// Chunks of which all bits are set.
    whole: usize,
}

impl Pool {
    pub fn new<T: Unit>() -> Pool {
        Pool {
            shift: T::SHIFT,
            batch: T::BATCH,
            most: T::READY,
            layout: Layout::array::<T>(1 << T::SHIFT).expect("chunks are small"),
            // SAFETY: a box.
            directory: unsafe { Shared::from_raw(Box::into_raw(Box::default())) },
            replaced: Vec::new(),
            ready: Vec::new(),
            bits: Vec::new(),
            count: Vec::new(),
            first: 0,
            whole: 0,
        }
    }

    /// The entries of a chunk.
    fn length(&self) -> u32 {
        1 << self.shift
    }

    /// A list that can be taken as it is: one of this thread's own if possible, because it has used those
    /// entries lately.
    pub fn ready_list(&mut self, owner: usize) -> Option<Full> {
        let own = self.ready.iter().rposition(|list| list.owner == owner);
        let any = own.or(self.ready.len().checked_sub(1))?;
        Some(self.ready.swap_remove(any))
    }

    /// Keeps a list as it is, if there are few; if not, returns it.
    pub fn keep(&mut self, list: Full) -> Option<Full> {
        if self.ready.len() == self.most || list.indexes().len() < self.batch {
            return Some(list);
        }
        self.ready.push(list);
        None
    }

    /// Moves at most so many indexes of one chunk to a list; returns how many.
    pub fn fill(&mut self, list: &List, most: usize) -> usize {
        while self.count.get(self.first) == Some(&0) {
            self.first += 1;
        }
        let (chunk, length) = (self.first, self.length());
        let Some(count) = self.count.get_mut(chunk) else {
            return 0;
        };
        if *count == length {
            self.whole -= 1;
        }
        let (mut left, mut taken) = (most, [0; super::BATCH]);
        for (at, word) in self.bits[chunk].iter_mut().enumerate() {
            if *word == u64::MAX && left >= 64 {
                let first = ((chunk << self.shift) + at * 64) as u32;
                let all = taken[most - left..][..64].iter_mut();
                all.zip(first..).for_each(|(it, index)| *it = index);
                (*word, left) = (0, left - 64);
            }
            while *word != 0 && left > 0 {
                let bit = word.trailing_zeros();
                *word &= *word - 1;
                taken[most - left] = ((chunk << self.shift) + at * 64) as u32 + bit;
                left -= 1;
            }
        }
        *count -= (most - left) as u32;
        list.push_all(&taken[..most - left]);
        most - left
    }

    /// The number that a new chunk gets.
    pub fn new_chunk(&self) -> usize {
        let missing = self.bits.iter().position(|bits| bits.is_empty());
        missing.unwrap_or(self.bits.len())
    }

    /// A chunk is there, and all of it is free.
    pub fn add(&mut self, chunk: usize) {
        if chunk == self.bits.len() {
            self.bits.push(Box::default());
            self.count.push(0);
        }
        self.bits[chunk] = vec![u64::MAX; self.length() as usize / 64].into_boxed_slice();
        self.count[chunk] = self.length();
        self.whole += 1;
        self.first = self.first.min(chunk);
    }

    /// Takes an index back. Returns its chunk if that is to be freed: none of it is in use, and there are
    /// enough of that kind.
    pub fn put(&mut self, index: u32) -> Option<usize> {
        let (chunk, place) = ((index >> self.shift) as usize, index & (self.length() - 1));
        self.bits[chunk][place as usize / 64] |= 1 << (place % 64);
        self.count[chunk] += 1;
        self.first = self.first.min(chunk);
        if self.count[chunk] < self.length() {
            return None;
        }
        if self.whole < SPARE {
            self.whole += 1;
            return None;
        }
        self.bits[chunk] = Box::default();
        self.count[chunk] = 0;
        Some(chunk)
    }
}
