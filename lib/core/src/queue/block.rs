//! Blocks of entries, of which a lane is a chain, and what an entry is.
//!
//! `[RET-1]` an entry's words are written before the owner publishes the new end of its lane; they are not
//! written again while the entry is queued.

use std::alloc::{Layout, dealloc};
use std::ops::Range;

use crate::prim::{AtomicPtr, AtomicU64, BLOCK, Ordering};
use crate::queue::kind;
use crate::queue::weight::Owned;

/// A run of entries: two words each.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Block {
    first: [AtomicPtr<u8>; BLOCK],
    second: [AtomicU64; BLOCK],
    /// The next block of the chain, and the position of the first entry: under the queue's lock.
    pub(crate) next: AtomicPtr<Block>,
    pub base: AtomicU64,
}

impl Block {
    const_new! {
        pub fn new() -> Block {
            Block {
                first: array_of!(AtomicPtr::new(std::ptr::null_mut()); BLOCK),
                second: array_of!(AtomicU64::new(0); BLOCK),
                next: AtomicPtr::new(std::ptr::null_mut()),
                base: AtomicU64::new(0),
            }
        }
    }

    /// The next block.
    pub fn behind(&self) -> *mut Block {
        #[cfg(quiescent_model)]
        crate::prim::witness::touch(self);
        self.next.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub fn put(&self, at: u64, entry: Entry) {
        #[cfg(quiescent_model)]
        crate::prim::witness::touch(self);
        let index = at as usize % BLOCK;
        self.first[index].store(entry.object, Ordering::Relaxed);
        self.second[index].store(entry.what, Ordering::Relaxed);
    }

    /// The second words of entries of this block.
    ///
    /// # Safety
    /// The entries are published, and stay in the chain until the caller has finished with them.
    #[cfg(not(quiescent_model))]
    pub unsafe fn whats(&self, range: Range<u64>) -> &[u64] {
        let first = range.start as usize % BLOCK;
        let length = ((range.end - range.start) as usize).min(BLOCK - first);
        let words = &self.second[first..first + length];
        // SAFETY: these words are not written once their entries are published.
        unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len()) }
    }

    /// A model's atomics have more state than their bits, and models have no telemetry.
    ///
    /// # Safety
    /// As in the product; nothing calls it.
    #[cfg(quiescent_model)]
    pub unsafe fn whats(&self, _range: Range<u64>) -> &[u64] {
        unreachable!("nothing is counted")
    }

    #[inline(always)]
    pub fn get(&self, at: u64) -> Entry {
        #[cfg(quiescent_model)]
        crate::prim::witness::touch(self);
        let index = at as usize % BLOCK;
        Entry {
            object: self.first[index].load(Ordering::Relaxed),
            what: self.second[index].load(Ordering::Relaxed),
        }
    }
}

/// Something to reclaim: the object, and how ([`kind`]: a layout, or the address of a table).
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub(crate) object: *mut u8,
    pub(crate) what: u64,
}

// SAFETY: what is retired or called may go to any thread; the entry is its only owner.
unsafe impl Send for Entry {}

impl Entry {
    /// An empty place.
    pub const NONE: Entry = Entry {
        object: std::ptr::null_mut(),
        what: 0,
    };

    /// An object, and the word that says how it is reclaimed.
    ///
    /// # Safety
    /// `what` is from [`kind::dropped`], [`kind::called`], [`kind::given`] or [`kind::of_host`], and its
    /// function may be called once with the object, in any thread. The entry is queued once.
    #[inline(always)]
    pub const unsafe fn new(object: *mut u8, what: u64) -> Entry {
        Entry { object, what }
    }

    /// Memory of a box of `T`, to be freed without running any code of `T`.
    ///
    /// # Safety
    /// `object` comes from `Box::into_raw`, and no other code frees it.
    #[inline(always)]
    pub const unsafe fn plain<T>(object: *mut T, owned: Owned) -> Entry {
        Entry {
            object: object.cast(),
            what: kind::plain::<T>(owned),
        }
    }

    /// Frees the memory.
    ///
    /// # Safety
    /// An entry of the plain lane, done, and taken out of its queue by the caller.
    #[inline(always)]
    pub unsafe fn free(self) {
        #[cfg(quiescent_model)]
        if crate::prim::witness::observed(self.object) {
            return;
        }
        // SAFETY: `plain` packed the layout of a box; no reader refers to the object any more.
        unsafe {
            let (size, align) = kind::layout(self.what);
            let layout = Layout::from_size_align_unchecked(size, align);
            #[cfg(not(quiescent_model))]
            dealloc(self.object, layout);
            #[cfg(quiescent_model)]
            crate::prim::keep_memory(self.object, layout);
        }
    }
}
