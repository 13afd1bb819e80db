//! Sections that may sleep, and end on another thread than the one that opened them: the second kind of grace
//! period.
//!
//! Such a section has no fixed CPU or thread. So sections are *counted*, in two counts, 0 and 1. A new
//! section joins the count that [`Host::join`](crate::Host::join) named last, and leaves the same one. To the
//! engine each count is a participant as a CPU is one ([`Readers::Indexed`]): outside if no section is in it,
//! with a stamp that never changes. Everything else is the same code as for CPUs: sequence numbers, cookies,
//! waiters, the driver role, pacing, stall reports, callbacks.
//!
//! ```text
//!            joined: 0                              joined: 1
//!   count 1  ─────┐ drains                     ─────┬──┬───┬──── newcomers
//!   count 0  ──┬──┴──┬───┬──── newcomers       ──┬──┴──┐ drains
//!              start                  turn over        end
//! ```
//!
//! A count that newcomers join need never be empty. So the grace period first waits for the other one, then
//! sends newcomers there (it *turns over*), and waits for the first. The kernel's SRCU does the same (scan,
//! flip, scan); here either count that is found empty is done, and if both are, nothing turns over, which
//! saves a store that readers would have to fetch.
//!
//! # Why a grace period is long enough
//! Let R be a section that is open when the grace period starts, in count i.
//! 1. After the start comes the fence. R joined its count before that, in its thread's order; otherwise its
//!    reads come after the fence, it sees all updates, and is not older. So R is in count i at every scan
//!    after the fence, until it ends.
//! 2. Count i is credited only by a scan after the fence that found it empty. So R had ended.
//!
//! None of this depends on *when* the engine turns over, nor on whether readers have seen it: a reader that
//! fetched the number long ago may still join the old count, and the grace period waits for it like for any
//! other. Turning over is needed for progress, not for correctness. It is done only when the other count has
//! been found empty (else newcomers would join sections that are waited for), and only once in a grace
//! period.
//!
//! # Requirements on the host
//! "Empty" is true at some moment of the scan. With a lock count and an unlock count for each thread and each
//! of the two, that means: add up the *unlocks* of all threads, then the locks. (A lock precedes its unlock,
//! so the sum contains the lock of every unlock in it, and if the sums are equal there is no other lock. In
//! the other order the sum may contain an unlock without its lock, which would stand for a section that is
//! still open.) The exhaustive search (`tests/it/indexed.rs`) tries both.
//!
//! # Why it is not longer than necessary
//! After turning over, the count that is waited for gets no newcomers except stragglers, at most one for each
//! thread. It takes as long as the longest of its sections.

use crate::config::Readers;
use crate::global::Global;
use crate::host::CpuId;

/// Both counts take part in every grace period: a host's answer for the only leaf
/// ([`Host::present`](crate::Host)).
pub const BOTH: u64 = 0b11;

/// The number of participants ([`Host::cpus`](crate::Host)).
pub const COUNTS: u32 = 2;

impl Global {
    /// The count that new sections are to join; 0 if readers are not counted.
    pub fn joined(&self) -> CpuId {
        self.joined
    }

    /// A scan has ended: if nothing is left but the count that newcomers join, they are to join the other
    /// one.
    pub(crate) fn turn_over(&mut self) -> bool {
        let turns =
            self.config.readers == Readers::Indexed && self.leaves.owed(0) == 1 << self.joined;
        if turns {
            self.joined = 1 - self.joined;
            self.counts.turns += 1;
        }
        turns
    }
}
