//! Counters of the library, and the readers that block a grace period.

use std::time::Duration;

use quiescent_engine::credit::{self, Cause};

use crate::global::{self, home};
use quiescent_core::domain::state::State;
use quiescent_core::os::pressure::PressureSources;
use quiescent_core::prim::counters::value;
pub use quiescent_core::reader::holdout::Holdout;
pub use quiescent_core::reader::mode::FenceMode;

mod domain;

pub use domain::DomainStatistics;

/// Counters since the start of the process, and the present state.
///
/// Counters only grow. They are read one after the other while the program runs, so their sums need not match
/// exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Grace periods that ended.
    pub grace_periods: u64,
    /// Grace periods that needed no fence: only their driver was registered.
    pub grace_periods_sole: u64,
    /// Scans over readers.
    pub scans: u64,
    /// Groups of 64 threads that scans inspected: those with a thread that had not been found outside of its
    /// sections.
    pub leaves_scanned: u64,
    /// Steps that grace periods took: linear in the groups of 64 threads that are in use.
    pub steps: u64,
    /// Process-wide fences between the start of a grace period and its first scan.
    pub fences_gp: u64,
    /// Process-wide fences between flagging holdouts and going to sleep.
    pub fences_flag: u64,
    /// Threads that were woken because their grace period ended, or to drive the next one.
    pub wakeups: u64,
    /// Sleeping drivers that a reader woke when it ended its section.
    pub reader_wakeups: u64,
    /// Times a driver slept to wait for a reader.
    pub sleeps: u64,
    /// Times a driver whose grace period had ended passed its role to another waiter.
    pub hand_overs: u64,
    /// Times a waiter took the role from a driver that had made no progress for 0.1 s (stopped or starved),
    /// or found it free without having been asked, as the waiter that was asked to drive did not run.
    pub takeovers: u64,
    /// Times that the worker, or a waiter that slept, ran more than 75 ms later than it was due, in any
    /// domain. The worker is due at the deadline of what is queued, and from the moment at which it was
    /// called; a waiter from the end of its grace period, or from when it was asked to drive. (A deadline
    /// that a new setting has moved into the past counts from that moment.) It is measured where they run.
    /// So a processor that was not to be had counts, a thread that was stopped before it woke another, a
    /// callback that kept the worker from others, and a lost wake-up that a time-out replaced. One round of
    /// the worker counts once, however much was due. A driver that sleeps for a reader counts in `stalls`.
    pub late_wakeups: u64,
    /// Times a stall report was due ([`set_stall_after`](crate::report::set_stall_after)). It was made if a
    /// reader still blocked the grace period then.
    pub stalls: u64,
    /// Process-wide fences for detaching the queues of quiet threads: one for each sweep.
    pub fences_take: u64,
    /// Process-wide fences that were issued, for all domains and [`Srcu`](crate::Srcu)s; the other counters
    /// say how many were needed. (None where readers execute the fence.)
    pub fences_issued: u64,
    /// Times that a fence issued for another purpose was enough: one by another thread at the same time, or
    /// one for several domains at once.
    pub fences_shared: u64,
    /// Fences for deferred work that the program's threads were asked to execute themselves, before one was
    /// issued for all of them.
    pub fences_asked: u64,
    /// Of those, how many were not issued: every thread answered within 2 µs. The others timed out.
    pub fences_answered: u64,
    /// Callbacks and objects that are queued or being run.
    pub queued: u64,
    /// Their bytes, as the budget counts them: sizes rounded up as allocators do (plus a word, then to 16),
    /// 16 bytes of queue for each, and what the objects own: as declared
    /// ([weights](crate::RcuCell#weight)), or 1 KiB for a value with a destructor. Intrusive callbacks
    /// count no bytes.
    pub queued_bytes: u64,
    /// An upper bound on how long the oldest of it has been queued, as far as known. What is being run does
    /// not count.
    pub oldest: Duration,
    /// The budget in bytes, and in callbacks: see [`set_budget`](crate::tuning::set_budget()).
    pub budget_bytes: u64,
    /// See [`budget_bytes`](Statistics::budget_bytes).
    pub budget_callbacks: u64,
    /// Times the budget was exceeded. Counted again only after an eighth of it had become free.
    pub over_budget: u64,
    /// Objects that [`try_retire`](crate::Retired::try_retire) returned.
    pub refused: u64,
    /// Objects that retiring threads freed beyond their usual share because the budget was near.
    pub helped: u64,
    /// Times a thread yielded its processor once: near the budget a thread that queues callbacks, to the
    /// threads that run them; beyond it every thread that retires, to readers and workers.
    pub gave_way: u64,
    /// Callbacks and destructors run by the reclaimer.
    pub callbacks: u64,
    /// Of those, how many panicked. Each panic was contained; the panic hook has run.
    pub callback_panics: u64,
    /// Callbacks that did not return within a second. Each has a thread to itself since then.
    pub callbacks_stuck: u64,
    /// Barriers completed.
    pub barriers: u64,
    /// Passes of the worker: times it checked whether something is due.
    pub worker_passes: u64,
    /// Why the worker woke up. It does not sleep between passes if there is more to do.
    pub worker_wakeups: WorkerWakeups,
    /// Times the callbacks of a queue were assigned to a grace period, by the cause.
    pub flushes: Flushes,
    /// Times the kernel reported memory pressure while something was queued.
    pub pressure_events: u64,
    /// Times the program called [`memory_is_low`](crate::tuning::memory_is_low).
    pub pressure_calls: u64,
    /// Passes of the worker that took everything queued because memory was low: at most ten a second, however
    /// often it was reported.
    pub pressure_passes: u64,
    /// The kernel's sources of memory pressure that the worker listens to now.
    pub pressure_sources: PressureSources,
    /// Times the worker could not start, or could not continue (the fence was refused). Queued items are
    /// kept.
    pub worker_errors: u64,
    /// Whether the timer that the worker sleeps on is set.
    pub timer_armed: bool,
    /// Objects lost because there was no memory for a place in a queue: they leak, and closures among them
    /// never run.
    pub leaked: u64,
    /// Forks between the first process and this one. In the child of a fork all other counters restart at
    /// zero.
    pub forks: u64,
    /// Callbacks, including destructors, that were queued or being run at the fork that made this process.
    /// The parent runs them; this process does not.
    pub not_inherited: u64,
    /// Sections opened by threads that found no slot and share two counters.
    pub unregistered_sections: u64,
    /// Callbacks and objects queued by threads without a queue of their own, into a queue that they share.
    pub unregistered_queued: u64,
    /// Threads of this library: the worker, once something was queued; a stand-by, from the worker's first
    /// callback on; the overflow worker, once there was a backlog.
    pub helper_threads: u64,
    /// Threads registered now.
    pub registered: u32,
    /// Readers that block the grace period in flight now.
    pub holdouts: u32,
    /// Whether a grace period is in flight or requested. One that no thread needs any more stays as it is,
    /// and nothing runs for it; the next waiter completes it.
    pub busy: bool,
    /// The fence mode.
    pub fence_mode: FenceMode,
}

