//! Settings of a domain. All of them can be changed at any time.

use quiescent_core::domain::settings::{DRAINED, WORKERS_RUN};
use std::time::Duration;

use super::RcuDomain;
use crate::api::kind::Kind;
use crate::api::tuning::{FlushTimes, in_ns};
use crate::watch::telemetry;

impl<Tag: 'static, K: Kind> RcuDomain<Tag, K> {
    /// Sets the name of this domain in reports ([`StallReport::domain`](crate::report::StallReport),
    /// [`Report::OverBudget`](crate::report::Report)) and in [`telemetry`](crate::telemetry), which counts
    /// domains with the same name together, and all domains without a name.
    ///
    /// ```
    /// static ROUTES: quiescent::Domain = quiescent::Domain::new();
    /// ROUTES.set_name("routes");
    /// ```
    pub fn set_name(&self, name: &'static str) {
        let place = telemetry::place_of(name);
        self.core()
            .set(|settings| (settings.name, settings.place) = (name, place));
    }

    /// Sets the budget of this domain: how many bytes and how many callbacks may be queued here. The default
    /// is the default of the process's domain. Near the budget, grace periods are expedited and retiring
    /// threads help to free; at it, [`try_retire`](crate::Retired::try_retire) returns the object, and
    /// `retire` causes a [`Report::OverBudget`](crate::report::Report). Takes effect at once; queued items
    /// stay queued.
    ///
    /// ```
    /// let domain = quiescent::Domain::new();
    /// domain.set_budget(1 << 20, u64::MAX);
    /// assert_eq!(domain.statistics().budget_bytes, 1 << 20);
    /// ```
    pub fn set_budget(&self, bytes: u64, callbacks: u64) {
        self.core().set(|settings| {
            (settings.budget_bytes, settings.budget_count) = (bytes, callbacks);
        });
    }

    /// Changes how long callbacks of this domain wait before a grace period is requested for them, as
    /// [`set_flush_times`](crate::tuning::set_flush_times) does for the process's domain. Applies to queued
    /// items too.
    ///
    /// ```
    /// use quiescent::{Domain, tuning::FlushTimes};
    /// use std::time::Duration;
    ///
    /// let domain = Domain::new();
    /// domain.set_flush_times(FlushTimes { lazy: Duration::from_secs(60), ..domain.flush_times() });
    /// assert_eq!(domain.flush_times().lazy, Duration::from_secs(60));
    /// ```
    pub fn set_flush_times(&self, times: FlushTimes) {
        times.set(self.core());
    }

    /// The current times.
    pub fn flush_times(&self) -> FlushTimes {
        FlushTimes::of(self.core())
    }

    /// Has the program itself run this domain's closures and destructors, when it calls
    /// [`drain_ready`](RcuDomain::drain_ready) or [`drain`](RcuDomain::drain).
    /// As [`set_drained`](crate::tuning::set_drained) for the process's domain: the worker still starts grace
    /// periods and frees plain memory, and calls [`on_ready`](crate::tuning::on_ready) when callbacks are
    /// ready. What is left when the domain is dropped is run by the process's worker.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let domain = quiescent::Domain::new();
    /// domain.set_drained(true);
    /// domain.defer(|| println!("on the event loop's thread"));
    /// domain.synchronize();
    /// assert_eq!(domain.drain(Duration::from_secs(60)).ran, 1);
    /// ```
    pub fn set_drained(&self, drained: bool) {
        self.core().set(|settings| settings.put(DRAINED, drained));
    }

    /// As [`set_destructors_on_worker`](crate::tuning::set_destructors_on_worker), for values retired in this
    /// domain.
    ///
    /// ```
    /// static CACHES: quiescent::Domain = quiescent::Domain::new();
    ///
    /// CACHES.set_destructors_on_worker(true);
    /// ```
    pub fn set_destructors_on_worker(&self, on_worker: bool) {
        self.core()
            .set(|settings| settings.put(WORKERS_RUN, on_worker));
    }

    /// Sets the time after which stalls of this domain are reported; zero: no reports. See
    /// [`report::set_stall_after`](crate::report::set_stall_after), which sets it for the process's domain,
    /// and [`on_report()`](crate::report::on_report()).
    pub fn set_stall_after(&self, time: Duration) {
        self.core().set(|settings| settings.stall_ns = in_ns(time));
    }
}
