//! Sizes of the product.

/// Number of checks of another thread's fence before sleeping for its end: together about as long as a fence
/// that interrupts no CPU.
pub const FENCE_CHECKS: u32 = 4;
/// Number of entries that pass through a thread's queue in a domain of the program before the thread pushes
/// to it without the lock.
pub const ATTACH_AFTER: u64 = 64;
/// Largest number of domains that the worker processes at a time.
pub const TOGETHER: usize = 64;
/// With more threads present than this, no thread is asked for a fence: a question costs a cache miss each.
pub const MOST_ASKED: usize = 16;
/// The longest wait for their answers, in nanoseconds: a few times what one takes from a thread on another
/// CPU.
pub const ASK_NS: u64 = 2000;
/// Slots in a leaf: one bitmap word.
pub const LEAF_SLOTS: usize = 64;
/// Entries in a block: four pages and a bit for two words each.
pub const BLOCK: usize = quiescent_engine::owner::BLOCK;
/// Largest number of entries taken out of a queue at once.
pub const MAX_EXTRACT: usize = quiescent_engine::owner::MOST_TAKEN;
/// From this nesting on, lock takes its slow path: the sign bit of the nesting.
pub const NEST_LIMIT: u64 = 1 << 15;
/// Largest number of leaves: 65 536 threads at once.
pub const MAX_LEAVES: usize = 1024;
/// Tallies in the first leaf of an `Srcu`'s counts; each further leaf has twice as many.
pub const FIRST_TALLIES: u32 = 8;
/// Number of leaves of tallies: enough for every slot.
pub const TALLY_LEAVES: usize = 14;
/// Records in the first leaf of a domain's; each further leaf has twice as many.
pub const FIRST_RECORDS: u32 = 2;
/// Number of leaves of records: enough for every slot.
pub const RECORD_LEAVES: usize = 16;
/// Leaves of a slot's table: enough for millions of domains.
pub const TABLE_LEAVES: usize = 20;

/// Destructors that a thread owes before the end of a section runs them: so many share a slow path. As many
/// blocks as the cache of a thread in glibc's allocator holds of one size: with more it would call the arena.
pub const FEW_OWED: u32 = 7;
