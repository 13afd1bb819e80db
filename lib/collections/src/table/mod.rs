//! A table: buckets that are intervals of the hash, and where it is being moved to.

mod bucket;

pub use bucket::{Bucket, LAST, LINK, Tags, tag_of};

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr;

use crate::prim::{AtomicPtr, AtomicUsize, Ordering, are_zero};

/// The smallest table has two buckets.
const MIN_BITS: u32 = 1;

/// The mean number of entries of a bucket at which a table grows, times [`PARTS`].
const FULL: u128 = 42;
const PARTS: u128 = 5;

/// Bits of the hash in a slot's mark say where the entries go, without a look at them, in all but one of so
/// many times that a table doubles.
const SPLITS: u32 = 3;

/// More new buckets of a unit are not written before they are used: 64 KiB.
const MANY: usize = 1024;

/// Buckets, found by the highest bits of the hash. The memory of a table is zero at first.
pub struct Table {
    buckets: *mut Bucket,
    shift: u32,
    /// Where the two bits of a hash are that a slot has beside its tag.
    split: u32,
    block: *mut u8,
    layout: Layout,
    /// The table that the entries move to, while they do.
    next: AtomicPtr<Table>,
    /// Units below this one have been taken by threads that move them.
    claimed: AtomicUsize,
    /// Units that have moved.
    moved: AtomicUsize,
}

// SAFETY: it owns its buckets, whose words are atomic.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

impl Table {
    /// A table with `1 << bits` buckets.
    pub fn new(bits: u32) -> Box<Table> {
        let align = align_of::<Bucket>();
        let buckets = 1_usize.checked_shl(bits);
        let bytes = buckets.and_then(|buckets| buckets.checked_mul(size_of::<Bucket>()));
        // Not aligned by the allocator, which would clear a large block by writing.
        let layout = bytes.and_then(|bytes| Layout::from_size_align(bytes + align - 16, 16).ok());
        let layout = layout.expect("RcuHashMap: the capacity is too large");
        // SAFETY: its size is not zero.
        let block = unsafe { alloc_zeroed(layout) };
        if block.is_null() {
            handle_alloc_error(layout);
        }
        // SAFETY: a block at a multiple of 16 has room for that.
        let first = unsafe { block.add(block.align_offset(align)) }.cast();
        // SAFETY: as above, and it is zero.
        unsafe { are_zero(first, 1 << bits, Bucket::default) };
        Box::new(Table {
            buckets: first,
            shift: u64::BITS - bits,
            split: u64::BITS - 3 - (bits - MIN_BITS) / SPLITS * SPLITS,
            block,
            layout,
            next: AtomicPtr::new(ptr::null_mut()),
            claimed: AtomicUsize::new(0),
            moved: AtomicUsize::new(0),
        })
    }

    /// The bits of a table for so many entries: it is at least half full.
    pub fn bits_for(length: usize) -> u32 {
        let buckets = (length as u128 * 2 * PARTS / FULL).max(1);
        buckets.ilog2().max(MIN_BITS)
    }

    /// The bits that a table should have with so many entries, if other than it has. It does not shrink to
    /// less than `least`.
    pub fn better_bits(&self, length: usize, least: u32) -> Option<u32> {
        let (length, bits) = (length as u128, self.bits());
        let full = (self.len() as u128) * FULL;
        if length * PARTS > full {
            return Some(bits + 1);
        }
        (bits > least && length * PARTS * 5 < full)
            .then(|| Table::bits_for(length as usize).max(least))
            .filter(|&better| better < bits)
    }

    #[inline(always)]
    pub fn len(&self) -> usize {
        1 << self.bits()
    }

    #[inline(always)]
    pub fn bits(&self) -> u32 {
        u64::BITS - self.shift
    }

    /// The memory that it owns.
    pub fn bytes(&self) -> usize {
        self.layout.size()
    }

    #[inline(always)]
    pub fn bucket(&self, hash: u64) -> &Bucket {
        // SAFETY: the number is one of `bits` bits.
        unsafe { &*self.buckets.add((hash >> self.shift) as usize) }
    }

