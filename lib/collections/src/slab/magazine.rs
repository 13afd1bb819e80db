//! The lists of each thread: free indexes, and removed ones that wait for their batch.
//!
//! A thread's lists are found by its index ([`quiescent::thread_index`]), and it uses them with plain loads
//! and stores, inside a section. Threads without an index share one pair, under a lock.
//!
//! # Sealing
//! A thread that becomes quiet leaves a batch that is not full. To take it, another thread (the worker)
//! *asks*: it sets a mark, and waits for a grace period. `[MAP-3]` Sections that open after the grace period
//! has begun see the mark, and use the lists under the lock; older ones have ended. So once the grace period
//! has passed, the worker takes the list under the lock, as the owner would, and clears the mark.
//!
//! `[MAP-12]` A leaf of magazines is complete before its address is stored with release; each thread loads it
//! with acquire.

use std::ptr;

use quiescent::tuning::UNWEIGHED;

use super::BATCH;
use crate::prim::{
    AtomicIsize, AtomicPtr, AtomicU32, AtomicUsize, Mutex, MutexGuard, Ordering, lock,
};

/// Leaf `n` has the magazines of `1 << n` threads. There are more than indexes need, so that the compiler
/// sees that none is out of bounds.
const LEAVES: usize = u32::BITS as usize;
const _: () = assert!(quiescent::THREAD_INDEXES < u32::MAX as usize);

/// The owner of what threads without an index share: behind the last leaf.
const NO_THREAD: usize = usize::MAX - 1;

/// A list of indexes, which one thread uses at a time.
pub struct List {
    length: AtomicU32,
    /// Null, or `BATCH` indexes.
    items: AtomicPtr<u32>,
}

impl List {
    fn new() -> List {
        List {
            length: AtomicU32::new(0),
            items: AtomicPtr::new(ptr::null_mut()),
        }
    }

    #[inline(always)]
    pub fn len(&self) -> usize {
        self.length.load(Ordering::Relaxed) as usize
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The last index.
    pub fn pop(&self) -> Option<u32> {
        let last = self.len().checked_sub(1)?;
        self.length.store(last as u32, Ordering::Release);
        // SAFETY: so many are initialised; a list that is not empty has items.
        Some(unsafe { *self.items.load(Ordering::Relaxed).add(last) })
    }

    /// The last index, and the one that is the last then; only if there are two.
    #[inline(always)]
    fn pop_of_two(&self) -> Option<(u32, u32)> {
        let length = self.len();
        if length < 2 {
            return None;
        }
        let items = self.items.load(Ordering::Relaxed);
        self.length.store(length as u32 - 1, Ordering::Release);
        // SAFETY: so many are initialised; a list that is not empty has items.
        unsafe { Some((*items.add(length - 1), *items.add(length - 2))) }
    }

    /// Returns the new length. A list that is full does not take the index, which is lost: in the child of a
    /// fork, which may find it as it was before it was sealed.
    #[inline]
    pub fn push(&self, index: u32) -> usize {
        let mut items = self.items.load(Ordering::Relaxed);
        if items.is_null() {
            items = self.allocate();
        }
        let length = self.len();
        if length == BATCH {
            return length;
        }
        // SAFETY: there are so many, and this thread uses the list.
        unsafe { items.add(length).write(index) };
        self.length.store(length as u32 + 1, Ordering::Release);
        length + 1
    }

    /// As many pushes as there is room for; what is first here is popped first.
    pub fn push_all(&self, indexes: &[u32]) {
        let items = match self.items.load(Ordering::Relaxed) {
            items if items.is_null() => self.allocate(),
            items => items,
        };
        let length = self.len();
        let indexes = &indexes[..indexes.len().min(BATCH - length)];
        for (at, &index) in indexes.iter().rev().enumerate() {
            // SAFETY: there is room for so many, and this thread uses the list.
            unsafe { items.add(length + at).write(index) };
        }
        let length = length + indexes.len();
        self.length.store(length as u32, Ordering::Release);
    }

    /// If it is not empty, and has less than so many then.
    #[inline(always)]
    fn push_between(&self, index: u32, most: usize) -> bool {
        let length = self.len();
        if length.wrapping_sub(1) >= most - 2 {
            return false;
        }
        // SAFETY: a list that is not empty has items, and `most` is at most `BATCH`.
        unsafe { self.items.load(Ordering::Relaxed).add(length).write(index) };
        self.length.store(length as u32 + 1, Ordering::Release);
        true
    }

    fn allocate(&self) -> *mut u32 {
        let items: Box<[u32; BATCH]> = Box::new([0; BATCH]);
        let items = Box::into_raw(items).cast();
        self.items.store(items, Ordering::Relaxed);
        items
    }

    /// Takes what is in it.
    pub fn take(&self, owner: usize) -> Full {
        // The length first: the child of a fork may find the list as it is in between.
        let length = self.length.swap(0, Ordering::Relaxed) as usize;
        let items = self.items.swap(ptr::null_mut(), Ordering::Release);
        let items: *mut [u32; BATCH] = items.cast();
        Full {
            owner,
            length,
            // SAFETY: made by `allocate`, and now ours.
            items: (!items.is_null()).then(|| unsafe { Box::from_raw(items) }),
        }
    }

    /// Replaces what is in it: nothing.
    pub fn put(&self, full: Full) {
        debug_assert!(self.is_empty());
        drop(self.take(full.owner));
        let items = full.items.map_or(ptr::null_mut(), Box::into_raw);
        self.items.store(items.cast(), Ordering::Relaxed);
        self.length.store(full.length as u32, Ordering::Release);
    }
}

impl Drop for List {
    fn drop(&mut self) {
        drop(self.take(NO_THREAD));
    }
}

/// A list on its own.
pub struct Full {
    /// The thread that filled it.
    pub owner: usize,
    length: usize,
    items: Option<Box<[u32; BATCH]>>,
}

impl Full {
    pub fn indexes(&self) -> &[u32] {
        self.items
            .as_ref()
            .map_or(&[], |items| &items[..self.length])
    }

