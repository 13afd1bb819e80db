//! Domains of readers that another library's inlined code registers and announces. For `quiescent-urcu-abi`,
//! and not part of the API.

use super::domain::Domain;
use crate::global::{env, local};
use quiescent_core::domain::life;
use quiescent_core::reader::foreign::ForeignWords;
use quiescent_core::reader::mode::FenceMode;
use quiescent_core::reader::threads::Slot;

/// A domain of the readers that `words` describes. It lives for ever, and nothing reads in it by a guard.
pub fn domain(words: &'static dyn ForeignWords) -> (Domain, &'static life::Domain) {
    let new = life::Domain::foreign(env(), words);
    (Domain::of(std::ptr::from_ref(new).cast()), new)
}

/// The calling thread's slot; registers the thread if it has none. `None`: there are too many threads, or
/// this one is about to end.
pub fn own_slot_or_register() -> Option<&'static Slot> {
    env().threads.own_slot_or_register(&local())
}

/// The calling thread's slot, if it has one.
pub fn own_slot() -> Option<&'static Slot> {
    env().own_slot()
}

/// How readers are ordered.
pub fn fence_mode() -> FenceMode {
    env().threads.mode.resolve()
}
