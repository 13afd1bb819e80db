//! Queue entries for retired boxes.

use std::mem::needs_drop;
use std::ptr::NonNull;

use quiescent_engine::credit::Urgency;

use quiescent_core::defer::enqueue::Terms;
use quiescent_core::queue::kind;
use quiescent_core::queue::lane::Entry;
use quiescent_core::queue::per_thread::{CODE, OWN, PLAIN};
use quiescent_core::queue::weight;

/// The most bytes that one object counts as: several of them do not overflow a signed number.
const MOST_BYTES: usize = 1 << 48;

/// What a retired value owns, and where its destructor runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owned {
    /// Bytes besides its own size.
    pub bytes: usize,
    /// A worker drops it, not the calling thread.
    pub on_worker: bool,
}

/// How `retire` was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Lazy; the caller frees older objects.
    Lazy,
    /// In a hurry.
    Hurry,
    /// Lazy; the caller frees nothing.
    NoReclaim,
}

impl Way {
    pub(crate) fn terms(self) -> Terms {
        match self {
            Way::Lazy => Terms::LAZY,
            Way::Hurry => Terms::of(Urgency::Hurry),
            Way::NoReclaim => Terms {
                urgency: Urgency::Lazy,
                hands_off: true,
            },
        }
    }
}

/// The lane, the entry and the weight of a box; `None` for a value without memory and without a destructor.
#[inline(always)]
pub(crate) fn pack<T: Send + 'static>(
    pointer: NonNull<T>,
    owned: Owned,
) -> Option<(usize, Entry, u64)> {
    let object = pointer.as_ptr();
    let bytes = weight::boxed::<T>()
        .saturating_add(owned.bytes)
        .min(MOST_BYTES) as u64;
    if !needs_drop::<T>() && size_of::<T>() == 0 {
        return None;
    }
    let (lane, entry) = if needs_drop::<T>() {
        let what = kind::dropped::<T>();
        let object = object.cast();
        let lane = if owned.on_worker { CODE } else { OWN };
        (lane, Entry { object, what })
    } else {
        (PLAIN, Entry::plain(object))
    };
    Some((lane, entry, bytes))
}
