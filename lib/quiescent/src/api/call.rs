//! Running code after a grace period: the public calls.

use std::ptr::NonNull;
use std::time::Duration;

use quiescent_engine::credit::Urgency;

use crate::error::SyncError;
use crate::inner::defer::barrier::Barriers as _;
use crate::inner::defer::enqueue::{self, Parcel, Terms};
use crate::inner::defer::sweep::Until;
use crate::inner::prim;
use crate::inner::queue::intrusive::Head;
use crate::inner::queue::kind;
use crate::inner::queue::lane::Entry;
use crate::inner::queue::per_thread::CODE;
use crate::inner::queue::weight;

/// Runs `f` after a grace period, on the worker (or in [`drain`]). Never waits, never fails.
///
/// Prompt: a grace period is asked for after [`PROMPT`](crate::PROMPT) at the latest, or when enough is
/// queued to be worth one, so that a trickle of calls wakes the worker 20 times a second at most. A
/// closure of up to one word is queued as it is, a larger one in a box. Near the [budget](crate::set_budget())
/// it may give the processor up, once, to those who run what is queued; beyond it, it goes on, and the program is told
/// ([`Report::OverBudget`](crate::Report)). No order is promised. A panic in
/// `f` is contained and counted ([`Statistics::callback_panics`](crate::Statistics)); so is the end of the
/// worker's thread, by `pthread_exit`. Inside `f` nothing may wait for a grace period or a barrier. Not for
/// signal handlers.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// static DONE: AtomicBool = AtomicBool::new(false);
/// quiescent::call(|| DONE.store(true, Ordering::Release));
/// quiescent::barrier();
/// assert!(DONE.load(Ordering::Acquire));
/// ```
pub fn call<F: FnOnce() + Send + 'static>(f: F) {
    let (object, what) = kind::called(f, Urgency::Prompt);
    enqueue::code(
        Entry { object, what },
        weight::closure::<F>(),
        Urgency::Prompt,
    );
}

/// As [`call`], but at once: the worker is woken now. What this thread has queued before goes along.
pub fn call_hurry<F: FnOnce() + Send + 'static>(f: F) {
    let (object, what) = kind::called(f, Urgency::Hurry);
    let parcel = Parcel::Entry(CODE, Entry { object, what }, weight::closure::<F>());
    prim::domain().deliver(parcel, Terms::of(Urgency::Hurry));
}

/// As [`call`], and it may wait for company as what is retired does, [`FLUSH`](crate::FLUSH) and a little at most:
/// it wakes nobody on its own account.
///
/// For code that only gives something back: memory of another allocator, a descriptor, a count. **Never for
/// a callback that somebody waits for**: he would wait ten seconds.
///
/// ```
/// let file = std::fs::File::open("/proc/self/comm").unwrap();
/// quiescent::call_lazy(move || drop(file)); // closed some time after all who may be using it are done
/// ```
pub fn call_lazy<F: FnOnce() + Send + 'static>(f: F) {
    let (object, what) = kind::called(f, Urgency::Lazy);
    enqueue::code(
        Entry { object, what },
        weight::closure::<F>(),
        Urgency::Lazy,
    );
}

/// Runs `run(head)` after a grace period, as [`call`] does. Never allocates once the thread has queued
/// something before, and never fails: the link is inside the object.
///
/// # Safety
/// The head stays where it is, unused by anybody else, until `run` is called with it, on any thread;
/// what `run` does is sound then.
///
/// ```
/// use quiescent::Head;
/// use std::ptr::NonNull;
///
/// #[repr(C)]
/// struct Node { head: Head, value: u32 }
///
/// unsafe fn free(head: NonNull<Head>) {
///     // The head is the first field: its address is the node's.
///     drop(unsafe { Box::from_raw(head.as_ptr().cast::<Node>()) });
/// }
///
/// let node = Box::into_raw(Box::new(Node { head: Head::new(), value: 7 }));
/// // … unlinked; `node` is a valid box, and its head is its first field:
/// unsafe { quiescent::call_head(NonNull::new_unchecked(node.cast()), free) };
/// quiescent::barrier();
/// ```
pub unsafe fn call_head(head: NonNull<Head>, run: unsafe fn(NonNull<Head>)) {
    prim::domain().deliver(Parcel::Head(head, run), Terms::of(Urgency::Prompt));
}

/// As [`call_head`], but at once: see [`call_hurry`].
///
/// # Safety
/// As [`call_head`].
pub unsafe fn call_head_hurry(head: NonNull<Head>, run: unsafe fn(NonNull<Head>)) {
    prim::domain().deliver(Parcel::Head(head, run), Terms::of(Urgency::Hurry));
}

/// As [`call_head`], and it may wait for company: see [`call_lazy`].
///
/// # Safety
/// As [`call_head`].
pub unsafe fn call_head_lazy(head: NonNull<Head>, run: unsafe fn(NonNull<Head>)) {
    prim::domain().deliver(Parcel::Head(head, run), Terms::of(Urgency::Lazy));
}

/// Waits until everything that was queued before this call, by any thread, has been freed or run.
///
/// The worker does the running: a callback that takes a lock must not find it held by the caller of
/// `barrier`.
///
/// # Panics
/// Inside a section or a callback, and if `membarrier(2)` is refused after start-up.
pub fn barrier() {
    if let Err(error) = try_barrier() {
        panic!("barrier: {error}");
    }
}

/// As [`barrier`], returning the reason why it cannot.
///
/// # Errors
/// Inside a section or a callback; the fence was refused; the worker cannot be started.
pub fn try_barrier() -> Result<(), SyncError> {
    prim::domain().barrier()
}

/// What [`drain`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Drained {
    /// Callbacks run and objects freed by this call.
    pub ran: u64,
    /// Callbacks and objects still queued, or being run by others.
    pub left: u64,
}

/// Frees and runs, in this thread, whatever is queued anywhere, for at most `limit` (and the time that
/// the callback takes that is running then). Later use of everything still works.
///
/// Waits for grace periods, but not inside a section or a callback: there it runs only what is ready.
///
/// ```
/// quiescent::call(|| println!("goodbye"));
/// let drained = quiescent::drain(std::time::Duration::from_secs(1));
/// assert_eq!(drained.left, 0);
/// ```
pub fn drain(limit: Duration) -> Drained {
    let domain = prim::domain();
    let ran = domain.drain(Until::after(limit));
    Drained {
        ran,
        left: domain.held().0,
    }
}
