//! Backends: the three kinds of domains, as the public types use them.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ptr;

use super::Backend;
use crate::global::{self, with_local};
use quiescent_core::parts::domain::Domain;
use quiescent_core::queue::per_thread::Queue;
use quiescent_core::reader::local::Local;

/// The process's domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OfProcess;

/// A domain of the program, with a record for each thread that reads there. Never freed.
#[derive(Clone, Copy)]
pub struct OfThreads(pub(crate) &'static Domain);

/// A domain with counted readers. Never freed.
#[derive(Clone, Copy)]
pub struct OfCounts(pub(crate) &'static Domain);

impl Backend for OfProcess {
    #[inline(always)]
    fn domain(self) -> &'static Domain {
        &global::env().home
    }

    #[inline(always)]
    fn queue(self) -> Option<&'static Queue> {
        Some(with_local(Local::queue))
    }

    fn is_inside(self) -> bool {
        with_local(|local| global::env().threads.in_section(local))
    }
}

impl Backend for OfThreads {
    #[inline(always)]
    fn domain(self) -> &'static Domain {
        self.0
    }

    #[inline(always)]
    fn queue(self) -> Option<&'static Queue> {
        match with_local(|local| local.noted_record(ptr::from_ref(self.0).cast())) {
            // SAFETY: a record, and null or a queue; neither is ever freed.
            Some(record) => unsafe { (*record).attached().as_ref() },
            None => attached_queue(self.0),
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
        attached_queue(self.0)
    }
}

/// The queue to which the calling thread pushes in this domain, if the thread's cached record is of another
/// domain.
#[inline(never)]
fn attached_queue(domain: &'static Domain) -> Option<&'static Queue> {
    with_local(|local| domain.attached_queue(local))
}

/// Domains are compared by address.
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