    pub fn indexes_mut(&mut self) -> &mut [u32] {
        self.items
            .as_mut()
            .map_or(&mut [], |items| &mut items[..self.length])
    }
}

/// The lists of one thread, and its counters.
#[repr(align(128))]
pub struct Magazine {
    /// The thread's index.
    owner: usize,
    free: List,
    gone: List,
    /// Bytes that the entries in `gone` own.
    weight: AtomicUsize,
    /// Entries that this thread has added, less those that it has removed.
    count: AtomicIsize,
    /// The count when it last had changed by [`LOOK`].
    looked: AtomicU32,
    /// `ASKED`, `SHARED`: not 0 if the lists are to be used under the lock.
    locked: AtomicU32,
}

/// Entries that own so many bytes are a batch: what a full one of entries that are not weighed counts.
const HEAVY: usize = BATCH * UNWEIGHED;

/// After so many entries more or less of a thread, the map looks whether its table has the right size.
const LOOK: u32 = 64;

/// The worker asks for the lists.
const ASKED: u32 = 1;

/// Several threads use the lists.
const SHARED: u32 = 2;

impl Magazine {
    fn new(owner: usize, locked: u32) -> Magazine {
        Magazine {
            owner,
            free: List::new(),
            gone: List::new(),
            weight: AtomicUsize::new(0),
            count: AtomicIsize::new(0),
            looked: AtomicU32::new(0),
            locked: AtomicU32::new(locked),
        }
    }

    /// Returns whether the count has changed by [`LOOK`] since this last returned true. (Not whether it is a
    /// multiple: where each removal follows an insertion, it may be one again and again.)
    #[inline(always)]
    fn count(&self, by: isize) -> bool {
        let count = self.count.load(Ordering::Relaxed) + by;
        self.count.store(count, Ordering::Relaxed);
        let changed = (count as u32).wrapping_sub(self.looked.load(Ordering::Relaxed));
        let much = changed.wrapping_add(LOOK - 1) > 2 * (LOOK - 1);
        if much {
            self.looked.store(count as u32, Ordering::Relaxed);
        }
        much
    }
}

/// Where a thread finds its magazine.
#[derive(Clone, Copy)]
pub struct Desk<'a> {
    magazine: &'a Magazine,
    lock: &'a Mutex<()>,
}

