//! Counters of a domain and of the library, each in one list with its name.

use std::time::Duration;

use quiescent_engine::Counts;
use quiescent_engine::credit::{self, Cause};

use crate::domain::counters::Counters;
use crate::domain::env::Env;
use crate::domain::life::Domain;
use crate::domain::state::State;
use crate::os::pressure::PressureSources;
use crate::prim::counters::value;
use crate::reader::mode::FenceMode;

/// Makes a struct of figures. Telemetry publishes the first ones by their names.
macro_rules! statistics {
    (
        $(#[$meta:meta])* $name:ident of $it:ident, $held:ident
        $(published { $($(#[$doc:meta])* $field:ident: $type:ty = $value:expr;)* })?
        own { $($(#[$more:meta])* $now:ident: $kind:ty = $present:expr;)* }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct $name {
            $($($(#[$doc])* pub $field: $type,)*)?
            $($(#[$more])* pub $now: $kind,)*
        }

        impl $name {
            #[doc(hidden)]
            pub fn of(domain: &'static Domain) -> $name {
                let $held = domain.held();
                let $it = &Look::at(domain);
                $name { $($($field: $value,)*)? $($now: $present,)* }
            }

            $(
                /// Calls `each` with each published figure: its name in two parts, and its value.
                #[doc(hidden)]
                pub fn publish(domain: &'static Domain, each: &mut dyn FnMut(&str, &str, u64)) {
                    let $it = &Look::at(domain);
                    $($value.publish(stringify!($field), each);)*
                }
            )?
        }
    };
}

/// What figures are read from.
struct Look {
    domain: &'static Domain,
    env: &'static Env,
    state: Option<&'static State>,
    counters: &'static Counters,
    counts: Counts,
    /// In bytes, and in callbacks.
    budget: (u64, u64),
    holdouts: u32,
    busy: bool,
}

impl Look {
    fn at(domain: &'static Domain) -> Look {
        static NONE: Counters = Counters::new();
        let state = domain.state_if_any();
        let mut look = Look {
            domain,
            env: domain.env(),
            state,
            counters: state.map_or(&NONE, |state| &state.counters),
            counts: Counts::default(),
            budget: (0, 0),
            holdouts: 0,
            busy: false,
        };
        if let Some(state) = state {
            let core = state.lock();
            let budget = core.engine.budget();
            look.budget = (budget.bytes, budget.count);
            look.counts = core.engine.counts();
            look.holdouts = core.engine.holdouts().count() as u32;
            look.busy = core.engine.busy();
        } else {
            let settings = domain.settings();
            look.budget = (settings.budget_bytes, settings.budget_count);
        }
        look
    }
}

/// Something that is published.
trait Figure {
    fn publish(&self, name: &str, each: &mut dyn FnMut(&str, &str, u64));
}

impl Figure for u64 {
    fn publish(&self, name: &str, each: &mut dyn FnMut(&str, &str, u64)) {
        each(name, "", *self);
    }
}

impl Figure for u32 {
    fn publish(&self, name: &str, each: &mut dyn FnMut(&str, &str, u64)) {
        each(name, "", u64::from(*self));
    }
}

/// Makes a struct of figures that are published one by one.
macro_rules! figures {
    (
        $(#[$meta:meta])* $name:ident of $it:ident: $from:ty
        { $($(#[$doc:meta])* $field:ident = $value:expr;)* }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl $name {
            fn of($it: &$from) -> $name {
                $name { $($field: $value,)* }
            }
        }

        impl Figure for $name {
            fn publish(&self, name: &str, each: &mut dyn FnMut(&str, &str, u64)) {
                $(each(name, concat!(".", stringify!($field)), self.$field);)*
            }
        }
    };
}

figures! {
    /// Times the worker woke up, each counted once. If several things woke it, the last of them counts.
    WorkerWakeups of it: Look {
        /// A flush time was reached.
        timer = value(&it.counters.woken_timer);
        /// A thread queued in a hurry, waited for a barrier, had a full batch of callbacks, or reported low
        /// memory.
        kick = value(&it.counters.woken_kick);
        /// A source of memory pressure reported.
        pressure = value(&it.counters.woken_pressure);
        /// More than 10 000 callbacks were ready and no thread was running them: the *overflow worker* was
        /// woken beside the worker. It slept again when fewer than 100 were left.
        backlog = it.counts.backlogs;
    }
}

figures! {
    /// What ended the laziness of queues: how often the callbacks of a queue were assigned to a grace period,
    /// by cause. A thread that returns while its queue is being detached does it in a hurry itself: that
    /// counts as both.
    Flushes of it: credit::Flushes {
        /// The flush time of lazy items.
        lazy = it.of(Cause::Lazy);
        /// The flush time of prompt items.
        prompt = it.of(Cause::Prompt);
        /// A batch was full.
        batch = it.of(Cause::Batch);
        /// `*_hurry`.
        hurry = it.of(Cause::Hurry);
        /// `barrier`.
        barrier = it.of(Cause::Barrier);
        /// `drain`.
        drain = it.of(Cause::Drain);
        /// Memory was low.
        pressure = it.of(Cause::Pressure);
        /// The budget was near.
        budget = it.of(Cause::Budget);
    }
}

statistics! {
    /// Counters since the start of the process, and the present state.
    ///
    /// Counters only grow. They are read one after the other while the program runs, so their sums need not
    /// match exactly.
    Statistics of it, held
    published {
        /// Grace periods that ended.
        grace_periods: u64 = it.counts.grace_periods;
        /// Grace periods that needed no fence: only their driver was registered.
        grace_periods_sole: u64 = it.counts.sole;
        /// Scans over readers.
        scans: u64 = it.counts.scans;
        /// Groups of 64 threads that scans inspected: those with a thread that had not been found outside of
        /// its sections.
        leaves_scanned: u64 = it.counts.leaves_scanned;
        /// Times a stall report was due (`set_stall_after`). It was made if a
        /// reader still blocked the grace period then.
        stalls: u64 = it.counts.stalls;
        /// Process-wide fences between the start of a grace period and its first scan.
        fences_gp: u64 = value(&it.counters.fences_gp);
        /// Process-wide fences between flagging holdouts and going to sleep.
        fences_flag: u64 = value(&it.counters.fences_flag);
        /// Process-wide fences for detaching the queues of quiet threads: one for each sweep.
        fences_take: u64 = value(&it.counters.fences_take);
        /// Process-wide fences that were issued, for all domains and `Srcu`s; the other counters
        /// say how many were needed. (None where readers execute the fence.)
        fences_issued: u64 = it.env.fences.issued();
        /// Times that a fence issued for another purpose was enough: one by another thread at the same time,
        /// or one for several domains at once.
        fences_shared: u64 = value(&it.counters.fences_shared);
        /// Threads that were woken because their grace period ended, or to drive the next one.
        wakeups: u64 = value(&it.counters.wakeups);
        /// Sleeping drivers that a reader woke when it ended its section.
        reader_wakeups: u64 = value(&it.counters.reader_wakeups);
        /// Times a driver slept to wait for a reader.
        sleeps: u64 = value(&it.counters.sleeps);
        /// Times a driver whose grace period had ended passed its role to another waiter.
        hand_overs: u64 = value(&it.counters.hand_overs);
        /// Times a waiter took the role from a driver that had made no progress for 0.1 s (stopped or
        /// starved), or found it free without having been asked, as the waiter that was asked to drive did
        /// not run.
        takeovers: u64 = it.counts.takeovers + value(&it.counters.found_free);
        /// Callbacks and destructors run by the reclaimer.
        callbacks: u64 = value(&it.counters.callbacks);
        /// Of those, how many panicked. Each panic was contained; the panic hook has run.
        callback_panics: u64 = value(&it.counters.panics);
        /// Barriers completed.
        barriers: u64 = value(&it.counters.barriers);
        /// Passes of the worker: times it checked whether something is due.
        worker_passes: u64 = value(&it.counters.worker_passes);
        /// Why the worker woke up. It does not sleep between passes if there is more to do.
        worker_wakeups: WorkerWakeups = WorkerWakeups::of(it);
        /// Times the callbacks of a queue were assigned to a grace period, by the cause.
        flushes: Flushes = Flushes::of(&it.counts.flushes);
        /// Times the kernel reported memory pressure while something was queued.
        pressure_events: u64 = value(&it.counters.pressure_events);
        /// Times the program called `memory_is_low`.
        pressure_calls: u64 = value(&it.counters.pressure_calls);
        /// Passes of the worker that took everything queued because memory was low: at most ten a second,
        /// however often it was reported.
        pressure_passes: u64 = it.counts.pressure;
        /// Times the worker could not start, or could not continue (the fence was refused). Queued items are
        /// kept.
        worker_errors: u64 = value(&it.counters.worker_errors);
        /// Times the budget was exceeded. Counted again only after an eighth of it had become free.
        over_budget: u64 = it.counts.over_budget;
        /// Objects that `try_retire` returned.
        refused: u64 = value(&it.counters.refused);
        /// Objects that retiring threads freed beyond their usual share because the budget was near.
        helped: u64 = value(&it.counters.helped);
        /// Times a thread yielded its processor once: near the budget a thread that queues callbacks, to the
        /// threads that run them; beyond it every thread that retires, to readers and workers.
        gave_way: u64 = value(&it.counters.gave_way);
        /// Objects lost because there was no memory for a place in a queue: they leak, and closures among
        /// them never run.
        leaked: u64 = value(&it.counters.leaked);
        /// Callbacks, including destructors, that were queued or being run at the fork that made this
        /// process. The parent runs them; this process does not.
        not_inherited: u64 = value(&it.counters.not_inherited);
        /// Sections opened by threads that found no slot and share two counters.
        unregistered_sections: u64 = value(&it.env.threads.unregistered);
        /// Callbacks and objects queued by threads without a queue of their own, into a queue that they
        /// share.
        unregistered_queued: u64 = value(&it.counters.unregistered_queued);
        /// Threads registered now.
        registered: u32 = it.env.threads.slots.registered();
        /// Threads of this library: the worker, once something was queued; a stand-by, from the worker's
        /// first callback on; the overflow worker, once there was a backlog.
        helper_threads: u64 = value(&it.counters.helpers);
        /// The budget in bytes, and in callbacks: see `set_budget`.
        budget_bytes: u64 = it.budget.0;
        /// See `budget_bytes`.
        budget_callbacks: u64 = it.budget.1;
    }
    own {
        /// Steps that grace periods took: linear in the groups of 64 threads that are in use.
        steps: u64 = it.counts.steps;
        /// Times that the worker, or a waiter that slept, ran more than 75 ms later than it was due, in any
        /// domain. The worker is due at the deadline of what is queued, and from the moment at which it was
        /// called; a waiter from the end of its grace period, or from when it was asked to drive. (A deadline
        /// that a new setting has moved into the past counts from that moment.) It is measured where they
        /// run. So a processor that was not to be had counts, a thread that was stopped before it woke
        /// another, a callback that kept the worker from others, and a lost wake-up that a time-out replaced.
        /// One round of the worker counts once, however much was due. A driver that sleeps for a reader
        /// counts in `stalls`.
        late_wakeups: u64 = value(&it.counters.late_wakeups);
        /// Callbacks and objects that are queued or being run.
        queued: u64 = held.0;
        /// Their bytes, as the budget counts them: sizes rounded up as allocators do (plus a word, then to
        /// 16), 16 bytes of queue for each, and what the objects own: as declared (weights), or 1 KiB for a
        /// value with a destructor. Intrusive callbacks count no bytes.
        queued_bytes: u64 = held.1;
        /// An upper bound on how long the oldest of it has been queued, as far as known. What is being run
        /// does not count.
        oldest: Duration = it.state.map_or(Duration::ZERO, State::oldest);
        /// Callbacks that did not return within a second. Each has a thread to itself since then.
        callbacks_stuck: u64 = it.env.host.stuck();
        /// The kernel's sources of memory pressure that the worker listens to now.
        pressure_sources: PressureSources = it.env.alarm.sources();
        /// Whether the timer that the worker sleeps on is set.
        timer_armed: bool = it.env.alarm.is_armed();
        /// Forks between the first process and this one. In the child of a fork all other counters restart at
        /// zero.
        forks: u64 = value(&it.counters.forks);
        /// Readers that block the grace period in flight now.
        holdouts: u32 = it.holdouts;
        /// Whether a grace period is in flight or requested. One that no thread needs any more stays as it
        /// is, and nothing runs for it; the next waiter completes it.
        busy: bool = it.busy;
        /// The fence mode.
        fence_mode: FenceMode = it.env.threads.mode.resolve();
    }
}

statistics! {
    /// Counters of a `Domain` or an `Srcu`, and its present state. Counters only grow; in the child of a fork
    /// they restart for domains that were in use.
    DomainStatistics of it, held
    own {
        /// Grace periods that ended.
        grace_periods: u64 = it.counts.grace_periods;
        /// Of those, how many needed no fence: only their driver had ever read here.
        grace_periods_sole: u64 = it.counts.sole;
        /// Scans over readers.
        scans: u64 = it.counts.scans;
        /// Times new sections were directed to the other count: only in an `Srcu`.
        turns: u64 = it.counts.turns;
        /// Process-wide fences that it needed. One fence may have served several domains.
        fences: u64 = value(&it.counters.fences_gp) + value(&it.counters.fences_flag);
        /// Times a driver slept to wait for a reader.
        sleeps: u64 = value(&it.counters.sleeps);
        /// Sleeping drivers that a reader woke when it ended its section.
        reader_wakeups: u64 = value(&it.counters.reader_wakeups);
        /// Passes of the worker over this domain.
        looks: u64 = value(&it.counters.worker_passes);
        /// Callbacks and destructors run.
        callbacks: u64 = value(&it.counters.callbacks);
        /// Of those, how many panicked.
        callback_panics: u64 = value(&it.counters.panics);
        /// Barriers that were waited for.
        barriers: u64 = value(&it.counters.barriers);
        /// Times a stall report was due.
        stalls: u64 = it.counts.stalls;
        /// Times the budget was exceeded.
        over_budget: u64 = it.counts.over_budget;
        /// Objects that the budget had no room for.
        refused: u64 = value(&it.counters.refused);
        /// Objects leaked because there was no memory to queue them.
        leaked: u64 = value(&it.counters.leaked);
        /// Callbacks and objects that are queued or being run, and their bytes.
        queued: u64 = held.0;
        /// See `queued`.
        queued_bytes: u64 = held.1;
        /// The budget.
        budget_bytes: u64 = it.budget.0;
        /// See `budget_bytes`.
        budget_callbacks: u64 = it.budget.1;
        /// Threads that have read here. Threads that used the same slot one after the other count once;
        /// included are threads that read in a dropped domain whose records this one reuses. (Not counted in
        /// an `Srcu`.)
        readers: u32 = it.domain.readers.records();
        /// Whether a grace period is in flight or requested.
        busy: bool = it.busy;
        /// Whether the domain is at rest: nothing is queued, being run, driven or waited for.
        at_rest: bool = it.state.is_none_or(State::is_at_rest);
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests {
    use super::*;
    use crate::prim::counters::count;

    #[test]
    fn flushes_are_in_the_order_of_the_engine_s_causes() {
        let mut names = Vec::new();
        Flushes::default().publish("flushes", &mut |_, name, _| {
            names.push(name[1..].to_owned())
        });
        assert!(names.iter().eq(Cause::ALL.iter().map(|it| it.name())));
    }

    #[test]
    fn a_role_that_was_found_free_counts_as_taken_over() {
        let env = &crate::testing::program().env;
        count(&env.state.counters.found_free);
        count(&env.state.counters.found_free);
        assert_eq!(Statistics::of(&env.home).takeovers, 2);
        let mut published = 0;
        Statistics::publish(&env.home, &mut |name, _, value| {
            if name == "takeovers" {
                published = value;
            }
        });
        assert_eq!(published, 2);
    }
}
