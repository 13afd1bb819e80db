//! Where RCU's threads were over time.
//!
//! A thread's CPU is where it was woken (`target_cpu` of `sched_wakeup`) and where it then ran
//! (`sched_switch`): when balancing moves it in between, the two differ and both instants are kept. Only
//! changes are kept. A model takes this as input: the instants of moves do not follow from anything that RCU
//! does.

use crate::base::names::role;
use crate::{Event, Record};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// From this instant on a thread was on this CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Placed {
    /// The instant, ns.
    pub time_ns: u64,
    /// The CPU.
    pub cpu: u32,
}

/// Placements of `rcu_preempt`, `rcuog/N` and `rcuop/N`, by name.
pub type Placements = BTreeMap<Arc<str>, Vec<Placed>>;

/// Follows the threads through a trace.
#[derive(Debug, Default)]
pub(crate) struct Follow {
    pub(crate) places: Placements,
}

impl Follow {
    pub(crate) fn see(&mut self, record: &Record<'_>, event: &Event<'_>) {
        match *event {
            Event::Wakeup { task, target, .. } => self.at(task, record.time_ns, target),
            Event::Switch { next, .. } => self.at(next, record.time_ns, record.cpu),
            _ => {}
        }
    }

    fn at(&mut self, task: &str, time_ns: u64, cpu: u32) {
        if !role(task).serves_callbacks() {
            return;
        }
        let placed = Placed { time_ns, cpu };
        match self.places.get_mut(task) {
            None => {
                self.places.insert(Arc::from(task), vec![placed]);
            }
            Some(places) if places.last().is_none_or(|last| last.cpu != cpu) => places.push(placed),
            Some(_) => {}
        }
    }
}
