//! A grace period as a `Future`.
//!
//! Polling drives the grace period as far as it goes without waiting; usually that is all the way. If
//! a reader is in the way, a helper thread is started that waits for it and wakes the tasks. It ends
//! when no task waits: with nobody waiting there is no thread (rule R5).

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use crate::error::SyncError;
use crate::guard::in_section;
use crate::inner::defer::tasks::Tasks;
use crate::inner::domain::counters::{count, uncount};
use crate::inner::gp::driver::Drives as _;
use crate::inner::prim;
use crate::wait::{Cookie, start_poll, try_synchronize};
use crate::workers::pool;

/// The tasks that wait.
pub(crate) static TASKS: Tasks<Cookie> = Tasks::new();

/// Is there a helper that will look at the list?
static SERVED: AtomicBool = AtomicBool::new(false);

/// In the child of a fork: there is none. The next task that waits sees to it.
pub(crate) fn forked() {
    SERVED.store(false, Ordering::Relaxed);
}

/// Resolves after a full grace period. Made by [`grace_period`].
#[must_use = "futures do nothing unless awaited"]
pub struct GracePeriod {
    cookie: Cookie,
    /// The task's place among those that wait.
    place: u64,
}

/// A future that resolves once every section that is open now has ended.
///
/// The grace period counts from this call, not from the first poll. `Send`; it holds no guard, so it
/// may be kept across an `await` (a [`Guard`](crate::Guard) may not: it is not `Send`).
///
/// If the helper thread cannot be started, the task is woken at once and polls again: busy, but right.
/// A future that is dropped leaves nothing behind. (The helper ends with its grace period.)
///
/// # Panics
/// When polled inside a section of the same thread while the grace period is still to come (awaiting it
/// there would wait for itself), and if `membarrier(2)` is refused after start-up.
///
/// ```
/// # fn block_on<F: std::future::Future>(future: F) -> F::Output {
/// #     use std::task::{Context, Poll, Waker};
/// #     let mut future = std::pin::pin!(future);
/// #     loop {
/// #         match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
/// #             Poll::Ready(output) => return output,
/// #             Poll::Pending => std::thread::yield_now(),
/// #         }
/// #     }
/// # }
/// # block_on(async {
/// let cell = quiescent::RcuCell::new(1);
/// let old = cell.store(2);
/// quiescent::grace_period().await;
/// // Nobody reads `old` any more.
/// # drop(old);
/// # });
/// ```
pub fn grace_period() -> GracePeriod {
    GracePeriod {
        cookie: start_poll(),
        place: 0,
    }
}

impl Future for GracePeriod {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        match prim::domain().poll(self.cookie.0) {
            Ok(true) => return Poll::Ready(()),
            Ok(false) if in_section() => {
                panic!("GracePeriod: {}", SyncError::InsideSection)
            }
            Ok(false) => {}
            Err(error) => panic!("GracePeriod: {error}"),
        }
        let cookie = self.cookie;
        if !TASKS.put(&mut self.place, cookie, context.waker()) {
            context.waker().wake_by_ref(); // no room for it: busy, but right
        } else if begin_to_serve() && pool::spawn(c"quiescent-gp", serve).is_err() {
            // Others may have come meanwhile and rely on the helper: all of them poll again.
            SERVED.store(false, Ordering::Release);
            TASKS.choose(|_| true).wake_at_leisure();
        }
        Poll::Pending
    }
}

impl Drop for GracePeriod {
    fn drop(&mut self) {
        TASKS.remove(self.place);
    }
}

impl Clone for GracePeriod {
    fn clone(&self) -> GracePeriod {
        GracePeriod {
            cookie: self.cookie,
            place: 0,
        }
    }
}

impl fmt::Debug for GracePeriod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GracePeriod { cookie, .. } = self;
        f.debug_struct("GracePeriod")
            .field("cookie", cookie)
            .finish()
    }
}

/// Is the caller to be the helper, or to start one? False if there is one, which sees the tasks that are in the list by now.
fn begin_to_serve() -> bool {
    !SERVED.swap(true, Ordering::AcqRel)
}

/// The helper: waits for grace periods while anybody waits for them.
///
/// It is the helper no more while it wakes tasks: a waker is the program's code and may take its time, or wait for another grace period.
/// A task that comes meanwhile starts another one.
fn serve() {
    let domain = prim::domain();
    count(&domain.counters.helpers);
    loop {
        // A fence that is refused for good is no reason to keep tasks asleep: they poll again.
        let failed = try_synchronize().is_err();
        let done = |cookie: Cookie| failed || domain.is_done(cookie.0);
        let ready = TASKS.choose(done);
        SERVED.swap(false, Ordering::AcqRel); // who has found it set is seen in the list below
        ready.wake_at_leisure();
        if TASKS.is_empty() || !begin_to_serve() {
            break;
        }
    }
    uncount(&domain.counters.helpers);
}
