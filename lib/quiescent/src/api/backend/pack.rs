//! Queue entries for retired boxes.

use std::mem::needs_drop;
use std::ptr::NonNull;

use quiescent_engine::credit::Urgency;

use quiescent_core::defer::enqueue::Terms;
use quiescent_core::queue::kind;
use quiescent_core::queue::lane::Entry;
use quiescent_core::queue::per_thread::{CODE, PLAIN};
use quiescent_core::queue::weight::{self, Owned};

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
/// `owned`: the bytes declared, or [`weight::UNKNOWN`].
#[inline(always)]
pub(crate) fn pack<T: Send + 'static>(
    pointer: NonNull<T>,
    owned: usize,
) -> Option<(usize, Entry, u64)> {
    let object = pointer.as_ptr();
    let owned = Owned::by::<T>(owned);
    let bytes = weight::boxed::<T>() as u64 + owned.bytes();
    if !needs_drop::<T>() && size_of::<T>() == 0 {
        return None;
    }
    let (lane, entry) = if needs_drop::<T>() {
        let what = kind::dropped::<T>(owned);
        let object = object.cast();
        (CODE, Entry { object, what })
    } else {
        (PLAIN, Entry::plain(object, owned))
    };
    Some((lane, entry, bytes))
}
