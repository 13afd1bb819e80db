//! Settings at start-up.

use quiescent_core::domain::settings::Runner;
#[cfg(feature = "fork")]
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::api::tuning::in_ns;
use crate::global;
use quiescent_core::domain::error::InitError;
use quiescent_core::reader::mode::FenceMode;

/// Settings at start-up. All have defaults: a program that needs no others never calls
/// [`apply`](Options::apply).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Requires a fence mode. Unset: `membarrier(2)` where available, else fenced readers. The environment
    /// variable `QUIESCENT_FENCE=fenced` (any case) selects fenced readers without a change of the program;
    /// other values are ignored. `statistics().fence_mode` shows the result.
    pub fence: Option<FenceMode>,
    /// Limits the threads with a slot of their own to about this many (rounded up to a multiple of 64, less
    /// two); further threads share two counters, which is slow. Unset: 65 534.
    pub max_threads: Option<u32>,
    /// The budget in bytes. Unset: 64 MiB. See [`set_budget`](crate::tuning::set_budget()).
    pub budget_bytes: Option<u64>,
    /// The budget in objects and callbacks. Unset: 2²⁰.
    pub budget_callbacks: Option<u64>,
    /// Who runs destructors. Unset: unchanged, at first [`Runner::Owner`]. See
    /// [`set_destructors`](crate::tuning::set_destructors).
    pub destructors: Option<Runner>,
    /// Who runs closures. Unset: unchanged, at first [`Runner::Worker`]. See
    /// [`set_closures`](crate::tuning::set_closures).
    pub closures: Option<Runner>,
    /// In the child of a fork, also runs the callbacks and destructors that were queued before it: each of
    /// them then runs twice, once in each process. Off by default: the child frees plain memory, and forgets
    /// the rest. (The parent runs its own in either case.) The setting at the moment of the fork counts.
    /// Without the feature `fork` it has no effect.
    pub inherit_callbacks: bool,
    /// Installs no fork handlers, for programs whose children only execute another program: the child must
    /// call nothing of this library. Off by default.
    pub ignore_forks: bool,
    /// Reports a grace period whose readers have blocked it for this long; zero: no reports. Unset:
    /// unchanged, at first [`STALL_AFTER`](crate::report::STALL_AFTER).
    /// [`set_stall_after`](crate::report::set_stall_after) changes it later.
    pub stall_after: Option<Duration>,
    /// Listens to the kernel's memory pressure while something is queued that waits for its flush time: see
    /// the guide's chapter on [memory pressure](crate::guide::memory_pressure). Needs up to three descriptors
    /// more. On by default; if off, or without the feature `pressure`,
    /// [`memory_is_low`](crate::tuning::memory_is_low) still works.
    pub memory_pressure: bool,
}

/// A method for each setting, which sets these fields.
macro_rules! setters {
    ($($(#[$meta:meta])* $name:ident($($value:ident: $type:ty),*): $($field:ident = $to:expr),*;)*) => {$(
        $(#[$meta])*
        #[must_use]
        pub const fn $name(mut self, $($value: $type),*) -> Options {
            $(self.$field = $to;)*
            self
        }
    )*};
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
            destructors: None,
            closures: None,
            inherit_callbacks: false,
            ignore_forks: false,
            stall_after: None,
            memory_pressure: true,
        }
    }

    setters! {
        /// Requires a fence mode.
        fence(mode: FenceMode): fence = Some(mode);

        /// Sets who runs destructors; see [`destructors`](Options::destructors).
        destructors(runner: Runner): destructors = Some(runner);

        /// Sets who runs closures; see [`closures`](Options::closures).
        closures(runner: Runner): closures = Some(runner);

        /// Lets the child of a fork run what was queued before it; see
        /// [`inherit_callbacks`](Options::inherit_callbacks).
        inherit_callbacks(inherit: bool): inherit_callbacks = inherit;

        /// Installs no fork handlers; see [`ignore_forks`](Options::ignore_forks).
        ignore_forks(ignore: bool): ignore_forks = ignore;

        /// Sets the time after which a stall is reported; see [`stall_after`](Options::stall_after).
        stall_after(time: Duration): stall_after = Some(time);

        /// Sets the budget; see [`set_budget`](crate::tuning::set_budget()).
        budget(bytes: u64, callbacks: u64): budget_bytes = Some(bytes), budget_callbacks = Some(callbacks);

        /// Turns the kernel's memory pressure on or off; see [`memory_pressure`](Options::memory_pressure).
        memory_pressure(listen: bool): memory_pressure = listen;

        /// Limits the number of slots.
        max_threads(threads: u32): max_threads = Some(threads);
    }

    /// Applies the settings. Call it first in `main`, before any thread reads.
    ///
    /// # Errors
    /// The fence mode cannot change any more or is not available, or a limit is impossible.
    ///
    /// ```
    /// use quiescent::{FenceMode, Options, statistics};
    ///
    /// Options::new().fence(FenceMode::Fenced).apply()?;
    /// assert_eq!(statistics().fence_mode, FenceMode::Fenced);
    /// # Ok::<(), quiescent::InitError>(())
    /// ```
    pub fn apply(self) -> Result<(), InitError> {
        let env = global::env();
        if let Some(threads) = self.max_threads {
            env.limit_threads(threads)?;
        }
        env.home.set(|it| {
            it.budget_bytes = self.budget_bytes.unwrap_or(it.budget_bytes);
            it.budget_count = self.budget_callbacks.unwrap_or(it.budget_count);
            if let Some(runner) = self.destructors {
                it.set_destructors(runner);
            }
            if let Some(runner) = self.closures {
                it.set_closures(runner);
            }
            it.stall_ns = self.stall_after.map_or(it.stall_ns, in_ns);
        });
        #[cfg(not(quiescent_model))]
        env.alarm.set_sources_wanted(self.memory_pressure);
        #[cfg(feature = "fork")]
        {
            global::fork::IGNORE.store(self.ignore_forks, Ordering::Relaxed);
            global::fork::INHERIT.store(self.inherit_callbacks, Ordering::Relaxed);
        }
        match self.fence {
            Some(mode) => env.force_mode(mode),
            None => {
                env.threads.mode.resolve();
                Ok(())
            }
        }
    }
}
