//! Publishing the process's counters to the page when they have changed: at the end of a grace period, and
//! before a driver or the worker sleeps. At other times nothing is copied, so this causes no additional
//! wake-up (rule R5).
//!
//! One thread writes at a time; a thread that comes meanwhile requests another round from it.

use std::sync::atomic::{AtomicU32, Ordering};

use quiescent_engine::credit::Cause;

use quiescent_core::domain::env::Env;
use quiescent_core::prim;
use quiescent_core::prim::counters::value;

use super::page::{COUNTERS, HOLDOUTS, Page, page};

/// The number of writers and of requested rounds.
static WANTED: AtomicU32 = AtomicU32::new(0);

/// The counters' names, in the order of [`values`].
pub(super) const NAMES: [&str; 48] = [
    "grace_periods",
    "grace_periods_sole",
    "scans",
    "leaves_scanned",
    "stalls",
    "fences_gp",
    "fences_flag",
    "fences_take",
    "fences_issued",
    "fences_shared",
    "wakeups",
    "reader_wakeups",
    "sleeps",
    "hand_overs",
    "takeovers",
    "callbacks",
    "callback_panics",
    "callback_exits",
    "barriers",
    "worker_passes",
    "worker_wakeups.timer",
    "worker_wakeups.kick",
    "worker_wakeups.pressure",
    "worker_wakeups.backlog",
    "flushes.lazy",
    "flushes.prompt",
    "flushes.batch",
    "flushes.hurry",
    "flushes.barrier",
    "flushes.drain",
    "flushes.pressure",
    "flushes.budget",
    "pressure_events",
    "pressure_calls",
    "pressure_passes",
    "worker_errors",
    "over_budget",
    "refused",
    "helped",
    "gave_way",
    "leaked",
    "not_inherited",
    "unregistered_sections",
    "unregistered_queued",
    "registered",
    "helper_threads",
    "budget_bytes",
    "budget_callbacks",
];

const _: () = assert!(NAMES.len() <= COUNTERS);

fn values(env: &'static Env) -> [u64; NAMES.len()] {
    let domain = &env.state;
    let core = domain.lock();
    let counts = core.engine.counts();
    let budget = core.engine.budget();
    drop(core);
    let c = &domain.counters;
    let flushes = |cause| counts.flushes.of(cause);
    [
        counts.grace_periods,
        counts.sole,
        counts.scans,
        counts.leaves_scanned,
        counts.stalls,
        value(&c.fences_gp),
        value(&c.fences_flag),
        value(&c.fences_take),
        env.fences.issued(),
        value(&c.fences_shared),
        value(&c.wakeups),
        value(&c.reader_wakeups),
        value(&c.sleeps),
        value(&c.hand_overs),
        counts.takeovers + value(&c.found_free),
        value(&c.callbacks),
        value(&c.panics),
        value(&c.exits),
        value(&c.barriers),
        value(&c.worker_passes),
        value(&c.woken_timer),
        value(&c.woken_kick),
        value(&c.woken_pressure),
        counts.backlogs,
        flushes(Cause::Lazy),
        flushes(Cause::Prompt),
        flushes(Cause::Batch),
        flushes(Cause::Hurry),
        flushes(Cause::Barrier),
        flushes(Cause::Drain),
        flushes(Cause::Pressure),
        flushes(Cause::Budget),
        value(&c.pressure_events),
        value(&c.pressure_calls),
        counts.pressure,
        value(&c.worker_errors),
        counts.over_budget,
        value(&c.refused),
        value(&c.helped),
        value(&c.gave_way),
        value(&c.leaked),
        value(&c.not_inherited),
        value(&env.threads.unregistered),
        value(&c.unregistered_queued),
        u64::from(env.threads.slots.registered()),
        value(&c.helpers),
        budget.bytes,
        budget.count,
    ]
}

/// Updates the counters. With no lock held.
#[cold]
pub(crate) fn publish(env: &'static Env) {
    let Some(page) = page() else { return };
    if WANTED.fetch_add(1, Ordering::AcqRel) != 0 {
        return; // the writing thread does another round
    }
    let mut seen = 1;
    loop {
        write(env, page);
        let order = (Ordering::AcqRel, Ordering::Acquire);
        match WANTED.compare_exchange(seen, 0, order.0, order.1) {
            Ok(_) => return,
            Err(more) => seen = more,
        }
    }
}

/// In the child of a fork no thread is writing.
pub(super) fn forked() {
    WANTED.store(0, Ordering::Relaxed);
}

fn write(env: &'static Env, page: &Page) {
    for (place, value) in page.counters.iter().zip(values(env)) {
        place.value.store(value, Ordering::Relaxed);
    }
    let domain = &env.state;
    let (mut cpus, mut count) = ([0; HOLDOUTS], 0);
    let core = domain.lock();
    for (place, cpu) in cpus.iter_mut().zip(core.engine.holdouts()) {
        *place = cpu;
        count += 1;
    }
    drop(core);
    let slots = cpus[..count]
        .iter()
        .filter_map(|&cpu| env.threads.slots.slot(cpu));
    let readers = slots.map(|slot| (slot.thread(), slot.words.reader.nesting()));
    let inside = readers.filter(|reader| reader.1 != 0);
    let words = inside.map(|(thread, nesting)| nesting << 32 | u64::from(thread));
    let ended = words.chain(std::iter::repeat(0));
    for (place, word) in page.holdouts.iter().zip(ended) {
        place.store(word, Ordering::Relaxed);
    }
    page.header
        .published_ns
        .store(prim::now_ns(), Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiescent_core::prim::counters::count;

    #[test]
    fn flushes_are_in_the_order_of_the_engine_s_causes() {
        let causes = NAMES.iter().filter_map(|it| it.strip_prefix("flushes."));
        assert!(causes.eq(Cause::ALL.iter().map(|it| it.name())));
    }

    #[test]
    fn a_role_that_was_found_free_counts_as_taken_over() {
        let env = crate::global::env();
        let at = NAMES
            .iter()
            .position(|it| *it == "takeovers")
            .expect("it is one");
        let before = (values(env)[at], crate::statistics().takeovers);
        count(&env.state.counters.found_free);
        count(&env.state.counters.found_free);
        assert!(values(env)[at] >= before.0 + 2 && crate::statistics().takeovers >= before.1 + 2);
    }

    /// A thread of the parent was writing, and another one wanted a further round.
    #[test]
    fn in_the_child_of_a_fork_no_thread_writes() {
        WANTED.store(2, Ordering::Relaxed);
        forked();
        assert_eq!(WANTED.load(Ordering::Relaxed), 0);
    }
}
