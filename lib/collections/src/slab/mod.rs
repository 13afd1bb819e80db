//! Entries that never move, each found by an index of 31 bits.
//!
//! Entries are in chunks, and a directory has the chunks' addresses. A thread takes free indexes from lists
//! of its own (`magazine`), and gives them back there; whole lists go from and to the pool, under its lock.
//!
//! # Edges
//! `[MAP-1]` A chunk's address is stored with release before any index into the chunk is handed out. A reader
//! loads the directory and the address with acquire after it has loaded the index.
//!
//! `[MAP-2]` An index is put into the pool only after the grace period of the batch that it was in, and under
//! the pool's lock. So what a section has found under an index stays until the section ends.

mod magazine;
mod pool;

pub use magazine::{Desk, Full, Magazines, Removed};

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::ptr;

use crate::prim::{AtomicPtr, Mutex, Ordering, Shared, lock, prefetch_to_write};
use pool::Pool;

/// What a slab contains.
pub trait Unit {
    /// A chunk has `1 << SHIFT` of them.
    const SHIFT: u32;
    /// So many removed ones are retired together, at most [`BATCH`].
    const BATCH: usize;
    /// So many lists of free ones stay as they are. They keep chunks from being freed.
    const READY: usize;
}

/// The most that one list has.
pub const BATCH: usize = 256;

/// Indexes are smaller than this.
pub const END: u32 = 1 << 31;

/// The chunks' addresses.
type Directory = Shared<[AtomicPtr<u8>]>;

/// Chunks of entries, and which of them are free.
pub struct Slab<T: Unit> {
    directory: AtomicPtr<AtomicPtr<u8>>,
    magazines: Magazines,
    pool: Mutex<Pool<T>>,
    is: PhantomData<T>,
}

// SAFETY: it owns memory, which holds values of T only while an owner of the slab says so.
unsafe impl<T: Unit + Send> Send for Slab<T> {}
// SAFETY: as above; an index is given to one thread at a time, and lists belong to one thread.
unsafe impl<T: Unit + Send + Sync> Sync for Slab<T> {}

impl<T: Unit> Slab<T> {
    pub fn new() -> Slab<T> {
        const { assert!(T::BATCH <= BATCH && T::SHIFT >= 6) };
        Slab {
            directory: AtomicPtr::new(ptr::null_mut()),
            magazines: Magazines::new(),
            pool: Mutex::new(Pool::new()),
            is: PhantomData,
        }
    }

    /// The address of an entry.
    ///
    /// # Safety
    /// The index was handed out, and not given back to the pool since.
    #[inline(always)]
    pub unsafe fn at(&self, index: u32) -> *mut T {
        let (chunk, place) = (index >> T::SHIFT, index & ((1 << T::SHIFT) - 1));
        // [MAP-1]
        // SAFETY: the directory has this chunk since before the index was handed out.
        unsafe {
            let chunk = self.directory.load(Ordering::Acquire).add(chunk as usize);
            (*chunk)
                .load(Ordering::Acquire)
                .cast::<T>()
                .add(place as usize)
        }
    }

    /// The lists of all threads.
    pub fn magazines(&self) -> &Magazines {
        &self.magazines
    }

    /// Gives an index back that was taken and not used.
    #[cold]
    pub fn untake(&self, index: u32) {
        let mine = self.magazines.desk().mine();
        if mine.free().len() < BATCH {
            mine.free().push(index);
        }
    }

    /// A free index, of which the caller initialises the entry.
    #[inline(always)]
    pub fn take(&self, desk: Desk<'_>) -> u32 {
        match desk.pop_free() {
            Some((index, next)) => {
                // SAFETY: it is in this thread's list of free indexes.
                prefetch_to_write(unsafe { self.at(next) });
                index
            }
            None => self.take_slowly(desk),
        }
    }

