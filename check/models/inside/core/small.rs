//! Sizes that a model can explore.

/// As in the product, but small.
pub const NEST_LIMIT: u64 = 4;

/// No check before sleeping: models explore the sleep.
pub const FENCE_CHECKS: u32 = 0;

/// Number of entries that pass through a thread's queue in a domain of the program before the thread pushes
/// to it without the lock.
pub const ATTACH_AFTER: u64 = 0;
/// Largest number of domains that the worker processes at a time.
pub const TOGETHER: usize = 2;

/// Largest number of threads that are asked for a fence, in scenarios about that.
pub const MOST_ASKED: usize = 3;
/// The longest wait for their answers: two inspections.
pub const ASK_NS: u64 = 150;
/// Entries in a block: few, so that scenarios reach its end.
pub const BLOCK: usize = 2;
/// All tallies are in one leaf: a slot's number is below this.
pub const FIRST_TALLIES: u32 = (super::LEAF_SLOTS * super::MAX_LEAVES) as u32;
pub const TALLY_LEAVES: usize = 1;
/// One in the first leaf, the others in further ones.
pub const FIRST_RECORDS: u32 = 1;
pub const RECORD_LEAVES: usize = 4;
pub const TABLE_LEAVES: usize = 1;
/// Largest number of entries taken out of a queue at once.
pub const MAX_EXTRACT: usize = 2;

/// Destructors that a thread owes before the end of a section runs them: so many share a slow path.
pub const FEW_OWED: u32 = 1;
