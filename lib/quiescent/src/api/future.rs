//! A grace period as a `Future`.
//!
//! Polling drives the grace period as far as it goes without waiting; usually that is all the way. If
//! a reader is in the way, a helper thread is started that waits for it and wakes the tasks. It ends
//! when no task waits: with nobody waiting there is no thread (rule R5).

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::PoisonError;
use std::task::{Context, Poll, Waker};

use crate::error::SyncError;
use crate::guard::in_section;
use crate::inner::domain::counters::{count, uncount};
use crate::inner::gp::driver::Drives as _;
use crate::inner::prim::{self, Mutex, MutexGuard};
use crate::wait::{Cookie, start_poll, try_synchronize};
use crate::workers::pool;

/// Tasks that wait, and whether a helper serves them. No memory is allocated or freed under the lock, and
/// nothing of the program's is called: a fork takes it.
pub(crate) struct Waiting {
    tasks: Vec<(Cookie, Waker)>,
    served: bool,
}

impl Waiting {
    /// In the child of a fork: nobody serves them. The next task that waits sees to it.
    pub(crate) fn forked(&mut self) {
        self.served = false;
    }
}

static WAITING: Mutex<Waiting> = Mutex::new(Waiting {
    tasks: Vec::new(),
    served: false,
});

pub(crate) fn waiting() -> MutexGuard<'static, Waiting> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Resolves after a full grace period. Made by [`grace_period`].
#[derive(Debug, Clone)]
#[must_use = "futures do nothing unless awaited"]
pub struct GracePeriod {
    cookie: Cookie,
}

/// A future that resolves once every section that is open now has ended.
///
/// The grace period counts from this call, not from the first poll. `Send`; it holds no guard, so it
/// may be kept across an `await` (a [`Guard`](crate::Guard) may not: it is not `Send`).
///
/// If the helper thread cannot be started, the task is woken at once and polls again: busy, but right.
/// The helper learns that a future was dropped only when its grace period ends.
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
    }
}

impl Future for GracePeriod {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        match prim::domain().poll(self.cookie.0) {
            Ok(true) => return Poll::Ready(()),
            Ok(false) if in_section() => {
                panic!("GracePeriod: {}", SyncError::InsideSection)
            }
            Ok(false) => {}
            Err(error) => panic!("GracePeriod: {error}"),
        }
        let Some(is_served) = enlist(self.cookie, context.waker()) else {
            context.waker().wake_by_ref(); // no room for it: busy, but right
            return Poll::Pending;
        };
        if !is_served && pool::spawn(c"quiescent-gp", serve).is_err() {
            // Others may have come meanwhile and rely on the helper: all of them poll again.
            wake_all(stop_serving());
        }
        Poll::Pending
    }
}

/// Puts a task into the list, once. True if a helper serves it; false if the caller has to start one; none if
/// there is no memory for its place.
fn enlist(cookie: Cookie, waker: &Waker) -> Option<bool> {
    let mut task = Some((cookie, waker.clone()));
    let mut room = Vec::new();
    loop {
        let mut list = waiting();
        let known =
            |(known, waiting): &(Cookie, Waker)| *known == cookie && waiting.will_wake(waker);
        let is_new = !list.tasks.iter().any(known);
        let count = list.tasks.len();
        if is_new && count == list.tasks.capacity() {
            if room.capacity() <= count {
                drop(list);
                room.try_reserve_exact(2 * count + 4).ok()?;
                continue;
            }
            room.append(&mut list.tasks);
            std::mem::swap(&mut room, &mut list.tasks);
        }
        if is_new {
            list.tasks.extend(task.take());
        }
        return Some(std::mem::replace(&mut list.served, true));
    }
}

/// No helper serves any more; takes the tasks that are left.
fn stop_serving() -> Vec<(Cookie, Waker)> {
    let mut list = waiting();
    list.served = false;
    std::mem::take(&mut list.tasks)
}

/// Wakes tasks. A waker is the program's code: one that panics must not keep the others asleep.
fn wake_all(tasks: Vec<(Cookie, Waker)>) {
    for (_, waker) in tasks {
        let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
    }
}

/// The helper: waits for grace periods while anybody waits for them.
fn serve() {
    let helpers = &prim::domain().counters.helpers;
    count(helpers);
    while let Some(ready) = next_ready() {
        wake_all(ready);
    }
    uncount(helpers);
}

/// Waits for a grace period; the tasks it satisfies. `None`: nobody waits, and the helper ends.
fn next_ready() -> Option<Vec<(Cookie, Waker)>> {
    let mut ready = {
        let mut list = waiting();
        if list.tasks.is_empty() {
            list.served = false;
            return None;
        }
        let count = list.tasks.len();
        drop(list);
        let mut ready = Vec::new();
        if ready.try_reserve_exact(count).is_err() {
            return Some(std::mem::take(&mut waiting().tasks)); // all of them poll again
        }
        ready
    };
    // A fence that is refused for good is no reason to keep tasks asleep: they poll again.
    let failed = try_synchronize().is_err();
    let done = |(cookie, _): &mut (Cookie, Waker)| failed || prim::domain().is_done(cookie.0);
    // As many as there is room for; who came meanwhile is not done yet, or has its turn next.
    let room = ready.capacity();
    ready.extend(waiting().tasks.extract_if(.., done).take(room));
    Some(ready)
}
