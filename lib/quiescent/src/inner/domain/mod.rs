//! Domains.

pub(crate) mod counters;
pub(crate) mod grounds;
pub(crate) mod numbers;
pub(crate) mod policy;
pub(crate) mod process;
pub(crate) mod settings;
pub(crate) mod yard;

use crate::inner::prim::{AtomicU32, Ordering};

/// A handle goes: was it the last one? The last one is not counted down, so that nobody takes the domain over before it is let go.
fn is_last(handles: &AtomicU32) -> bool {
    let mut now = handles.load(Ordering::Acquire);
    while now != 1 {
        match handles.compare_exchange(now, now - 1, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return false,
            Err(other) => now = other,
        }
    }
    true
}
