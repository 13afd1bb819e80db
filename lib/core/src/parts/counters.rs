//! Event counters of a domain.

use crate::prim::counters::{Counter, count};

/// Counters that the host increments; the engine has its own.
#[derive(Debug, Default)]
pub struct Counters {
    /// Fences at the start of grace periods.
    pub fences_gp: Counter,
    /// Fences after flagging readers.
    pub fences_flag: Counter,
    /// Fences of take-overs.
    pub fences_take: Counter,
    /// Fences saved because another thread's fence was used.
    pub fences_shared: Counter,
    /// Fences for deferred work that threads were asked for first.
    pub fences_asked: Counter,
    /// Of those, how many needed no process-wide fence: every thread answered in time.
    pub fences_answered: Counter,
    /// Callbacks and destructors run.
    pub callbacks: Counter,
    /// Callbacks that panicked.
    pub panics: Counter,
    /// Callbacks that ended the worker's thread.
    pub exits: Counter,
    /// Barriers that have ended.
    pub barriers: Counter,
    /// Times that the worker could not start or continue.
    pub worker_errors: Counter,
    /// Passes of the worker over a domain that was due.
    pub worker_passes: Counter,
    /// Waiters woken by drivers.
    pub wakeups: Counter,
    /// Sleeping drivers woken by readers.
    pub reader_wakeups: Counter,
    /// Sleeps of drivers.
    pub sleeps: Counter,
    /// Hand-overs of the driver role to a waiter.
    pub hand_overs: Counter,
    /// Times a waiter that no driver had woken found the role free.
    pub found_free: Counter,
    /// Wake-ups that a time-out had to replace: what they announce had happened.
    pub late_wakeups: Counter,
    /// Objects lost because there was no memory for a queue entry.
    pub leaked: Counter,
    /// Objects and callbacks refused because of the budget.
    pub refused: Counter,
    /// Objects that owners freed in addition, near the budget.
    pub helped: Counter,
    /// Times that an owner yielded its CPU, near the budget.
    pub gave_way: Counter,
    /// Items queued in the shared queue by threads without their own.
    pub unregistered_queued: Counter,
    /// Threads of the library.
    pub helpers: Counter,
    /// Forks between the first process and this one.
    pub forks: Counter,
    /// Callbacks pending at the fork that the parent runs, not this process.
    pub not_inherited: Counter,
    /// Wake-ups of the worker by the timer.
    pub woken_timer: Counter,
    /// Wake-ups of the worker by a kick.
    pub woken_kick: Counter,
    /// Wake-ups of the worker by memory pressure.
    pub woken_pressure: Counter,
    /// Reports of low memory by the kernel.
    pub pressure_events: Counter,
    /// Reports of low memory by the program.
    pub pressure_calls: Counter,
}

impl Counters {
    pub const fn new() -> Counters {
        Counters {
            fences_gp: Counter::new(0),
            fences_flag: Counter::new(0),
            fences_take: Counter::new(0),
            fences_shared: Counter::new(0),
            fences_asked: Counter::new(0),
            fences_answered: Counter::new(0),
            callbacks: Counter::new(0),
            panics: Counter::new(0),
            exits: Counter::new(0),
            barriers: Counter::new(0),
            worker_errors: Counter::new(0),
            worker_passes: Counter::new(0),
            wakeups: Counter::new(0),
            reader_wakeups: Counter::new(0),
            sleeps: Counter::new(0),
            hand_overs: Counter::new(0),
            found_free: Counter::new(0),
            late_wakeups: Counter::new(0),
            leaked: Counter::new(0),
            refused: Counter::new(0),
            helped: Counter::new(0),
            gave_way: Counter::new(0),
            unregistered_queued: Counter::new(0),
            helpers: Counter::new(0),
            forks: Counter::new(0),
            not_inherited: Counter::new(0),
            woken_timer: Counter::new(0),
            woken_kick: Counter::new(0),
            woken_pressure: Counter::new(0),
            pressure_events: Counter::new(0),
            pressure_calls: Counter::new(0),
        }
    }

    /// In the child of a fork: resets all counters but `forks`, which it increments.
    pub fn forked(&self) {
        let Counters {
            fences_gp,
            fences_flag,
            fences_take,
            fences_shared,
            fences_asked,
            fences_answered,
            callbacks,
            panics,
            exits,
            barriers,
            worker_errors,
            worker_passes,
            wakeups,
            reader_wakeups,
            sleeps,
            hand_overs,
            found_free,
            late_wakeups,
            leaked,
            refused,
            helped,
            gave_way,
            unregistered_queued,
            helpers,
            woken_timer,
            woken_kick,
            woken_pressure,
            pressure_events,
            pressure_calls,
            forks,
            not_inherited: _, // stored by the caller
        } = self;
        for counter in [
            fences_gp,
            fences_flag,
            fences_take,
            fences_shared,
            fences_asked,
            fences_answered,
            callbacks,
            panics,
            exits,
            barriers,
            worker_errors,
            worker_passes,
            wakeups,
            reader_wakeups,
            sleeps,
            hand_overs,
            found_free,
            late_wakeups,
            leaked,
            refused,
            helped,
            gave_way,
            unregistered_queued,
            helpers,
            woken_timer,
            woken_kick,
            woken_pressure,
            pressure_events,
            pressure_calls,
        ] {
            counter.store(0, std::sync::atomic::Ordering::Relaxed);
        }
        count(forks);
    }
}