/// Times the worker woke up, each counted once. If several things woke it, the last of them counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerWakeups {
    /// A flush time was reached.
    pub timer: u64,
    /// A thread queued in a hurry, waited for a barrier, had a full batch of callbacks, or reported low
    /// memory.
    pub kick: u64,
    /// A source of memory pressure reported.
    pub pressure: u64,
    /// More than 10 000 callbacks were ready and no thread was running them: the *overflow worker* was woken
    /// beside the worker. It slept again when fewer than 100 were left.
    pub backlog: u64,
}

/// What ended the laziness of queues: how often the callbacks of a queue were assigned to a grace period, by
/// cause. A thread that returns while its queue is being detached does it in a hurry itself: that counts as
/// both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Flushes {
    /// The flush time of lazy items.
    pub lazy: u64,
    /// The flush time of prompt items.
    pub prompt: u64,
    /// A batch was full.
    pub batch: u64,
    /// `*_hurry`.
    pub hurry: u64,
    /// [`barrier`](crate::barrier()).
    pub barrier: u64,
    /// [`drain`](crate::drain()).
    pub drain: u64,
    /// Memory was low.
    pub pressure: u64,
    /// The [budget](crate::tuning::set_budget()) was near.
    pub budget: u64,
}

impl Flushes {
    pub(crate) fn of(counts: &credit::Flushes) -> Flushes {
        Flushes {
            lazy: counts.of(Cause::Lazy),
            prompt: counts.of(Cause::Prompt),
            batch: counts.of(Cause::Batch),
            hurry: counts.of(Cause::Hurry),
            barrier: counts.of(Cause::Barrier),
            drain: counts.of(Cause::Drain),
            pressure: counts.of(Cause::Pressure),
            budget: counts.of(Cause::Budget),
        }
    }
}