    /// What a slot has of a hash: its tag, and the two bits by which a table of this size, or the next one,
    /// is doubled.
    #[inline(always)]
    pub fn mark_of(&self, hash: u64) -> u64 {
        tag_of(hash) | (hash >> self.split & 3) << 8
    }

    /// The lowest of the upper bits of a hash that its bucket and its mark have.
    fn known(&self) -> u32 {
        self.shift.min(self.split)
    }

    /// Whether it can be moved to this table without its entries' hashes.
    pub fn knows(&self, next: &Table) -> bool {
        next.known() >= self.known()
    }

    /// What is known of the hash of an entry with this mark, in the bucket with this number.
    pub fn hash_of(&self, number: usize, mark: u64) -> u64 {
        (number as u64) << self.shift | mark >> 8 << self.split | mark & 0x7f
    }

    pub fn buckets(&self) -> &[Bucket] {
        // SAFETY: there are so many, which zeros initialise.
        unsafe { std::slice::from_raw_parts(self.buckets, self.len()) }
    }

    /// The first hash behind the bucket of this one; `None` behind the last.
    pub fn end_of_bucket(&self, hash: u64) -> Option<u64> {
        let end = (hash >> self.shift) + 1;
        (end < self.len() as u64).then(|| end << self.shift)
    }

    /// Whether a hash is the first one of its bucket.
    pub fn begins_bucket(&self, hash: u64) -> bool {
        hash << self.bits() == 0
    }

    /// `[MAP-7]` A table is complete before its address is stored; it is zero, so that nothing else is
    /// needed.
    #[inline(always)]
    pub fn next(&self) -> Option<&Table> {
        // SAFETY: null or a table, which is retired later than this one.
        unsafe { self.next.load(Ordering::Acquire).as_ref() }
    }

    pub fn next_raw(&self) -> *mut Table {
        self.next.load(Ordering::Acquire)
    }

    /// The table that entries have moved to.
    #[cold]
    pub fn after(&self) -> &Table {
        self.next().expect("what has moved is there")
    }

    /// Begins to move to a new table; if another thread has begun, returns the table.
    pub fn begin(&self, new: Box<Table>) -> Result<(), Box<Table>> {
        let new = Box::into_raw(new);
        // [MAP-7]
        let (ok, err) = (Ordering::AcqRel, Ordering::Relaxed);
        match self.next.compare_exchange(ptr::null_mut(), new, ok, err) {
            Ok(_) => Ok(()),
            // SAFETY: made above, and not published.
            Err(_) => Err(unsafe { Box::from_raw(new) }),
        }
    }

    /// What moves as a whole: a bucket of the smaller table, and those of the other one with the same hashes.
    pub fn units(&self, next: &Table) -> u32 {
        self.bits().min(next.bits())
    }

    /// Writes to the buckets of a unit, which no thread can reach, before they are read: of memory that was
    /// never used a read maps a page of zeros, and then a write interrupts the program's other CPUs. Not if
    /// they are many, as room that was asked for: it would take long, and memory that may not be needed.
    pub fn begin_unit(&self, unit: usize, bits: u32) {
        let each = self.len() >> bits;
        if each > MANY {
            return;
        }
        self.buckets()[unit * each..][..each]
            .iter()
            .for_each(Bucket::begin_empty);
    }

    /// Takes so many units, of which this returns the first.
    pub fn claim(&self, stride: usize, units: usize) -> std::ops::Range<usize> {
        if self.claimed.load(Ordering::Relaxed) >= units {
            return 0..0;
        }
        let first = self.claimed.fetch_add(stride, Ordering::Relaxed);
        first.min(units)..(first + stride).min(units)
    }

    /// `[MAP-8]` Counts a unit that has moved. Returns whether it was the last: then this thread has seen
    /// everything that was done to the others.
    pub fn count_moved(&self, units: usize) -> bool {
        self.moved.fetch_add(1, Ordering::AcqRel) + 1 == units
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.block, self.layout) };
    }
}
