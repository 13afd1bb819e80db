//! Code in place: an owner runs the code of its own lane, inside its calls that retire.
//!
//! The thread that retired a value with a destructor also drops it, in one of its later calls that retire: at
//! most two values a call, after everything else that the call does. So the caches are warm, the memory is
//! freed on the thread that retired it, and no other thread is woken.
//!
//! # Where it does not run
//! Inside a section of that thread (the code may take a lock whose holder waits for readers), inside another
//! callback or destructor, in a thread that hands reclaiming off. The thread checks this *before* it pops,
//! because a popped entry cannot be put back. Entries that it does not pop stay queued: it pops them in a
//! later call, or the worker takes them. The worker does so at the deadline, near the budget, or when the
//! owner has queued for some time and has run no entry of a batch that is done
//! ([`Cpu::refill`](quiescent_engine::Cpu::refill)).
//!
//! While such code runs, its thread is marked as running a callback, so what the code retires is only queued.
//!
//! # Threads that wait for it
//! A barrier or a drain may take the queue over while its owner runs popped entries: see `[RUN-1]` in
//! [`lane`](crate::queue::lane). The child of a fork discards the entries that other threads were running.
//!
//! # Cost
//! About 60 instructions beyond the destructor: the push, the check of the thread's own words, the mark,
//! `catch_unwind`, and the store of `running` with its check. No lock, no locked instruction.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use quiescent_engine::LANES;
use quiescent_engine::credit::{Queued, Urgency};

use crate::domain::enqueue::{help_code, push_code};
#[cfg(all(debug_assertions, not(quiescent_model)))]
use crate::domain::report::Report;
use crate::domain::run;
use crate::domain::state::State;
#[cfg(all(debug_assertions, not(quiescent_model)))]
use crate::prim;
use crate::prim::Ordering;
use crate::prim::counters::add;
use crate::queue::kind;
use crate::queue::lane::Entry;
use crate::queue::per_thread::{CODE, OWN, Queue, QueueCore};
use crate::reader::local::Local;
use quiescent_engine::cpu::Lane;

/// A destructor that takes longer than this inside a call that retires is reported, in debug builds.
#[cfg(all(debug_assertions, not(quiescent_model)))]
pub(super) const SLOW_NS: u64 = 10_000_000;

/// Queues code that its owner runs, and runs one or two done entries, if the thread may do that here.
#[inline(never)]
pub fn own(local: &Local, queue: &'static Queue, entry: Entry, bytes: u64) {
    if !local.may_run() {
        return own_inside(local, queue, entry, bytes);
    }
    push_own(local, queue, entry, bytes);
}

#[inline(always)]
fn push_own(local: &Local, queue: &'static Queue, entry: Entry, bytes: u64) {
    let lane = &queue.lanes[OWN];
    let help = |popped| help_code(queue, OWN, (entry, bytes), popped, Urgency::Lazy);
    let pop = |at| run_popped(local, queue, [Some(lane.popped(at)), None]);
    let pop_last = |at, next| run_popped(local, queue, lane.popped_last(at, next));
    lane.push::<true>(entry, bytes, true, help, pop, pop_last);
}

/// The thread is inside a section or a callback, or it has read in a domain of the program.
#[cold]
#[inline(never)]
fn own_inside(local: &Local, queue: &'static Queue, entry: Entry, bytes: u64) {
    if !queue.is_dummy() && State::of(queue).may_run(local) {
        return push_own(local, queue, entry, bytes);
    }
    push_code(queue, OWN, entry, bytes, Urgency::Lazy);
}

/// Queues a closure that its owner runs.
pub fn own_call(local: &Local, queue: &'static Queue, entry: Entry, bytes: u64, urgency: Urgency) {
    let is_covered =
        urgency != Urgency::Prompt || queue.lanes[CODE].prompt.load(Ordering::Relaxed) != 0;
    match is_covered {
        true => own(local, queue, entry, bytes),
        false => push_code(queue, OWN, entry, bytes, urgency),
    }
}

/// Runs the entries that the owner of `queue` has popped from its own lane, on the owner's thread, inside a
/// call that retires. The thread is marked with plain stores; no lock is taken, unless a taker has asked for
/// a report.
#[inline]
fn run_popped(local: &Local, queue: &'static Queue, popped: [Option<Entry>; 2]) {
    let [Some(first), second] = popped else {
        return;
    };
    local.enter_callback();
    run_one(queue, first);
    if let Some(second) = second {
        run_second(queue, second);
    }
    local.leave_callback();
    if queue.lanes[OWN].end_running() {
        State::of(queue).report_run(queue); // [RUN-1]
    }
}

/// Unless the first one has forked, and this is the child: the parent runs the second one.
#[cold]
#[inline(never)]
fn run_second(queue: &'static Queue, entry: Entry) {
    if !queue.lanes[OWN].running().is_empty() {
        run_one(queue, entry);
    }
}

#[inline(always)]
fn run_one(queue: &'static Queue, entry: Entry) {
    #[cfg(all(debug_assertions, not(quiescent_model)))]
    let begun = prim::now_ns();
    // SAFETY: an entry of a lane of code; done, popped by its owner, and run once.
    let run = || unsafe { (kind::kind(entry.what).run)(entry.object) };
    if let Err(payload) = catch_unwind(AssertUnwindSafe(run)) {
        panicked_in_place(queue, entry, payload);
    }
    #[cfg(all(debug_assertions, not(quiescent_model)))]
    report_if_slow(queue, entry, prim::now_ns().saturating_sub(begun));
}

#[cold]
#[inline(never)]
fn panicked_in_place(queue: &'static Queue, entry: Entry, payload: Box<dyn Any + Send>) {
    // SAFETY: an entry of a lane of code.
    let name = unsafe { kind::kind(entry.what) }.name;
    State::of(queue).panicked(name, payload);
}

/// In debug builds: reports a destructor that kept a call of `retire` for long.
#[cfg(all(debug_assertions, not(quiescent_model)))]
pub(super) fn report_if_slow(queue: &'static Queue, entry: Entry, ns: u64) {
    if ns > SLOW_NS {
        // SAFETY: an entry of a lane of code.
        let name = (unsafe { kind::kind(entry.what) }.name)();
        let took = std::time::Duration::from_nanos(ns);
        State::of(queue)
            .env()
            .host
            .tell(Report::Slow { name, took });
    }
}

impl State {
    /// Frees or runs what the owner has popped.
    pub(super) fn consume(
        &'static self,
        queue: &'static Queue,
        lane: usize,
        popped: [Option<Entry>; 2],
    ) {
        match lane {
            OWN => run_popped(&self.env().local(), queue, popped),
            _ => run::free(popped),
        }
    }

    /// True if the calling thread may run code of the program inside a call that retires: it is in no
    /// section, as far as that is known (guards that may be sent belong to no thread), and runs no callback.
    pub fn may_run(&self, local: &Local) -> bool {
        local.may_run() || !(local.in_callback() || self.env().threads.in_any_section(local))
    }

    /// The owner of the queue has run what it had popped, and a taker has asked for it. `[RUN-1]`
    #[cold]
    #[inline(never)]
    pub fn report_run(&'static self, queue: &Queue) {
        let range = queue.answer(&mut queue.lock());
        self.report_ran(queue, Lane::Own, range);
    }

    /// Counts what the owner has run itself, before the engine is informed of it.
    pub fn count_run(&self, core: &QueueCore, queued: &[Queued; LANES]) {
        if let Some(to) = queued[OWN].freed_to {
            add(
                &self.counters.callbacks,
                to - core.cpu.list(Lane::Own).head(),
            );
        }
    }
}