    #[cold]
    #[inline(never)]
    fn take_slowly(&self, desk: Desk<'_>) -> u32 {
        let mine = desk.mine();
        if let Some(index) = mine.free().pop() {
            return index;
        }
        let mut pool = lock(&self.pool);
        if let Some(list) = pool.ready_list(mine.owner()) {
            mine.free().put(list);
        } else {
            let mut need = T::BATCH.min(1 << (T::SHIFT - 2));
            while need > 0 {
                match pool.fill(mine.free(), need) {
                    0 if mine.free().is_empty() => self.add_chunk(&mut pool),
                    0 => break,
                    taken => need -= taken,
                }
            }
        }
        mine.free().pop().expect("the list was filled")
    }

    /// # Panics
    /// If all indexes are in use.
    fn add_chunk(&self, pool: &mut Pool<T>) {
        let number = pool.new_chunk();
        let length = pool.directory.len();
        assert!(
            number < (END >> T::SHIFT) as usize,
            "RcuHashMap: more than 2^31 entries"
        );
        if number == length {
            let mut larger: Vec<AtomicPtr<u8>> = Vec::with_capacity((length * 2).max(4));
            larger.extend(pool.directory.iter().map(|chunk| {
                let chunk = chunk.load(Ordering::Relaxed);
                AtomicPtr::new(chunk)
            }));
            larger.resize_with(larger.capacity(), AtomicPtr::default);
            // SAFETY: a box.
            let larger = unsafe { Shared::from_raw(Box::into_raw(larger.into_boxed_slice())) };
            // [MAP-1]
            self.directory
                .store(larger.as_ptr().cast_mut(), Ordering::Release);
            let old = std::mem::replace(&mut pool.directory, larger);
            pool.replaced.push(old); // destructors read it outside of sections: it stays
        }
        let chunk = match layout::<T>() {
            None => ptr::NonNull::<T>::dangling().as_ptr().cast(),
            Some(layout) => {
                // SAFETY: not of size zero.
                let chunk = unsafe { alloc(layout) };
                if chunk.is_null() {
                    handle_alloc_error(layout);
                }
                chunk
            }
        };
        // [MAP-1]
        pool.directory[number].store(chunk, Ordering::Release);
        pool.add(number);
    }

    /// Gives indexes back. Their entries are not initialised.
    ///
    /// # Safety
    /// They were handed out, and no thread uses them: if they were in use, a grace period has passed since
    /// they were unlinked.
    pub unsafe fn give_back(&self, full: Full) {
        // [MAP-2]
        let mut pool = lock(&self.pool);
        let Some(full) = pool.keep(full) else { return };
        for &index in full.indexes() {
            if let Some(chunk) = pool.put(index) {
                // No reader knows an entry of it: each was free, or has had its grace period.
                let chunk = pool.directory[chunk].swap(ptr::null_mut(), Ordering::Relaxed);
                // SAFETY: made by `add_chunk`, and all its indexes are in the pool.
                unsafe { free::<T>(chunk) };
            }
        }
    }

    /// Frees all chunks. What is in them is not dropped.
    ///
    /// # Safety
    /// No thread uses an entry, and none will ask for one.
    pub unsafe fn free_all(&self) {
        let mut pool = lock(&self.pool);
        for chunk in pool.directory.iter() {
            let chunk = chunk.swap(ptr::null_mut(), Ordering::Relaxed);
            if !chunk.is_null() {
                // SAFETY: made by `add_chunk`; the caller's promise.
                unsafe { free::<T>(chunk) };
            }
        }
        *pool = Pool::new();
    }
}

impl<T: Unit> Drop for Slab<T> {
    fn drop(&mut self) {
        // SAFETY: no thread has a reference to it.
        unsafe { self.free_all() };
    }
}

/// The layout of a chunk, if it has a size.
fn layout<T: Unit>() -> Option<Layout> {
    let layout = Layout::array::<T>(1 << T::SHIFT).expect("chunks are small");
    (layout.size() > 0).then_some(layout)
}

/// # Safety
/// A chunk, which no thread uses.
unsafe fn free<T: Unit>(chunk: *mut u8) {
    if let Some(layout) = layout::<T>() {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(chunk, layout) };
    }
}
