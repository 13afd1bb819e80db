//! quiescent's own domains: `Retired::from_raw_in(…).retire()`.

use super::Deferring;
use super::loops::{Boxed, deferring};
use crate::subjects::DOMAIN as NAME;
use quiescent::{Domain, Retired};
use std::ptr::NonNull;

static DOMAIN: Domain = Domain::new();

struct InDomain;

impl Boxed for InDomain {
    fn new() -> Self {
        InDomain
    }

    #[inline(always)]
    unsafe fn retire<T: Send + Sync + 'static>(&self, object: *mut T) {
        // SAFETY: the caller's promise; a box is not null, and no section finds it.
        unsafe { Retired::from_raw_in(NonNull::new_unchecked(object), &DOMAIN).retire() };
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
