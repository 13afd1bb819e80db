//! Readers of another kind: threads whose words another library's inlined code writes. A host describes them
//! with [`ForeignWords`]; who of them is a reader is known from the slots of the process's threads, so a host
//! registers a thread ([`own_slot_or_register`](crate::reader::registration::Threads)) and then notes where
//! the word of that slot is.
//!
//! Such readers know no wake flag of ours. A driver that has to sleep does so in the host
//! ([`sleep`](ForeignWords::sleep)), which the reader's own code ends; the worker looks at them again after
//! naps that grow, as in fenced mode `[RD-4]`.
//!
//! # Edges
//! `[FR-1]` register: the claim of the slot, the word's place (release), *full fence*, then the first
//! section. Pairs with `[SNAP-1]`, as `[REG-1]` does: a scan that finds no word there is before the thread's
//! first section, which then sees every update that the grace period covers. `[FR-2]` a scan loads the word
//! with acquire: what it credits is over. `[FR-3]` the word on which the driver sleeps is set, *heavy fence*
//! `[GP-2]`, then the last scan.

use std::fmt::Debug;
use std::time::Duration;

use quiescent_engine::{CpuId, Seen};

use crate::reader::counted::Counted;

/// What a host knows about such readers. Slots are named by their numbers.
pub trait ForeignWords: Debug + Sync {
    /// What a scan sees of the threads of a slot. A thread that is no reader is outside. Called under the
    /// domain's lock.
    fn observe(&self, slot: CpuId) -> Seen;

    /// Sections that begin from now on have another stamp.
    fn advance(&self);

    /// True if readers execute a full fence where sections begin and end, whatever the mode: then the
    /// driver's fences need not reach them.
    fn execute_fences(&self) -> bool;

    /// The driver is about to sleep for these readers: returns the number of words that it has set for that
    /// and that were clear. Called under the domain's lock.
    fn arm(&self, holdouts: &mut dyn Iterator<Item = CpuId>) -> u32;

    /// True if readers end a [`sleep`](ForeignWords::sleep); else the driver naps, as in fenced mode.
    /// `[RD-4]`
    fn hears(&self) -> bool;

    /// Sleeps until a reader has left its section since [`arm`](ForeignWords::arm), or for `timeout`.
    fn sleep(&self, timeout: Duration);

    /// Ends a sleep.
    fn wake(&self);

    /// The calling thread, which has this slot, is no reader any more.
    fn leave(&self, slot: CpuId);

    /// In the child of a fork: only the thread that has the slot `own` may be a reader.
    #[cfg(feature = "fork")]
    fn forked(&self, own: Option<CpuId>);
}

/// Such readers of a domain. Without the feature `foreign` there is no value of this type.
#[derive(Debug)]
pub struct ForeignReaders {
    pub words: &'static dyn ForeignWords,
    /// Has the places of the threads' queues.
    pub queues: Counted,
    #[cfg(not(any(test, feature = "foreign")))]
    _never: std::convert::Infallible,
}

#[cfg(any(test, feature = "foreign"))]
impl ForeignReaders {
    pub fn new(words: &'static dyn ForeignWords) -> ForeignReaders {
        ForeignReaders {
            words,
            queues: Counted::new(),
        }
    }
}
