//! Looking at a domain from outside: counters, statistics, who is in the way.

use crate::inner::domain::state::State;
use crate::inner::prim::Counter;
use crate::statistics::{Flushes, Statistics, WorkerWakeups};

/// Counters of the host.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) fences_gp: Counter,
    pub(crate) fences_flag: Counter,
    pub(crate) fences_take: Counter,
    pub(crate) fences_shared: Counter,
    pub(crate) callbacks: Counter,
    pub(crate) panics: Counter,
    pub(crate) exits: Counter,
    pub(crate) barriers: Counter,
    pub(crate) worker_errors: Counter,
    pub(crate) worker_passes: Counter,
    pub(crate) wakeups: Counter,
    pub(crate) reader_wakeups: Counter,
    pub(crate) sleeps: Counter,
    pub(crate) hand_overs: Counter,
    pub(crate) leaked: Counter,
    pub(crate) refused: Counter,
    pub(crate) helped: Counter,
    pub(crate) gave_way: Counter,
    pub(crate) crowd_sections: Counter,
    pub(crate) crowd_queued: Counter,
    pub(crate) helpers: Counter,
    pub(crate) forks: Counter,
    pub(crate) not_inherited: Counter,
    pub(crate) woken_timer: Counter,
    pub(crate) woken_kick: Counter,
    pub(crate) woken_pressure: Counter,
    pub(crate) pressure_events: Counter,
    pub(crate) pressure_calls: Counter,
}

impl Counters {
    pub(crate) const fn new() -> Counters {
        Counters {
            fences_gp: Counter::new(0),
            fences_flag: Counter::new(0),
            fences_take: Counter::new(0),
            fences_shared: Counter::new(0),
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
            leaked: Counter::new(0),
            refused: Counter::new(0),
            helped: Counter::new(0),
            gave_way: Counter::new(0),
            crowd_sections: Counter::new(0),
            crowd_queued: Counter::new(0),
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

    /// In the child of a fork: another process, and one fork more from the first.
    #[cfg(not(quiescent_model))]
    pub(crate) fn forked(&self) {
        for counter in [
            &self.fences_gp,
            &self.fences_flag,
            &self.fences_take,
            &self.fences_shared,
            &self.callbacks,
            &self.panics,
            &self.exits,
            &self.barriers,
            &self.worker_errors,
            &self.worker_passes,
            &self.wakeups,
            &self.reader_wakeups,
            &self.sleeps,
            &self.hand_overs,
            &self.leaked,
            &self.refused,
            &self.helped,
            &self.gave_way,
            &self.crowd_sections,
            &self.crowd_queued,
            &self.helpers,
            &self.woken_timer,
            &self.woken_kick,
            &self.woken_pressure,
            &self.pressure_events,
            &self.pressure_calls,
        ] {
            counter.store(0, std::sync::atomic::Ordering::Relaxed);
        }
        count(&self.forks);
    }
}

/// Adds one to a counter.
pub(crate) fn count(counter: &Counter) {
    counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
}

/// Adds some to a counter.
pub(crate) fn add(counter: &Counter, some: u64) {
    if some != 0 {
        counter.fetch_add(some, std::sync::atomic::Ordering::Relaxed);
    }
}

/// Takes one off a counter, unless it starts from nothing since a fork.
#[cfg(not(quiescent_model))]
pub(crate) fn uncount(counter: &Counter) {
    let order = std::sync::atomic::Ordering::Relaxed;
    let _ = counter.fetch_update(order, order, |value| value.checked_sub(1));
}

pub(crate) fn value(counter: &Counter) -> u64 {
    counter.load(std::sync::atomic::Ordering::Relaxed)
}

impl State {
    /// Callbacks that do not return.
    fn stuck(&self) -> u64 {
        #[cfg(quiescent_model)]
        return 0;
        #[cfg(not(quiescent_model))]
        self.env().watch.stuck()
    }

    /// Counters and state.
    pub(crate) fn statistics(&'static self) -> Statistics {
        let (queued, queued_bytes) = self.held();
        let oldest = self.oldest();
        let core = self.lock();
        let counts = core.engine.counts();
        let holdouts = core.engine.holdouts().count() as u32;
        let busy = core.engine.busy();
        let budget = core.engine.budget();
        drop(core);
        let c = &self.counters;
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
            usurped: counts.takeovers,
            fences_take: value(&c.fences_take),
            fences_issued: self.env().fences.issued(),
            fences_shared: value(&c.fences_shared),
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
            callback_exits: value(&c.exits),
            callbacks_stuck: self.stuck(),
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
            pressure_sources: self.env().alarm.sources(),
            worker_errors: value(&c.worker_errors),
            timer_armed: self.env().alarm.is_armed(),
            leaked: value(&c.leaked),
            crowd_sections: value(&c.crowd_sections),
            crowd_queued: value(&c.crowd_queued),
            helper_threads: value(&c.helpers),
            forks: value(&c.forks),
            not_inherited: value(&c.not_inherited),
            registered: self.env().slots.registered(),
            holdouts,
            busy,
            fence_mode: self.resolve_mode(),
        }
    }
}
