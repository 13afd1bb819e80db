//! Where RCU's threads were over time.
//!
//! A thread's CPU is where it was woken (`target_cpu` of `sched_wakeup`) and where it then ran
//! (`sched_switch`): when balancing moves it in between, the two differ and both instants are kept. Only
//! changes are kept. A model takes this as input: the instants of moves do not follow from anything that RCU
//! does.

use crate::base::names::{Role, role};
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

/// Where the thread was at an instant: its last place up to then, or its first one if it is seen later only.
///
/// ```
/// use quiescent_trace::{Placed, placed_at};
///
/// let places = [Placed { time_ns: 10, cpu: 3 }, Placed { time_ns: 20, cpu: 1 }];
/// assert_eq!([0, 15, 20].map(|t| placed_at(&places, t)), [Some(3), Some(3), Some(1)]);
/// assert_eq!(placed_at(&[], 5), None);
/// ```
pub fn placed_at(places: &[Placed], time_ns: u64) -> Option<u32> {
    let after = places.partition_point(|p| p.time_ns <= time_ns);
    places.get(after.saturating_sub(1)).map(|p| p.cpu)
}

/// Follows the threads through a trace.
#[derive(Debug, Default)]
pub(crate) struct Follow {
    places: Placements,
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
        if !matches!(
            role(task),
            Role::GracePeriods | Role::OffloadGroup | Role::OffloadInvoker
        ) {
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

    pub(crate) fn finish(self) -> Placements {
        self.places
    }
}
