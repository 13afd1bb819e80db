//! A column of counts for each object, a page of them for each thread.
//!
//! A *block* serves 512 objects. A thread that counts one of them has a page there: a count for each of the
//! block's objects, and no other thread stores to it. So 8 bytes serve an object and a thread, no two threads
//! write to one line, and a count takes no locked instruction. Pages belong to thread indexes: the next owner
//! of an index goes on with the counts, whose sums are right whichever thread added what.
//!
//! Neither blocks nor pages are ever freed. All is done by single stores and compare-and-swaps, so that the
//! child of a fork finds nothing locked or half done, wherever the other threads were: it loses at most a
//! page or a block that was not published.

use std::alloc::{Layout, handle_alloc_error};

use crate::prim::{AtomicPtr, AtomicU64, COUNTED, Ordering, array_of, const_new, statics, zeroed};

/// Objects that a block serves.
const OBJECTS: usize = COUNTED.0;
/// Threads that have pages: those with lower indexes.
const THREADS: usize = COUNTED.1;

statics! {
    static ref BLOCKS: Blocks = Blocks {
        first: AtomicPtr::new(std::ptr::null_mut()),
        killed: Block::new(),
    };
}

struct Blocks {
    /// The one that was made last.
    first: AtomicPtr<Block>,
    /// The block of objects that have been killed. It has no pages: one comparison finds out whether the
    /// object lives and whether the thread has a page.
    killed: Block,
}

/// Two cache lines are the least that threads do not share, since processors load lines in pairs.
#[repr(C, align(128))]
pub struct Page([AtomicU64; OBJECTS]);

#[repr(C)]
struct Block {
    /// Only the owner of an index adds its page.
    pages: [AtomicPtr<Page>; THREADS],
    /// A bit for each object.
    taken: [AtomicU64; OBJECTS / 64],
    next: AtomicPtr<Block>,
}

/// The counts of an object. All are zero when it is made.
pub struct Column {
    /// Where threads count: `block`, or that of killed objects. `[ARC-1]`
    counting: AtomicPtr<Block>,
    block: &'static Block,
    /// Less than [`OBJECTS`].
    number: usize,
}

impl Column {
    /// Takes a column that is free.
    pub fn new() -> Column {
        let mut next = BLOCKS.first.load(Ordering::Acquire); // [ARC-4]
        // SAFETY: null, or a block; blocks are never freed.
        while let Some(block) = unsafe { next.as_ref() } {
            if let Some(number) = block.claim() {
                return Column::of(block, number);
            }
            next = block.next.load(Ordering::Acquire);
        }
        Column::of(Block::add(), 0)
    }

    fn of(block: &'static Block, number: usize) -> Column {
        let counting = AtomicPtr::new(std::ptr::from_ref(block).cast_mut());
        Column {
            counting,
            block,
            number,
        }
    }

    /// True before the object is killed.
    pub fn lives(&self) -> bool {
        std::ptr::eq(self.counting.load(Ordering::Relaxed), self.block)
    }

    /// The object is killed. False if it had been before.
    pub fn kill(&self) -> bool {
        let killed = (&raw const BLOCKS.killed).cast_mut();
        self.counting.swap(killed, Ordering::AcqRel) != killed // [ARC-1]
    }

    /// Adds to the count of the calling thread, which has this index and is in a section. Returns the page;
    /// none if the object has been killed, or if the thread has no page (yet: [`reach`](Column::reach)).
    #[inline(always)]
    pub fn add(&self, index: usize, change: u64) -> Option<&'static Page> {
        // SAFETY: a block that is never freed. [ARC-1]
        let block = unsafe { &*self.counting.load(Ordering::Relaxed) };
        let page = block.pages.get(index).map(|it| it.load(Ordering::Acquire));
        // SAFETY: null, or a page; pages are never freed.
        let page: Option<&'static Page> = page.and_then(|page| unsafe { page.as_ref() });
        let Some(page) = page else {
            unlikely();
            return None;
        };
        // SAFETY: by the field's invariant.
        let count = unsafe { page.0.get_unchecked(self.number) };
        let before = count.load(Ordering::Relaxed);
        count.store(before.wrapping_add(change), Ordering::Relaxed);
        Some(page)
    }

    /// Makes a page for the calling thread, which has this index, if that is possible and none is there.
    pub fn reach(&self, index: usize) {
        let place = self.block.pages.get(index);
        if let Some(place) = place.filter(|it| it.load(Ordering::Acquire).is_null()) {
            // SAFETY: a page consists of atomic integers.
            let page = unsafe { zeroed(Page::new) };
            let order = (Ordering::Release, Ordering::Relaxed); // [ARC-4]
            // Fails if the program's allocator counts references of its own, and has made a page: this one is
            // lost.
            let _ = place.compare_exchange(std::ptr::null_mut(), page, order.0, order.1);
        }
    }

    /// The sum of the counts. No thread adds any more; they are zero then, and the column is free. `[ARC-2]`
    pub fn take(&self) -> u64 {
        let mut sum = 0_u64;
        for place in &self.block.pages {
            // SAFETY: null, or a page; pages are never freed. [ARC-4]
            if let Some(page) = unsafe { place.load(Ordering::Acquire).as_ref() } {
                sum = sum.wrapping_add(page.0[self.number].load(Ordering::Relaxed));
                page.0[self.number].store(0, Ordering::Relaxed);
            }
        }
        let word = &self.block.taken[self.number / 64];
        word.fetch_and(!(1 << (self.number % 64)), Ordering::Release); // [ARC-2]
        sum
    }
}

impl Page {
    fn new() -> Page {
        Page(array_of![AtomicU64::new(0); OBJECTS])
    }
}

impl Block {
    const_new! {
        fn new() -> Block {
            Block {
                pages: array_of![AtomicPtr::new(std::ptr::null_mut()); THREADS],
                taken: array_of![AtomicU64::new(0); OBJECTS / 64],
                next: AtomicPtr::new(std::ptr::null_mut()),
            }
        }
    }

    /// Adds a block, of which the caller has the first column.
    fn add() -> &'static Block {
        // SAFETY: a block consists of atomic integers and pointers.
        let made = unsafe { zeroed(Block::new) };
        // SAFETY: null, or a block that is never freed.
        let Some(block) = (unsafe { made.as_ref() }) else {
            handle_alloc_error(Layout::new::<Block>());
        };
        block.taken[0].store(1, Ordering::Relaxed);
        let mut first = BLOCKS.first.load(Ordering::Relaxed);
        loop {
            block.next.store(first, Ordering::Relaxed);
            let order = (Ordering::AcqRel, Ordering::Relaxed); // [ARC-4]
            match BLOCKS.first.compare_exchange(first, made, order.0, order.1) {
                Ok(_) => return block,
                Err(other) => first = other,
            }
        }
    }

    /// Takes a free column.
    fn claim(&self) -> Option<usize> {
        self.taken.iter().enumerate().find_map(|(word, taken)| {
            let first_free = |bits: u64| (bits != u64::MAX).then(|| bits | (bits + 1));
            // [ARC-2]
            let before = taken.fetch_update(Ordering::AcqRel, Ordering::Relaxed, first_free);
            before
                .ok()
                .map(|bits| word * 64 + bits.trailing_ones() as usize)
        })
    }
}

/// The compiler takes the path that calls it out of the straight line.
#[cold]
fn unlikely() {}
