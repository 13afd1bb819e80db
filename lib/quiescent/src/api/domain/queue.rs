//! Queueing for a domain's grace periods.

use std::time::Duration;

use quiescent_engine::credit::Urgency;

use super::RcuDomain;
use crate::api::defer::Drained;
use crate::api::future::BarrierFuture;
use crate::api::kind::Kind;
use crate::api::queueing;
use quiescent_core::domain::error::SyncError;
use quiescent_core::domain::points::Wait;
use quiescent_core::domain::sweep::Until;

impl<Tag: 'static, K: Kind> RcuDomain<Tag, K> {
    /// Runs `f` after a grace period of this domain, on the worker (or where the program drains). Never
    /// waits, never fails. Prompt: see [`defer`](crate::defer()).
    ///
    /// ```
    /// use quiescent::Domain;
    ///
    /// let domain = Domain::new();
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// domain.defer(move || sender.send("all readers of before are gone").unwrap());
    /// domain.barrier();
    /// receiver.recv().unwrap();
    /// ```
    #[doc(alias = "call_srcu")]
    pub fn defer<F: FnOnce() + Send + 'static>(&self, f: F) {
        queueing::defer(self, f, Urgency::Prompt);
    }

    /// As [`defer`](RcuDomain::defer), but lazy: see [`defer_lazy`](crate::defer_lazy).
    pub fn defer_lazy<F: FnOnce() + Send + 'static>(&self, f: F) {
        queueing::defer(self, f, Urgency::Lazy);
    }

    /// As [`defer`](RcuDomain::defer), but at once, with what was queued before.
    pub fn defer_hurry<F: FnOnce() + Send + 'static>(&self, f: F) {
        queueing::defer(self, f, Urgency::Hurry);
    }

    /// Waits until everything queued here before this call, by any thread, has been freed or run. The worker
    /// does that (or the program, in a [drained](RcuDomain::set_drained) domain).
    ///
    /// # Panics
    /// Where [`try_barrier`](RcuDomain::try_barrier) returns an error.
    #[track_caller]
    pub fn barrier(&self) {
        if let Err(error) = self.try_barrier() {
            panic!("barrier: {error}");
        }
    }

    /// As [`barrier`](RcuDomain::barrier), but returns an error instead of panicking.
    ///
    /// # Errors
    /// Inside a section of this domain or of the process's, or inside a callback; the fence was refused; the
    /// worker cannot be started.
    pub fn try_barrier(&self) -> Result<(), SyncError> {
        self.core().barrier()
    }

    /// A future that resolves once everything that was queued here before this call, by any thread, has been
    /// freed or run.
    ///
    /// As [`barrier`](RcuDomain::barrier), for tasks; otherwise as [`barrier_async`](crate::barrier_async()).
    /// The worker runs what is queued, and wakes the task.
    ///
    /// # Panics
    /// As [`BarrierFuture`].
    pub fn barrier_async(&self) -> BarrierFuture<RcuDomain<Tag, K>> {
        BarrierFuture::of(Wait::for_barrier(self.core()))
    }

    /// As [`barrier_async`](RcuDomain::barrier_async), but returns an error instead of panicking.
    pub fn try_barrier_async(
        &self,
    ) -> impl Future<Output = Result<(), SyncError>> + Send + Sync + Unpin + 'static {
        Wait::for_barrier(self.core())
    }

    /// Frees and runs, in this thread, what is queued here, for at most `limit` (plus the time of the
    /// callback that is running then). Waits for readers, except inside a callback or a section.
    ///
    /// ```
    /// use std::time::Duration;
    /// use quiescent::{Domain, RcuCell};
    ///
    /// let domain = Domain::new();
    /// let cell = RcuCell::new_in(String::from("old"), &domain);
    /// cell.store(String::from("new"));
    /// let drained = domain.drain(Duration::from_secs(60));
    /// assert_eq!((drained.ran, drained.left), (1, 0));
    /// ```
    pub fn drain(&self, limit: Duration) -> Drained {
        let domain = self.core();
        Drained::of(domain.state().drain(Until::after(limit)), domain)
    }

    /// Runs and frees, in this thread, at most `most` callbacks and objects that are ready, and starts none
    /// after `limit`. Never waits, issues no fence, and leaves what is not ready. For event loops: see
    /// [`set_drained`](RcuDomain::set_drained).
    ///
    /// Inside a callback it only frees memory.
    pub fn drain_ready(&self, most: u64, limit: Duration) -> Drained {
        let domain = self.core();
        Drained::of(domain.state().run_some(most, Until::after(limit)), domain)
    }
}