/// Returns counters since the start of the process, and the present state. Takes the domain's lock briefly.
///
/// ```
/// let before = quiescent::statistics();
/// quiescent::synchronize();
/// assert!(quiescent::statistics().grace_periods > before.grace_periods);
/// ```
pub fn statistics() -> Statistics {
    of_state(home())
}

/// The readers that the grace period in flight waits for, at most 64 of them; empty if none is in flight, or
/// if no scan has run yet. Reads their names from `/proc`.
pub fn holdouts() -> Vec<Holdout> {
    home().holdouts()
}

/// Counters, and the present state.
fn of_state(state: &'static State) -> Statistics {
    let env = state.env();
    let (queued, queued_bytes) = state.held();
    let oldest = state.oldest();
    let core = state.lock();
    let counts = core.engine.counts();
    let holdouts = core.engine.holdouts().count() as u32;
    let busy = core.engine.busy();
    let budget = core.engine.budget();
    drop(core);
    let c = &state.counters;
    Statistics {
        grace_periods: counts.grace_periods,
        grace_periods_sole: counts.sole,
        scans: counts.scans,
        leaves_scanned: counts.leaves_scanned,
        steps: counts.steps,
        stalls: counts.stalls,
        fences_gp: value(&c.fences_gp),
        fences_flag: value(&c.fences_flag),
        wakeups: value(&c.wakeups),
        reader_wakeups: value(&c.reader_wakeups),
        sleeps: value(&c.sleeps),
        hand_overs: value(&c.hand_overs),
        takeovers: counts.takeovers + value(&c.found_free),
        late_wakeups: value(&c.late_wakeups),
        fences_take: value(&c.fences_take),
        fences_issued: env.fences.issued(),
        fences_shared: value(&c.fences_shared),
        fences_asked: value(&c.fences_asked),
        fences_answered: value(&c.fences_answered),
        queued,
        queued_bytes,
        oldest,
        budget_bytes: budget.bytes,
        budget_callbacks: budget.count,
        over_budget: counts.over_budget,
        refused: value(&c.refused),
        helped: value(&c.helped),
        gave_way: value(&c.gave_way),
        callbacks: value(&c.callbacks),
        callback_panics: value(&c.panics),
        callbacks_stuck: stuck(),
        barriers: value(&c.barriers),
        worker_passes: value(&c.worker_passes),
        worker_wakeups: WorkerWakeups {
            timer: value(&c.woken_timer),
            kick: value(&c.woken_kick),
            pressure: value(&c.woken_pressure),
            backlog: counts.backlogs,
        },
        flushes: Flushes::of(&counts.flushes),
        pressure_events: value(&c.pressure_events),
        pressure_calls: value(&c.pressure_calls),
        pressure_passes: counts.pressure,
        pressure_sources: env.alarm.sources(),
        worker_errors: value(&c.worker_errors),
        timer_armed: env.alarm.is_armed(),
        leaked: value(&c.leaked),
        unregistered_sections: value(&env.threads.unregistered),
        unregistered_queued: value(&c.unregistered_queued),
        helper_threads: value(&c.helpers),
        forks: value(&c.forks),
        not_inherited: value(&c.not_inherited),
        registered: env.threads.slots.registered(),
        holdouts,
        busy,
        fence_mode: state.resolve_mode(),
    }
}

/// Callbacks that do not return.
fn stuck() -> u64 {
    #[cfg(not(feature = "helpers"))]
    return 0;
    #[cfg(feature = "helpers")]
    global::process().workers.watch.stuck()
}
