//! What a running program may change: how long things wait for company, and who reclaims.

use std::time::Duration;

use quiescent_engine::credit::Defer;

use super::backend::{Backend as _, OfProcess, Until};
use super::defer::Drained;
use crate::inner::domain::process::Core;
use crate::inner::prim;

pub use crate::watch::pressure::memory_is_low;

/// The longest that something retired lazily waits before a grace period is asked for on its account,
/// but for rounding up to the next whole second. By `CLOCK_MONOTONIC`, which stands still while the system is
/// suspended; so do all times of this library ([`set_flush_times`]).
pub const FLUSH: Duration = Duration::from_nanos(Defer::threads().lazy_ns);

/// The longest that a [`defer`](crate::defer()) waits before a grace period is asked for on its account.
pub const PROMPT: Duration = Duration::from_nanos(Defer::threads().prompt_ns);

/// No wait is longer than this: a hundred years, which no sum of times overflows.
const LONGEST_NS: u64 = 100 * 365 * 86_400 * 1_000_000_000;

/// How long callbacks wait for company, at most; see [`set_flush_times`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlushTimes {
    /// What is retired, and [`defer_lazy`](crate::defer_lazy): [`FLUSH`] at first. From one second on, the time of a
    /// flush is rounded up to a whole second of the monotonic clock, so that many processes' flushes coincide.
    pub lazy: Duration,
    /// [`defer`](crate::defer()): [`PROMPT`] at first.
    pub prompt: Duration,
}

/// Changes how long callbacks wait for company before a grace period is asked for on their account. Also for
/// what is queued already: it goes earlier, or later (but a prompt callback's time never moves back).
///
/// Shorter times free memory sooner and wake the processor more often: a program that retires a little all
/// the time causes one wake-up per `lazy`, one that calls a little all the time one per `prompt`. Zero means: at once.
/// `docs/laziness.md` has the measured trade-off. O(threads), with each queue's lock in turn.
///
/// Times are by `CLOCK_MONOTONIC`: setting the clock changes nothing, and while the system is suspended they stand
/// still, so that nothing is due on resume that was not before, and no suspend is ended by us.
///
/// ```
/// use quiescent::tuning::{FlushTimes, flush_times, set_flush_times};
/// use std::time::Duration;
///
/// set_flush_times(FlushTimes { lazy: Duration::from_secs(2), ..flush_times() });
/// assert_eq!(flush_times().lazy, Duration::from_secs(2));
/// ```
pub fn set_flush_times(times: FlushTimes) {
    prim::domain().set_flush_times(in_ns(times.lazy), in_ns(times.prompt));
}

/// In nanoseconds, no longer than the longest.
pub(crate) fn in_ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).map_or(LONGEST_NS, |ns| ns.min(LONGEST_NS))
}

/// The times that count now.
pub fn flush_times() -> FlushTimes {
    FlushTimes::of(&prim::domain().lock())
}

impl FlushTimes {
    pub(crate) fn of(core: &Core) -> FlushTimes {
        let defer = core.engine.config().defer;
        FlushTimes {
            lazy: Duration::from_nanos(defer.lazy_ns),
            prompt: Duration::from_nanos(defer.prompt_ns),
        }
    }
}

/// Sets the budget: how many bytes and how many callbacks may be queued. Bytes are what objects take while they
/// are queued, with the allocator's share and the queue's ([`Statistics::queued_bytes`](crate::stats::Statistics)). `u64::MAX` is no limit. The
/// default is 64 MiB and 2²⁰ callbacks; [`Options::budget`](crate::Options::budget) sets it at the start.
///
/// Works at any time, and at once; what is queued stays queued.
///
/// ```
/// quiescent::tuning::set_budget(16 << 20, u64::MAX);
/// assert_eq!(quiescent::statistics().budget_bytes, 16 << 20);
/// ```
pub fn set_budget(bytes: u64, callbacks: u64) {
    prim::domain().set_budget(bytes, callbacks);
}

/// Moves reclaiming off the threads that retire, or back to them; at any time, for the whole process.
///
/// On: `retire` only queues. The worker starts grace periods, issues their fences, and frees: once a batch
/// (2048 objects or 192 KiB of a thread), and at the flush time. Off, as at first: threads that retire do it for
/// themselves in passing, which is cheaper (no hop to another thread, warm caches) but not even: once a batch
/// a call takes some microseconds more. Nothing queued is lost, and the order in which one thread's objects
/// are freed stays. Closures and destructors are the worker's in either case (but see
/// [`Options::inline_callbacks`](crate::Options)).
///
/// ```
/// quiescent::tuning::set_offload(true);
/// # let cell = quiescent::RcuCell::new([0u8; 64]);
/// cell.store([1; 64]).retire(); // queues, and does nothing else
/// quiescent::tuning::set_offload(false);
/// ```
pub fn set_offload(offload: bool) {
    prim::domain().set_offload(offload);
}

/// As [`set_offload`], for what the calling thread retires: `Some` whatever the process does, `None` as the process
/// does, as at first. Forgotten when the thread ends. A thread that gets no queue of its own (fenced readers, no
/// memory) is as the process is.
///
/// ```
/// std::thread::spawn(|| {
///     quiescent::tuning::offload_thread(Some(true)); // this one has deadlines to meet
/// }).join().unwrap();
/// ```
pub fn offload_thread(offload: Option<bool>) {
    prim::domain().offload_thread(offload);
}

/// Who runs closures and destructors: the worker, as at first, or the program itself, whenever it calls
/// [`drain_ready`] (or [`drain`](crate::drain())). For event loops and frameworks whose callbacks must run on
/// *their* threads; at any time, for the whole process.
///
/// While it is on, the worker still starts grace periods, at the same times, and frees plain memory; what has
/// become ready then is told to [`on_ready`]. Nobody runs it but the program: it stays queued if the program does
/// not drain, and a [`barrier`](crate::barrier()) waits for that. When it is switched off the worker goes on with what
/// is there.
///
/// ```
/// use std::time::Duration;
///
/// quiescent::tuning::set_drained(true);
/// quiescent::tuning::on_ready(|| println!("wake the event loop")); // on the worker's thread
/// quiescent::defer(|| println!("on the event loop's thread"));
/// quiescent::synchronize();
/// // … in the loop: at most 100 of them, for at most a millisecond
/// let drained = quiescent::tuning::drain_ready(100, Duration::from_millis(1));
/// assert_eq!(drained.ran, 1);
/// # quiescent::tuning::set_drained(false);
/// ```
pub fn set_drained(drained: bool) {
    prim::domain().set_drained(drained);
}

/// Has `notify` called when callbacks have become ready that the program runs itself ([`set_drained`]): on the
/// worker's thread, once a grace period that it waited for. It must not wait for grace periods or barriers; it may write to
/// an event descriptor, say. A panic in it is contained. The last one set is called.
pub fn on_ready(notify: fn()) {
    super::report::set_ready(notify);
}

/// Runs and frees, in this thread, at most `most` callbacks and objects that are ready, and begins none after
/// `limit`. Never waits, and issues no process-wide fence: what is not ready is left. What threads free for
/// themselves is left to them. For event loops and real-time threads; [`drain`](crate::drain()) waits until all is
/// gone.
///
/// Inside a callback it frees memory only.
pub fn drain_ready(most: u64, limit: Duration) -> Drained {
    let ran = OfProcess.drain_ready(most, Until::after(limit));
    Drained::of(ran, OfProcess)
}
