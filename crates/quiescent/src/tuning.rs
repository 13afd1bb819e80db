//! What a running program may change: how long things wait for company, and who reclaims.

use std::time::Duration;

use crate::domain::Domain;
use crate::sync;

/// No wait is longer than this: a hundred years, which no sum of times overflows.
const LONGEST_NS: u64 = 100 * 365 * 86_400 * 1_000_000_000;

/// How long callbacks wait for company, at most; see [`set_flush_times`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlushTimes {
    /// What is retired, and [`call_lazy`](crate::call_lazy): [`FLUSH`](crate::FLUSH) at first. From one second on, the time of a
    /// flush is rounded up to a whole second of the monotonic clock, so that many processes' flushes coincide.
    pub lazy: Duration,
    /// [`call`](crate::call()): [`PROMPT`](crate::PROMPT) at first.
    pub prompt: Duration,
}

/// Changes how long callbacks wait for company before a grace period is asked for on their account. Also for
/// what is queued already: it goes earlier, or later (but a prompt callback's time never moves back).
///
/// Shorter times free memory sooner and wake the processor more often: a program that retires a little all
/// the time causes one wake-up per `lazy`, one that calls a little all the time one per `prompt`. Zero means: at once.
/// `docs/laziness.md` has the measured trade-off. O(threads), with each queue's lock in turn.
///
/// ```
/// use quiescent::{FlushTimes, flush_times, set_flush_times};
/// use std::time::Duration;
///
/// set_flush_times(FlushTimes { lazy: Duration::from_secs(2), ..flush_times() });
/// assert_eq!(flush_times().lazy, Duration::from_secs(2));
/// ```
pub fn set_flush_times(times: FlushTimes) {
    let ns =
        |time: Duration| u64::try_from(time.as_nanos()).map_or(LONGEST_NS, |ns| ns.min(LONGEST_NS));
    sync::domain().set_flush_times(ns(times.lazy), ns(times.prompt));
}

/// The times that count now.
pub fn flush_times() -> FlushTimes {
    let defer = sync::domain().lock().engine.config().defer;
    FlushTimes {
        lazy: Duration::from_nanos(defer.lazy_ns),
        prompt: Duration::from_nanos(defer.prompt_ns),
    }
}

/// Moves reclaiming off the threads that retire, or back to them; at any time, for the whole process.
///
/// On: `retire` only queues. The worker starts grace periods, issues their fences, and frees: once a batch
/// (2048 objects or 128 KiB of a thread), and at the flush time. Off, as at first: threads that retire do it for
/// themselves in passing, which is cheaper (no hop to another thread, warm caches) but not even: once a batch
/// a call takes some microseconds more. Nothing queued is lost, and the order in which one thread's objects
/// are freed stays. Closures and destructors are the worker's in either case (but see
/// [`Options::inline_callbacks`](crate::Options)).
///
/// ```
/// quiescent::set_offload(true);
/// # let cell = quiescent::RcuCell::new([0u8; 64]);
/// cell.store([1; 64]).retire(); // queues, and does nothing else
/// quiescent::set_offload(false);
/// ```
pub fn set_offload(offload: bool) {
    sync::domain().set_offload(offload);
}

/// As [`set_offload`], for what the calling thread retires: `Some` whatever the process does, `None` as the process
/// does, as at first. Forgotten when the thread ends. A thread that gets no queue of its own (fenced readers, no
/// memory) is as the process is.
///
/// ```
/// std::thread::spawn(|| {
///     quiescent::offload_thread(Some(true)); // this one has deadlines to meet
/// }).join().unwrap();
/// ```
pub fn offload_thread(offload: Option<bool>) {
    sync::domain().offload_thread(offload);
}

impl Domain {
    fn set_flush_times(&'static self, lazy_ns: u64, prompt_ns: u64) {
        self.lock().set_flush_times(lazy_ns, prompt_ns);
        let mut earliest: Option<u64> = None;
        for queue in self.queues() {
            let mut core = queue.lock();
            let now = sync::now_ns();
            let arm = self.lock().retime(&mut core.cpu, now);
            earliest = arm.or(earliest); // each is earlier than those before
        }
        if let Some(deadline) = earliest {
            self.arm_alarm(deadline);
        }
    }

    fn offload_thread(&'static self, offload: Option<bool>) {
        let own = self
            .own_slot_or_register()
            .and_then(|slot| slot.queue_or_new());
        if let Some(queue) = own {
            let mut core = queue.lock();
            core.offload = offload;
            queue.ask_soon(); // its next push finds out
        }
    }
}