impl<'a> Desk<'a> {
    /// The magazine, if this thread uses it without the lock: for the usual steps, which
    /// [`mine`](Desk::mine) can do as well.
    #[inline(always)]
    fn alone(self) -> Option<&'a Magazine> {
        // [MAP-3]
        (self.magazine.locked.load(Ordering::Acquire) == 0).then_some(self.magazine)
    }

    /// A free index and the one that is next, if this leaves the list with one.
    #[inline(always)]
    pub fn pop_free(self) -> Option<(u32, u32)> {
        self.alone()?.free.pop_of_two()
    }

    /// Puts an index of no weight to those of the batch, if it is neither the first nor the last.
    #[inline(always)]
    pub fn push_gone(self, index: u32, batch: usize) -> bool {
        let alone = self.alone();
        alone.is_some_and(|magazine| magazine.gone.push_between(index, batch))
    }

    /// Counts entries that were added or removed; returns whether it is time to look at the table's size.
    #[inline(always)]
    pub fn count(self, by: isize) -> bool {
        match self.alone() {
            Some(magazine) => magazine.count(by),
            None => self.count_locked(by),
        }
    }

    #[cold]
    #[inline(never)]
    fn count_locked(self, by: isize) -> bool {
        self.mine().magazine.count(by)
    }

    /// The magazine to use, for some instructions.
    pub fn mine(self) -> Mine<'a> {
        let lock = match self.alone() {
            Some(_) => None,
            None => Some(lock(self.lock)),
        };
        let magazine = self.magazine;
        Mine { magazine, lock }
    }
}

/// A magazine that this thread may use.
pub struct Mine<'a> {
    magazine: &'a Magazine,
    /// Where the magazine is not this thread's alone.
    lock: Option<MutexGuard<'a, ()>>,
}

impl Mine<'_> {
    pub fn owner(&self) -> usize {
        self.magazine.owner
    }

    pub fn free(&self) -> &List {
        &self.magazine.free
    }

    /// Puts an index to those of the batch. Returns whether the batch is to be sealed now: also a small one,
    /// if its entries own much.
    pub fn remove(&self, index: u32, weight: usize, batch: usize) -> Removed {
        let length = self.magazine.gone.push(index);
        let sum = self.magazine.weight.load(Ordering::Relaxed);
        let sum = sum.saturating_add(weight);
        self.magazine.weight.store(sum, Ordering::Relaxed);
        match length {
            length if length >= batch || sum >= HEAVY => Removed::Full,
            _ if self.lock.is_some() && self.is_asked() => Removed::Full,
            1 => Removed::First,
            _ => Removed::Kept,
        }
    }

    /// Takes the batch and its weight, and clears the mark.
    pub fn seal(&self) -> (Full, usize) {
        let full = self.magazine.gone.take(self.owner());
        let weight = self.magazine.weight.swap(0, Ordering::Relaxed);
        if self.lock.is_some() {
            // [MAP-3] The next user of the lists sees what this one did.
            self.magazine.locked.fetch_and(!ASKED, Ordering::Release);
        }
        (full, weight)
    }

    /// Takes the free indexes.
    pub fn take_free(&self) -> Full {
        self.magazine.free.take(self.owner())
    }

    fn is_asked(&self) -> bool {
        self.magazine.locked.load(Ordering::Relaxed) & ASKED != 0
    }
}

/// What has become of an index.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Removed {
    /// It is the first of its batch.
    First,
    Kept,
    /// The batch is full, or asked for.
    Full,
}

/// The magazines of all threads, made when they are first used.
pub struct Magazines {
    leaves: [AtomicPtr<Magazine>; LEAVES],
    shared: Magazine,
    lock: Mutex<()>,
}

impl Magazines {
    pub fn new() -> Magazines {
        Magazines {
            leaves: Default::default(),
            shared: Magazine::new(NO_THREAD, SHARED),
            lock: Mutex::new(()),
        }
    }

