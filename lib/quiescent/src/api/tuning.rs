//! What a running program may change: how long things wait for company, and who reclaims.

use std::time::Duration;

use crate::inner::defer::sweep::Until;
use crate::inner::domain::process::Process;
use crate::inner::prim::{self, Ordering};

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
/// Times are by `CLOCK_MONOTONIC`: setting the clock changes nothing, and while the system is suspended they stand
/// still, so that nothing is due on resume that was not before, and no suspend is ended by us.
///
/// ```
/// use quiescent::{FlushTimes, flush_times, set_flush_times};
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
    let defer = prim::domain().lock().engine.config().defer;
    FlushTimes {
        lazy: Duration::from_nanos(defer.lazy_ns),
        prompt: Duration::from_nanos(defer.prompt_ns),
    }
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
/// quiescent::set_offload(true);
/// # let cell = quiescent::RcuCell::new([0u8; 64]);
/// cell.store([1; 64]).retire(); // queues, and does nothing else
/// quiescent::set_offload(false);
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
///     quiescent::offload_thread(Some(true)); // this one has deadlines to meet
/// }).join().unwrap();
/// ```
pub fn offload_thread(offload: Option<bool>) {
    prim::domain().offload_thread(offload);
}

/// Who runs closures and destructors: the worker, as at first, or the program itself, whenever it calls
/// [`drain_ready`] (or [`drain`](crate::drain)). For event loops and frameworks whose callbacks must run on
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
/// quiescent::set_drained(true);
/// quiescent::on_ready(|| println!("wake the event loop")); // on the worker's thread
/// quiescent::call(|| println!("on the event loop's thread"));
/// quiescent::synchronize();
/// // … in the loop: at most 100 of them, for at most a millisecond
/// let drained = quiescent::drain_ready(100, Duration::from_millis(1));
/// assert_eq!(drained.ran, 1);
/// # quiescent::set_drained(false);
/// ```
pub fn set_drained(drained: bool) {
    prim::domain().set_drained(drained);
}

/// Has `notify` called when callbacks have become ready that the program runs itself ([`set_drained`]): on the
/// worker's thread, once a grace period that it waited for. It must not wait for grace periods or barriers; it may write to
/// an event descriptor, say. A panic in it is contained. The last one set is called.
pub fn on_ready(notify: fn()) {
    crate::report::set_ready(notify);
}

/// Runs and frees, in this thread, at most `most` callbacks and objects that are ready, and begins none after
/// `limit`. Never waits, and issues no process-wide fence: what is not ready is left. What threads free for
/// themselves is left to them. For event loops and real-time threads; [`drain`](crate::drain) waits until all is
/// gone.
///
/// Inside a callback it frees memory only.
pub fn drain_ready(most: u64, limit: Duration) -> crate::Drained {
    let domain = prim::domain();
    let ran = domain.run_some(most, Until::after(limit));
    crate::Drained {
        ran,
        left: domain.held().0,
    }
}

impl Process {
    /// Do owners run their callbacks themselves?
    pub(crate) fn runs_inline(&self) -> bool {
        self.inline.load(Ordering::Relaxed) != 0
    }

    /// Owners run their callbacks themselves from now on, or do not.
    pub(crate) fn set_inline(&self, inline: bool) {
        self.inline.store(u32::from(inline), Ordering::Relaxed);
    }

    /// Do others reclaim what owners retire?
    pub(crate) fn offloads(&self) -> bool {
        self.offload.load(Ordering::Relaxed) != 0
    }

    /// Others reclaim what owners retire from now on, or do not. Owners find out at their next push.
    pub(crate) fn set_offload(&'static self, offload: bool) {
        self.offload.store(u32::from(offload), Ordering::Relaxed);
        for queue in self.queues() {
            let _core = queue.lock();
            queue.ask_soon();
        }
    }

    /// Does the program run its code itself?
    pub(crate) fn is_drained(&self) -> bool {
        self.drained.load(Ordering::Relaxed) != 0
    }

    /// The program runs its code itself from now on, or does not.
    pub(crate) fn set_drained(&'static self, drained: bool) {
        self.drained.store(u32::from(drained), Ordering::Relaxed);
        self.lock().set_drained(drained);
        self.retime_all();
    }

    fn set_flush_times(&'static self, lazy_ns: u64, prompt_ns: u64) {
        self.lock().set_flush_times(lazy_ns, prompt_ns);
        self.retime_all();
    }

    /// What decides about deadlines has changed.
    pub(crate) fn retime_all(&'static self) {
        let mut earliest: Option<u64> = None;
        for queue in self.queues() {
            let mut core = queue.lock();
            let now = prim::now_ns();
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
