//! Publishing the process's counters to the page when they have changed: at the end of a grace period, and
//! before a driver or the worker sleeps. At other times nothing is copied, so this causes no additional
//! wake-up (rule R5).
//!
//! One thread writes at a time; a thread that comes meanwhile requests another round from it.

use std::sync::atomic::{AtomicU32, Ordering};

use quiescent_core::domain::env::Env;
use quiescent_core::domain::statistics::Statistics;
use quiescent_core::prim;

use super::page::{HOLDOUTS, Page, page};

/// The number of writers and of requested rounds.
static WANTED: AtomicU32 = AtomicU32::new(0);

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
    let mut counters = page.counters.iter();
    Statistics::publish(&env.home, &mut |_, _, value| {
        if let Some(place) = counters.next() {
            place.value.store(value, Ordering::Relaxed);
        }
    });
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

    /// A thread of the parent was writing, and another one wanted a further round.
    #[test]
    fn in_the_child_of_a_fork_no_thread_writes() {
        WANTED.store(2, Ordering::Relaxed);
        forked();
        assert_eq!(WANTED.load(Ordering::Relaxed), 0);
    }
}
