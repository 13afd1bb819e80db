//! What is queued for a box that is retired.

use std::mem::needs_drop;
use std::ptr::NonNull;

use quiescent_engine::credit::Urgency;

use crate::inner::defer::enqueue::Terms;
use crate::inner::queue::kind;
use crate::inner::queue::lane::Entry;
use crate::inner::queue::per_thread::{CODE, PLAIN};
use crate::inner::queue::weight;

/// One object counts as so many bytes at most: several of them do not overflow a signed number.
const MOST_BYTES: usize = 1 << 48;

/// How the caller of `retire` wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It may wait, and the caller frees older objects.
    Lazy,
    /// Soon.
    Hurry,
    /// It may wait, and the caller frees nothing.
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

/// What goes into which lane for a box, and what it weighs; nothing where there is no memory, and nothing
/// to run.
#[inline(always)]
pub(crate) fn pack<T: Send + 'static>(
    pointer: NonNull<T>,
    owned: usize,
) -> Option<(usize, Entry, u64)> {
    let object = pointer.as_ptr();
    let bytes = weight::boxed::<T>().saturating_add(owned).min(MOST_BYTES) as u64;
    if !needs_drop::<T>() && size_of::<T>() == 0 {
        return None;
    }
    let (lane, entry) = if needs_drop::<T>() {
        let what = kind::dropped::<T>();
        let object = object.cast();
        (CODE, Entry { object, what })
    } else {
        (PLAIN, Entry::plain(object))
    };
    Some((lane, entry, bytes))
}
