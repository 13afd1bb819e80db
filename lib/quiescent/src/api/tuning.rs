//! Settings that a running program can change: flush times, budget, and which threads reclaim.

use quiescent_core::domain::settings::Runner;
use std::time::Duration;

use quiescent_engine::credit::Defer;

use super::home::Drained;
use crate::global::{env, home};
use quiescent_core::domain::life::Domain;
use quiescent_core::domain::state::State;
use quiescent_core::domain::sweep::Until;
use quiescent_core::prim::counters::count;

/// The longest time that lazily retired objects wait before a grace period is requested for them, apart from
/// rounding up to the next whole second. Measured with `CLOCK_MONOTONIC`, which stops while the system is
/// suspended, as all times of this library are ([`set_flush_times`]).
pub const FLUSH: Duration = Duration::from_nanos(Defer::threads().lazy_ns);

/// The longest time that a [`defer`](crate::defer()) waits before a grace period is requested for it.
pub const PROMPT: Duration = Duration::from_nanos(Defer::threads().prompt_ns);

/// The bytes that a value with a destructor counts as owning, besides its own size, unless the program says
/// what it owns ([`Retired::with_owned_bytes`](crate::Retired::with_owned_bytes), [`Weigh`](crate::Weigh)).
pub const UNWEIGHED: usize = quiescent_engine::owner::UNWEIGHED;

/// The longest wait: a hundred years, which no sum of times overflows.
const LONGEST_NS: u64 = 100 * 365 * 86_400 * 1_000_000_000;

/// The longest times that callbacks wait for a shared grace period; see [`set_flush_times`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlushTimes {
    /// For retired objects and [`defer_lazy`](crate::defer_lazy): [`FLUSH`] at first. Flush times of one
    /// second or more are rounded up to a whole second of the monotonic clock, so that the flushes of many
    /// processes coincide.
    pub lazy: Duration,
    /// For [`defer`](crate::defer()): [`PROMPT`] at first.
    pub prompt: Duration,
}

/// Changes how long callbacks wait before a grace period is requested for them. Applies to queued items too:
/// their time moves earlier or later (but the time of a prompt callback never moves later).
///
/// Shorter times free memory sooner and wake the processor more often: a program that retires steadily causes
/// one wake-up per `lazy`, one that calls `defer` steadily one per `prompt`. Zero means at once.
/// `docs/laziness.md` shows the measured trade-off. O(threads), taking each queue's lock in turn.
///
/// Times are measured with `CLOCK_MONOTONIC`: setting the clock changes nothing. While the system is
/// suspended the clock stops, so that a resume makes nothing due, and the library never ends a suspend.
///
/// ```
/// use quiescent::tuning::{FlushTimes, flush_times, set_flush_times};
/// use std::time::Duration;
///
/// set_flush_times(FlushTimes { lazy: Duration::from_secs(2), ..flush_times() });
/// assert_eq!(flush_times().lazy, Duration::from_secs(2));
/// ```
pub fn set_flush_times(times: FlushTimes) {
    times.set(&env().home);
}

/// The time in nanoseconds, at most `LONGEST_NS`.
pub(crate) fn in_ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).map_or(LONGEST_NS, |ns| ns.min(LONGEST_NS))
}

/// The current times.
pub fn flush_times() -> FlushTimes {
    FlushTimes::of(&env().home)
}

impl FlushTimes {
    pub(crate) fn of(domain: &Domain) -> FlushTimes {
        let settings = domain.settings();
        FlushTimes {
            lazy: Duration::from_nanos(settings.lazy_ns),
            prompt: Duration::from_nanos(settings.prompt_ns),
        }
    }

    pub(crate) fn set(self, domain: &'static Domain) {
        domain.set(|it| (it.lazy_ns, it.prompt_ns) = (in_ns(self.lazy), in_ns(self.prompt)));
    }
}

/// Sets the budget: how many bytes and how many callbacks may be queued. The bytes of an object include the
/// overhead of the allocator and of the queue
/// ([`Statistics::queued_bytes`](crate::stats::Statistics)), and what the object owns, as far as that
/// is declared ([weights](crate::RcuCell#weight)).
/// `u64::MAX` is no limit. The default is 64 MiB and 2²⁰ callbacks;
/// [`Options::budget`](crate::Options::budget) sets it at start-up.
///
/// Takes effect at once, at any time; queued items stay queued.
///
/// Beyond the budget `retire` and `defer` still queue. Outside of sections such a call yields the processor
/// each time it takes the queue lock (once in 16 objects or 8 KiB), because what is held can only shrink when
/// readers leave their sections. Measured behind a reader that does not leave: 5 µs a call on average.
///
/// ```
/// quiescent::tuning::set_budget(16 << 20, u64::MAX);
/// assert_eq!(quiescent::statistics().budget_bytes, 16 << 20);
/// ```
pub fn set_budget(bytes: u64, callbacks: u64) {
    (env().home).set(|it| (it.budget_bytes, it.budget_count) = (bytes, callbacks));
}

/// Has the worker reclaim everything, as if every value were retired
/// [`on_worker`](crate::Retired::on_worker), or has threads do it again; at any time, for the whole process.
///
/// On: `retire` only queues. The worker starts grace periods, issues their fences, and frees: once a batch
/// (2048 objects or 192 KiB of plain memory of a thread), and at the flush time. Off (the default): threads
/// that retire do this themselves during later calls. That is cheaper (no change of thread, warm caches)
/// but less even: once a batch a call takes some microseconds more. Near the budget a thread that does not
/// reclaim yields the processor to the worker. A change loses nothing, and keeps the order in which one
/// thread's objects are freed. For destructors only: [`set_destructors`]. Who runs closures stays as it is
/// ([`set_closures`]).
///
/// ```
/// quiescent::tuning::set_on_worker(true);
/// # let cell = quiescent::RcuCell::new([0u8; 64]);
/// cell.store([1; 64]).retire(); // queues, and does nothing else
/// quiescent::tuning::set_on_worker(false);
/// ```
pub fn set_on_worker(on_worker: bool) {
    env().home.set(|it| it.set_offload(on_worker));
}

