//! quiescent's own domains: `Retired::from_raw_in(…).retire()`.

use super::Deferring;
use super::loops::{Block, Defer, deferring};
use crate::subjects::DOMAIN as NAME;
use quiescent::Domain;
use std::ptr::NonNull;

static DOMAIN: Domain = Domain::new();

struct InDomain;

impl Defer for InDomain {
    fn new() -> Self {
        InDomain
    }

    #[inline(always)]
    fn make(value: u64) -> *mut () {
        Box::into_raw(Box::new(Block::new(value))).cast()
    }

    #[inline(always)]
    unsafe fn retire(&self, block: *mut ()) {
        // SAFETY: the caller's promise; a box of `make` is not null, and no section finds it.
        unsafe {
            quiescent::Retired::from_raw_in(NonNull::new_unchecked(block.cast::<Block>()), &DOMAIN)
                .retire()
        };
    }
}

/// Only `bench domain` asks for it.
pub(super) fn subject() -> Deferring {
    Deferring {
        attach: || drop(DOMAIN.read_lock()),
        settle: || DOMAIN.barrier(),
        barrier: Some(|| DOMAIN.barrier()),
        ..deferring::<InDomain>(NAME)
    }
}
