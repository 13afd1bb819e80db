//! What is only counted: wake-ups, ticks, idle entries, soft interrupts, offload events.
//!
//! * A wake-up is a `sched_wakeup`. `sched_waking` is the same wake-up seen from the waker: the two are never
//!   added.
//! * A tick is the expiry of the tick's high-resolution timer; it hits an idle CPU if the task it interrupts
//!   is the idle loop (pid 0).
//! * An idle entry is a `cpu_idle` with a state: every pass of the idle loop that reaches the halt.

use crate::base::names::key;
use crate::{Event, Record};
use std::collections::{BTreeMap, HashMap};

/// RCU's soft interrupt.
const RCU_SOFTIRQ: u32 = 9;

/// Counts of a window.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    wakeups: HashMap<String, u64>,
    pub(crate) ticks: u64,
    pub(crate) idle_ticks: Vec<u64>,
    pub(crate) idle_entries: Vec<u64>,
    pub(crate) rcu_softirqs: u64,
    nocb_wake: HashMap<String, u64>,
}

impl Counts {
    pub(crate) fn see(&mut self, record: &Record<'_>, event: &Event<'_>) {
        match *event {
            Event::Wakeup {
                task, new: false, ..
            } => one_more(&mut self.wakeups, task),
            Event::Tick { .. } => {
                self.ticks += 1;
                if record.pid == 0 {
                    at_cpu(&mut self.idle_ticks, record.cpu);
                }
            }
            Event::IdleEntry { cpu, .. } => at_cpu(&mut self.idle_entries, cpu),
            Event::Softirq { vec: RCU_SOFTIRQ } => self.rcu_softirqs += 1,
            Event::NocbWake { what, .. } => one_more(&mut self.nocb_wake, what),
            // Counted in `gps.rs` and `callbacks.rs`, or not at all.
            _ => {}
        }
    }

    /// Wake-ups by kind of thread.
    pub(crate) fn wakeups(&self) -> BTreeMap<String, u64> {
        let mut kinds = BTreeMap::new();
        for (task, n) in &self.wakeups {
            *kinds.entry(key(task)).or_insert(0) += n;
        }
        kinds
    }

    /// Offload events by reason.
    pub(crate) fn nocb_wake(&self) -> BTreeMap<String, u64> {
        self.nocb_wake
            .iter()
            .map(|(k, n)| (k.clone(), *n))
            .collect()
    }
}

/// Allocates for the first of a name only.
fn one_more(counts: &mut HashMap<String, u64>, name: &str) {
    match counts.get_mut(name) {
        Some(n) => *n += 1,
        None => {
            counts.insert(name.to_owned(), 1);
        }
    }
}

fn at_cpu(counts: &mut Vec<u64>, cpu: u32) {
    let place = cpu as usize;
    if counts.len() <= place {
        counts.resize(place + 1, 0);
    }
    counts[place] += 1;
}
