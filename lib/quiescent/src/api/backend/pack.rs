//! Queue entries for retired boxes.

use std::mem::needs_drop;
use std::ptr::NonNull;

use quiescent_engine::credit::Urgency;

use quiescent_core::defer::enqueue::Terms;
use quiescent_core::queue::kind;
use quiescent_core::queue::lane::Entry;
use quiescent_core::queue::per_thread::{CODE, OWN, PLAIN};
use quiescent_core::queue::weight::{self, Owned, UNKNOWN};

/// What a retired value owns, and where its destructor runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given {
    /// Bytes besides its own size, or [`UNKNOWN`].
    pub bytes: usize,
    /// A worker drops it, not the calling thread.
    pub on_worker: bool,
}

impl Given {
    /// Nothing was said.
    pub const NOTHING: Given = Given {
        bytes: UNKNOWN,
        on_worker: false,
    };

    /// The same, with nothing declared: lets the compiler see the constant.
    #[inline(always)]
    pub fn undeclared(self) -> Given {
        Given {
            bytes: UNKNOWN,
            ..self
        }
    }
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
/// `owned`: the bytes declared, or [`weight::UNKNOWN`].
///
/// # Safety
/// `pointer` comes from `Box::into_raw`, and no other code frees it.
#[inline(always)]
pub(crate) unsafe fn pack<T: Send + 'static>(
    pointer: NonNull<T>,
    terms: Given,
) -> Option<(usize, Entry, u64)> {
    let object = pointer.as_ptr();
    let owned = Owned::by::<T>(terms.bytes);
    let bytes = weight::boxed::<T>() as u64 + owned.bytes();
    if !needs_drop::<T>() && size_of::<T>() == 0 {
        return None;
    }
    let (lane, entry) = if needs_drop::<T>() {
        let what = kind::dropped::<T>(owned);
        let object = object.cast();
        let lane = if terms.on_worker { CODE } else { OWN };
        // SAFETY: a box of T, by the caller's promise.
        (lane, unsafe { Entry::new(object, what) })
    } else {
        // SAFETY: as above.
        (PLAIN, unsafe { Entry::plain(object, owned) })
    };
    Some((lane, entry, bytes))
}
