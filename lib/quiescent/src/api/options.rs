//! Settings at start-up.

use std::time::Duration;

use crate::error::InitError;
use crate::inner::prim;
use crate::statistics::FenceMode;

/// Settings. All have defaults: a program that needs none never calls [`apply`](Options::apply).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Demand a fence mode. Open: `membarrier(2)` where it is to be had, else fenced readers. The
    /// environment variable `QUIESCENT_FENCE=fenced` (any case) asks for fenced readers without a change
    /// of the program; other values are ignored, and `statistics().fence_mode` says what came of it.
    pub fence: Option<FenceMode>,
    /// Give at most about this many threads a slot of their own (rounded up to a multiple of 64, less
    /// two); further ones share two counters, slowly. Open: 65 534.
    pub max_threads: Option<u32>,
    /// So many bytes may be queued. Open: 64 MiB. See [`set_budget`](crate::tuning::set_budget()).
    pub budget_bytes: Option<u64>,
    /// So many objects and callbacks may be queued. Open: 2²⁰.
    pub budget_callbacks: Option<u64>,
    /// Let threads run their callbacks and destructors themselves, one or two in each later call of
    /// `retire` or `call`, in place of the worker: no hop to another thread, and the caches are warm. But
    /// then code of the program runs *inside* `retire` and `call`, under whatever locks and in whatever
    /// section the caller holds. One at a time, two a call at most. The worker still runs what is in a
    /// hurry, intrusive heads, what a quiet thread left, and everything in fenced mode. Off by default.
    pub inline_callbacks: bool,
    /// In the child of a fork, run the callbacks and destructors too that were queued before it: then each
    /// of them runs twice, once in either process. Off by default: the child frees what is plain memory, and
    /// forgets the rest. (The parent is not concerned.) Counts at the moment of the fork.
    pub inherit_callbacks: bool,
    /// Do nothing about forks. For programs whose children only execute another program: the child must
    /// then call nothing of this library. Off by default.
    pub ignore_forks: bool,
    /// Report a grace period whose readers have been in the way for this long; zero: none. Open: as it is,
    /// [`STALL_AFTER`](crate::report::STALL_AFTER) at first. Can be changed later: [`set_stall_after`](crate::report::set_stall_after).
    pub stall_after: Option<Duration>,
    /// Listen to the kernel about memory, as long as something is held that waits for its flush time: see the guide's
    /// chapter on [memory pressure](crate::guide::memory_pressure). Up to three descriptors more. On by default; off,
    /// [`memory_is_low`](crate::tuning::memory_is_low) still works.
    pub memory_pressure: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options::new()
    }
}

impl Options {
    /// The defaults.
    pub const fn new() -> Options {
        Options {
            fence: None,
            max_threads: None,
            budget_bytes: None,
            budget_callbacks: None,
            inline_callbacks: false,
            inherit_callbacks: false,
            ignore_forks: false,
            stall_after: None,
            memory_pressure: true,
        }
    }

    /// Demands a fence mode.
    #[must_use]
    pub const fn fence(mut self, mode: FenceMode) -> Options {
        self.fence = Some(mode);
        self
    }

    /// Has threads run their callbacks themselves; see [`inline_callbacks`](Options::inline_callbacks).
    #[must_use]
    pub const fn inline_callbacks(mut self, inline: bool) -> Options {
        self.inline_callbacks = inline;
        self
    }

    /// Has the child of a fork run what was queued before it; see
    /// [`inherit_callbacks`](Options::inherit_callbacks).
    #[must_use]
    pub const fn inherit_callbacks(mut self, inherit: bool) -> Options {
        self.inherit_callbacks = inherit;
        self
    }

    /// Leaves forks alone; see [`ignore_forks`](Options::ignore_forks).
    #[must_use]
    pub const fn ignore_forks(mut self, ignore: bool) -> Options {
        self.ignore_forks = ignore;
        self
    }

    /// Sets the time after which a stall is reported; see [`stall_after`](Options::stall_after).
    #[must_use]
    pub const fn stall_after(mut self, time: Duration) -> Options {
        self.stall_after = Some(time);
        self
    }

    /// Sets the budget; see [`set_budget`](crate::tuning::set_budget()).
    #[must_use]
    pub const fn budget(mut self, bytes: u64, callbacks: u64) -> Options {
        self.budget_bytes = Some(bytes);
        self.budget_callbacks = Some(callbacks);
        self
    }

    /// Listens to the kernel about memory, or does not; see [`memory_pressure`](Options::memory_pressure).
    #[must_use]
    pub const fn memory_pressure(mut self, listen: bool) -> Options {
        self.memory_pressure = listen;
        self
    }

    /// Limits the slots.
    #[must_use]
    pub const fn max_threads(mut self, threads: u32) -> Options {
        self.max_threads = Some(threads);
        self
    }

    /// Applies settings. Call it first in `main`, before any thread reads.
    ///
    /// # Errors
    /// The fence mode cannot change any more, or is not to be had; an impossible limit.
    ///
    /// ```
    /// use quiescent::{FenceMode, Options, statistics};
    ///
    /// Options::new().fence(FenceMode::Fenced).apply()?;
    /// assert_eq!(statistics().fence_mode, FenceMode::Fenced);
    /// # Ok::<(), quiescent::InitError>(())
    /// ```
    pub fn apply(self) -> Result<(), InitError> {
        let domain = prim::domain();
        if let Some(threads) = self.max_threads {
            domain.limit_threads(threads)?;
        }
        let budget = domain.lock().engine.budget();
        domain.set_budget(
            self.budget_bytes.unwrap_or(budget.bytes),
            self.budget_callbacks.unwrap_or(budget.count),
        );
        domain.set_inline(self.inline_callbacks);
        if let Some(time) = self.stall_after {
            crate::watch::stall::set_time(domain, time);
        }
        #[cfg(not(quiescent_model))]
        for alarm in [&domain.alarm, crate::inner::domain::yard::care::alarm()] {
            alarm.set_sources_wanted(self.memory_pressure);
        }
        #[cfg(not(quiescent_model))]
        domain
            .forking
            .set(self.ignore_forks, self.inherit_callbacks);
        match self.fence {
            Some(mode) => domain.force_mode(mode),
            None => {
                domain.resolve_mode();
                Ok(())
            }
        }
    }
}