/// As [`set_on_worker`], for what the calling thread retires: `Some` overrides the process's setting, `None`
/// (the default) follows it. Reset when the thread ends. A thread that gets no queue of its own (fenced
/// readers, no memory) follows the process's setting.
///
/// ```
/// std::thread::spawn(|| {
///     quiescent::tuning::set_thread_on_worker(Some(true)); // this one has deadlines to meet
/// }).join().unwrap();
/// ```
pub fn set_thread_on_worker(on_worker: Option<bool>) {
    home().offload_thread(on_worker);
}

/// Sets who runs closures ([`defer`](crate::defer()) and its relatives), in the process's domain: at first
/// [`Runner::Worker`]. May be called at any time. See [`Runner`] for the choices;
/// [`RcuDomain::set_closures`](crate::RcuDomain::set_closures) is for other domains.
///
/// `Owner` avoids a change of thread, and the caches are warm. But then closures run *inside* `retire` and
/// `defer`, under any locks that the caller holds. In fenced mode the worker runs them all.
///
/// `Drained` is for event loops and frameworks whose callbacks must run on their own threads: the program
/// runs closures and destructors when it calls [`drain_ready`] or [`drain`](crate::drain()). The worker calls
/// the function set by [`on_ready`] when some have become ready. They stay queued until the program drains,
/// and a [`barrier`](crate::barrier()) waits for that. When another runner is set, it runs what is queued.
///
/// ```
/// use quiescent::{Runner, tuning};
/// use std::time::Duration;
///
/// tuning::set_closures(Runner::Drained);
/// tuning::on_ready(|| println!("wake the event loop")); // on the worker's thread
/// quiescent::defer(|| println!("on the event loop's thread"));
/// quiescent::synchronize();
/// // … in the loop: at most 100 of them, for at most a millisecond
/// let drained = tuning::drain_ready(100, Duration::from_millis(1));
/// assert_eq!(drained.ran, 1);
/// # tuning::set_closures(Runner::Worker);
/// ```
pub fn set_closures(runner: Runner) {
    env().home.set(|it| it.set_closures(runner));
}

/// Sets who runs the destructors of retired values, in the process's domain: at first [`Runner::Owner`], the
/// thread that retired the value, in its later calls of `retire` and `store` and at the end of sections in
/// which it has retired. Programs whose destructors take locks that are held there set [`Runner::Worker`].
/// [`Runner::Drained`] drains closures, too, whatever [`set_closures`] says. May be called at any time; a
/// thread applies it at its next call. For one value there is
/// [`Retired::on_worker`](crate::Retired::on_worker), for one thread [`set_thread_on_worker`], for other
/// domains [`RcuDomain::set_destructors`](crate::RcuDomain::set_destructors).
///
/// ```
/// use quiescent::{Runner, tuning};
///
/// tuning::set_destructors(Runner::Worker);
/// # tuning::set_destructors(Runner::Owner);
/// ```
pub fn set_destructors(runner: Runner) {
    env().home.set(|it| it.set_destructors(runner));
}

/// Sets a function that the worker calls when callbacks have become ready that the program runs itself
/// ([`Runner::Drained`]): on the worker's thread, once for each grace period that it waited for. It must not
/// wait for grace periods or barriers; it may write to an event descriptor, for example. A panic in it is
/// contained. Each call replaces the previous function.
pub fn on_ready(notify: fn()) {
    crate::watch::report::set_ready(notify);
}

/// Runs and frees, in this thread, at most `most` callbacks and objects that are ready, and starts none after
/// `limit`. Never waits, issues no process-wide fence, and leaves what is not ready. It also leaves the
/// objects that threads free themselves. For event loops and real-time threads; [`drain`](crate::drain())
/// waits until everything is done.
///
/// Inside a callback it only frees memory.
pub fn drain_ready(most: u64, limit: Duration) -> Drained {
    let ran = home().run_some(most, Until::after(limit));
    Drained::of(ran, &env().home)
}

/// Reports that memory is low: everything queued lazily, by any thread and in any domain, is freed or run now
/// instead of at its flush time. For programs that know this before the kernel: an allocation was refused, a
/// budget of their own is used up, a container's manager has sent a message.
///
/// May be called on any thread, also inside sections and callbacks; not in signal handlers. Never waits: the
/// worker is woken, and frees after a grace period. Takes effect at most ten times a second; a call that
/// comes sooner takes effect when that time is over. Does nothing if nothing is queued. O(threads and
/// domains).
///
/// The library also listens to the kernel, unless [`Options::memory_pressure`](crate::Options) switches that
/// off; the guide's chapter on [memory pressure](crate::guide::memory_pressure) lists the sources and their
/// delays.
///
/// ```
/// # let cache = quiescent::RcuCell::new(vec![0u8; 1 << 20]);
/// drop(cache.store(Vec::new())); // a megabyte, freed within ten seconds …
/// quiescent::tuning::memory_is_low(); // … or at once
/// ```
pub fn memory_is_low() {
    let env = env();
    count(&env.state.counters.pressure_calls);
    env.states().for_each(State::memory_low);
}