    /// The calling thread's, for a call of the map at most: at the end of a thread its index changes.
    #[inline(always)]
    pub fn desk(&self) -> Desk<'_> {
        let Some(owner) = quiescent::thread_index() else {
            return self.shared();
        };
        let (leaf, place) = place_of(owner);
        let mut first = self.leaves[leaf].load(Ordering::Acquire); // [MAP-12]
        if first.is_null() {
            first = self.add(leaf);
        }
        Desk {
            // SAFETY: a leaf, which has so many and lives as long as `self`.
            magazine: unsafe { &*first.add(place) },
            lock: &self.lock,
        }
    }

    /// That of the threads without an index.
    pub fn shared(&self) -> Desk<'_> {
        Desk {
            magazine: &self.shared,
            lock: &self.lock,
        }
    }

    #[cold]
    #[inline(never)]
    fn add(&self, leaf: usize) -> *mut Magazine {
        let owners = (1 << leaf) - 1..(2 << leaf) - 1;
        let new: Box<[Magazine]> = owners.map(|owner| Magazine::new(owner, 0)).collect();
        let new: *mut [Magazine] = Box::into_raw(new);
        // [MAP-12]
        let (ok, err) = (Ordering::AcqRel, Ordering::Acquire);
        match self.leaves[leaf].compare_exchange(ptr::null_mut(), new.cast(), ok, err) {
            Ok(_) => new.cast(),
            Err(other) => {
                // SAFETY: made above, and no other thread has seen it.
                drop(unsafe { Box::from_raw(new) });
                other
            }
        }
    }

    fn all(&self) -> impl Iterator<Item = &Magazine> {
        let leaves = self.leaves.iter().enumerate();
        let leaves = leaves.filter_map(|(leaf, first)| {
            let first = first.load(Ordering::Acquire); // [MAP-12]
            // SAFETY: a leaf, which has so many and lives as long as `self`.
            (!first.is_null()).then(|| unsafe { slice_of(first, leaf).as_ref() })
        });
        leaves.flatten().chain([&self.shared])
    }

    /// The sum of the threads' counts.
    pub fn sum(&self) -> isize {
        let counts = self.all().map(|it| it.count.load(Ordering::Relaxed));
        counts.fold(0, isize::wrapping_add)
    }

    /// Marks the magazines of which the worker wants the batch. Returns whether there are any.
    pub fn ask(&self) -> bool {
        let mut any = false;
        for magazine in self.all() {
            if !magazine.gone.is_empty() {
                magazine.locked.fetch_or(ASKED, Ordering::Release);
                any = true;
            }
        }
        any
    }

    /// Calls `take` with each magazine that is still asked for, under the lock. After a grace period since
    /// [`ask`](Magazines::ask).
    pub fn asked(&self, take: &mut dyn FnMut(Mine<'_>)) {
        for magazine in self.all() {
            let lock = Some(lock(&self.lock));
            if magazine.locked.load(Ordering::Relaxed) & ASKED != 0 {
                take(Mine { magazine, lock });
            }
        }
    }

    /// Whether a batch has been begun.
    pub fn any_gone(&self) -> bool {
        self.all().any(|magazine| !magazine.gone.is_empty())
    }

    /// Takes all batches. The caller has the slab for itself.
    pub fn take_all(&self) -> Vec<Full> {
        self.all().map(|it| it.gone.take(it.owner)).collect()
    }
}

impl Drop for Magazines {
    fn drop(&mut self) {
        for (leaf, first) in self.leaves.iter().enumerate() {
            let first = first.load(Ordering::Relaxed);
            if !first.is_null() {
                // SAFETY: made by `add`, and no thread uses it.
                drop(unsafe { Box::from_raw(slice_of(first, leaf).as_ptr()) });
            }
        }
    }
}

fn slice_of(first: *mut Magazine, leaf: usize) -> ptr::NonNull<[Magazine]> {
    let slice = ptr::slice_from_raw_parts_mut(first, 1 << leaf);
    ptr::NonNull::new(slice).expect("not null")
}

/// The leaf of a thread's magazine, and the place in it.
#[inline(always)]
fn place_of(owner: usize) -> (usize, usize) {
    let number = owner as u32 + 1;
    let leaf = (number | 1).ilog2(); // the compiler sees that it has a logarithm
    (leaf as usize, (number ^ 1 << leaf) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_that_goes_to_and_fro_is_no_reason_to_look() {
        let magazine = Magazine::new(0, 0);
        let looks = |by, times| (0..times).filter(|_| magazine.count(by)).count();
        assert_eq!(looks(1, 640), 10);
        let to_and_fro = (0..1000).map(|_| looks(-1, 1) + looks(1, 1));
        assert_eq!(to_and_fro.sum::<usize>(), 0);
        assert_eq!(looks(-1, 1280), 20);
    }
}
