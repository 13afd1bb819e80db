//! What a [`Domain`] may have otherwise than the others. All of it can be changed at any time.

use std::time::Duration;

use super::Domain;
use crate::tuning::{FlushTimes, in_ns};
use crate::watch::telemetry;

impl<Tag: 'static> Domain<Tag> {
    /// Has reports call this domain so: [`StallReport::domain`](crate::StallReport), [`Report::OverBudget`](crate::Report); and
    /// [`telemetry`](crate::watch::telemetry), which counts domains of one name together, and all those without a name.
    ///
    /// ```
    /// static ROUTES: quiescent::Domain = quiescent::Domain::new();
    /// ROUTES.set_name("routes");
    /// ```
    pub fn set_name(&self, name: &'static str) {
        let place = telemetry::place_of(name);
        self.grounds()
            .set_policy(|policy| (policy.name, policy.place) = (name, place));
    }

    /// Sets the budget of this domain: how many bytes and how many callbacks may be queued here. At first as that of the process is at first. Near
    /// it grace periods hurry and threads that retire help freeing; at it, [`try_retire`](crate::DomainRetired::try_retire) gives the object
    /// back, and [`Report::OverBudget`](crate::Report) is told of `retire`. Works at once; what is queued stays queued.
    ///
    /// ```
    /// let domain = quiescent::Domain::new();
    /// domain.set_budget(1 << 20, u64::MAX);
    /// assert_eq!(domain.statistics().budget_bytes, 1 << 20);
    /// ```
    pub fn set_budget(&self, bytes: u64, callbacks: u64) {
        self.grounds().set_policy(|policy| {
            (policy.budget_bytes, policy.budget_count) = (bytes, callbacks);
        });
    }

    /// Changes how long callbacks of this domain wait for company before a grace period is asked for on their account, as
    /// [`set_flush_times`](crate::set_flush_times) does for the process's domain. Also for what is queued already.
    ///
    /// ```
    /// use quiescent::{Domain, FlushTimes};
    /// use std::time::Duration;
    ///
    /// let domain = Domain::new();
    /// domain.set_flush_times(FlushTimes { lazy: Duration::from_secs(60), ..domain.flush_times() });
    /// assert_eq!(domain.flush_times().lazy, Duration::from_secs(60));
    /// ```
    pub fn set_flush_times(&self, times: FlushTimes) {
        self.grounds().set_policy(|policy| {
            (policy.lazy_ns, policy.prompt_ns) = (in_ns(times.lazy), in_ns(times.prompt));
        });
    }

    /// The times that count now.
    pub fn flush_times(&self) -> FlushTimes {
        let policy = self.grounds().policy();
        FlushTimes {
            lazy: Duration::from_nanos(policy.lazy_ns),
            prompt: Duration::from_nanos(policy.prompt_ns),
        }
    }

    /// Who runs this domain's closures and destructors: the caretaker, as at first, or the program itself, whenever it calls
    /// [`drain_ready`](Domain::drain_ready) or [`drain`](Domain::drain). As [`set_drained`](crate::set_drained) for the process's domain:
    /// the caretaker still starts grace periods and frees plain memory, and calls [`on_ready`](crate::on_ready) when there is something to run. What is left
    /// when the domain is dropped is run by the process's worker.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let domain = quiescent::Domain::new();
    /// domain.set_drained(true);
    /// domain.call(|| println!("on the event loop's thread"));
    /// domain.synchronize();
    /// assert_eq!(domain.drain(Duration::from_secs(60)).ran, 1);
    /// ```
    pub fn set_drained(&self, drained: bool) {
        self.grounds().set_policy(|policy| policy.drained = drained);
    }

    /// Reports stalls of its grace periods after this time from now on; zero: not at all. See
    /// [`set_stall_after`](crate::set_stall_after), which is about the process's domain, and [`on_report()`](crate::on_report()).
    pub fn set_stall_after(&self, time: Duration) {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.grounds().set_policy(|policy| policy.stall_ns = ns);
    }
}
