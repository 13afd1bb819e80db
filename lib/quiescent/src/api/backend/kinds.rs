//! The three kinds of domains, as the public types see them.

use std::fmt;
use std::hash::{Hash, Hasher};

use super::Backend;
use crate::inner::domain::Domain;
use crate::inner::prim;
use crate::inner::queue::per_thread::Queue;
use crate::inner::reader::word;

/// The process's domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OfProcess;

/// A domain of the program, with a record for each thread that reads there. It lives for ever.
#[derive(Clone, Copy)]
pub struct OfThreads(pub(crate) &'static Domain);

/// Counted readers. They live for ever.
#[derive(Clone, Copy)]
pub struct OfCounts(pub(crate) &'static Domain);

impl Backend for OfProcess {
    #[inline(always)]
    fn domain(self) -> &'static Domain {
        &prim::env().home
    }

    #[inline(always)]
    fn queue(self) -> Option<&'static Queue> {
        Some(prim::queue())
    }

    fn is_inside(self) -> bool {
        word::in_section()
    }
}

impl Backend for OfThreads {
    #[inline(always)]
    fn domain(self) -> &'static Domain {
        self.0
    }

    #[inline(always)]
    fn queue(self) -> Option<&'static Queue> {
        match prim::noted_spot(self.0) {
            // SAFETY: a spot, and null or a queue, and those live for ever.
            Some(spot) => unsafe { (*spot).attached().as_ref() },
            None => self.0.attached_queue(),
        }
    }
}

impl Backend for OfCounts {
    #[inline(always)]
    fn domain(self) -> &'static Domain {
        self.0
    }

    #[inline(always)]
    fn queue(self) -> Option<&'static Queue> {
        self.0.attached_queue()
    }
}

/// Domains are told apart by where they are.
macro_rules! by_address {
    ($kind:ident) => {
        impl PartialEq for $kind {
            fn eq(&self, other: &$kind) -> bool {
                std::ptr::eq(self.0, other.0)
            }
        }

        impl Eq for $kind {}

        impl Hash for $kind {
            fn hash<H: Hasher>(&self, state: &mut H) {
                std::ptr::from_ref(self.0).hash(state);
            }
        }

        impl fmt::Debug for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "domain {}", self.0.number())
            }
        }
    };
}

by_address!(OfThreads);
by_address!(OfCounts);
