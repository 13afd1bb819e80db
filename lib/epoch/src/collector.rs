//! [`Collector`]: a domain; [`pin`] opens a section of the process's.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use quiescent::{Domain, tuning};

use crate::guard::Guard;

/// What one [`Guard::flush`], or the end of one guard, runs at most.
const MOST: u64 = 512;

/// What frees the objects that are deferred under its guards: the process's domain ([`default_collector`]),
/// or one of its own. Clones are handles to the same one.
///
/// ```
/// use quiescent_epoch::{Collector, default_collector, pin};
///
/// let collector = Collector::new();
/// let handle = collector.register();
/// let guard = handle.pin();
/// assert_eq!(guard.collector(), Some(&collector));
/// assert_ne!(guard.collector(), Some(default_collector()));
/// assert_eq!(pin().collector(), Some(default_collector()));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Collector(pub(crate) Option<Arc<Own>>);

static DEFAULT: Collector = Collector(None);

/// A domain that frees what it holds when it is dropped.
#[derive(PartialEq, Eq)]
pub(crate) struct Own(pub(crate) Domain);

impl Drop for Own {
    fn drop(&mut self) {
        // SAFETY: each guard has a handle to its collector: none is left. What is deferred needs one to defer
        // anything here.
        unsafe { self.0.free_now_unchecked() };
    }
}

impl Collector {
    /// A collector of its own.
    pub fn new() -> Collector {
        Collector(Some(Arc::new(Own(Domain::new()))))
    }

    /// A handle for this thread. Costs nothing: threads need no registration.
    pub fn register(&self) -> LocalHandle {
        LocalHandle {
            collector: self.clone(),
            stays: PhantomData,
        }
    }

    pub(crate) fn is_pinned(&self) -> bool {
        self.0
            .as_ref()
            .map_or_else(is_pinned, |own| own.0.in_section())
    }

    /// Runs what is ready, in this thread, with a bound.
    pub(crate) fn run_ready(&self) {
        match &self.0 {
            None => tuning::drain_ready(MOST, Duration::MAX),
            Some(own) => own.0.drain_ready(MOST, Duration::MAX),
        };
    }
}

impl Default for Collector {
    fn default() -> Self {
        Collector::new()
    }
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Collector { .. }")
    }
}

/// A thread's handle to a collector.
///
/// ```
/// let handle = quiescent_epoch::Collector::new().register();
/// assert!(!handle.is_pinned());
/// let guard = handle.pin();
/// assert!(handle.is_pinned() && guard.collector() == Some(handle.collector()));
/// ```
pub struct LocalHandle {
    collector: Collector,
    /// A handle belongs to its thread.
    stays: PhantomData<*mut ()>,
}

impl LocalHandle {
    /// Opens a section, with a full fence.
    #[inline]
    pub fn pin(&self) -> Guard {
        Guard::of(&self.collector)
    }

    /// Returns whether this thread has a guard of this collector, of any handle.
    pub fn is_pinned(&self) -> bool {
        self.collector.is_pinned()
    }

    /// Its collector.
    pub fn collector(&self) -> &Collector {
        &self.collector
    }
}

impl fmt::Debug for LocalHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("LocalHandle { .. }")
    }
}

/// Opens a section of the process's domain, and executes a full fence. Never waits, never fails.
///
/// ```
/// let guard = quiescent_epoch::pin();
/// assert!(quiescent_epoch::is_pinned());
/// drop(guard);
/// assert!(!quiescent_epoch::is_pinned());
/// ```
#[inline]
pub fn pin() -> Guard {
    Guard::of_process()
}

/// Returns whether this thread has a guard of the process's domain: also one of another user of
/// [`quiescent`].
pub fn is_pinned() -> bool {
    quiescent::in_section()
}

/// The process's domain, which [`pin`] opens sections of.
pub fn default_collector() -> &'static Collector {
    &DEFAULT
}
