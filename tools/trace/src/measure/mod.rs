//! The figures of a trace: what a model of the same machine is held against.
//!
//! * Grace periods are followed in `gps.rs`.
//! * A callback is known by its head, from `rcu_callback` to `rcu_invoke_callback`, a block of `kvfree_rcu`
//!   from `rcu_kvfree_callback` to `rcu_invoke_kvfree_callback`.
//! * A wake-up is a `sched_wakeup`. `sched_waking` is the same wake-up seen from the waker: the two are never
//!   added.
//! * A tick is the expiry of the tick's high-resolution timer; it hits an idle CPU if the task it interrupts
//!   is the idle loop (pid 0).
//! * An idle entry is a `cpu_idle` with a state: every pass of the idle loop that reaches the halt.
//!
//! Counts are exact integers; a rate is a count over the length of the [`Window`]. Memory grows with the
//! number of different names and durations, callbacks that wait, and grace periods.

mod gps;
pub(crate) mod window;

pub use gps::GracePeriod;
pub(crate) use gps::{Follow, Running};
pub use window::{Bounds, END_MARK, START_MARK, Window};

use crate::base::names::key;
use crate::event::Move;
use crate::{Distribution, Event, Percentiles, Record};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use window::Place;

/// Callbacks that may be waited for at a time: further ones have no delay, so that a trace whose invocations
/// are missing does not eat the memory.
const WAITING_MOST: usize = 1 << 20;

/// The figures of a window. Times are nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figures {
    /// The window.
    pub window: Window,
    /// Every grace period that started in the window.
    pub gps: Vec<GracePeriod>,
    /// From queueing to invocation, both in the window.
    pub callback_delay: Option<Percentiles>,
    /// Wake-ups by kind of thread (`rcuog/N`).
    pub wakeups: BTreeMap<String, u64>,
    /// Ticks that hit the idle loop.
    pub idle_ticks: u64,
    /// Idle entries.
    pub idle_entries: u64,
}

impl Figures {
    /// A count of the window as a rate.
    pub fn per_second(&self, count: u64) -> f64 {
        count as f64 / self.window.seconds()
    }

    /// Grace periods that started and ended in the window.
    pub fn ended(&self) -> impl Iterator<Item = &GracePeriod> {
        self.gps.iter().filter(|gp| gp.end_ns.is_some())
    }

    /// Their mean duration; `None` without any.
    pub fn gp_duration_mean(&self) -> Option<f64> {
        let (n, sum) = self
            .gps
            .iter()
            .filter_map(GracePeriod::duration_ns)
            .fold((0u64, 0u128), |(n, sum), it| (n + 1, sum + u128::from(it)));
        (n > 0).then(|| sum as f64 / n as f64)
    }

    /// All wake-ups.
    pub fn total_wakeups(&self) -> u64 {
        self.wakeups.values().sum()
    }
}

/// What is counted of a window.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    gps: Follow,
    all: Vec<GracePeriod>,
    /// By their heads: when they were queued, whether in the window.
    waiting: HashMap<u64, (u64, bool)>,
    delay: Distribution,
    wakeups: HashMap<String, u64>,
    idle_ticks: u64,
    idle_entries: u64,
}

impl Counted {
    /// The next event. Whether it is the invocation of a callback whose queueing was not seen.
    pub(crate) fn see(&mut self, record: &Record<'_>, event: &Event<'_>, place: Place) -> bool {
        if place == Place::Starts {
            *self = Counted {
                gps: std::mem::take(&mut self.gps),
                waiting: std::mem::take(&mut self.waiting),
                ..Counted::default()
            };
            self.gps.reset();
            self.waiting.values_mut().for_each(|it| it.1 = false);
        }
        let inside = place != Place::Outside;
        let over = self.gps.see(record, event, (inside, false));
        self.all.extend(over.and_then(Running::figure));
        match *event {
            Event::Wakeup {
                task, new: false, ..
            } if inside => match self.wakeups.get_mut(task) {
                Some(n) => *n += 1,
                None => drop(self.wakeups.insert(task.to_owned(), 1)),
            },
            Event::Tick { .. } => self.idle_ticks += u64::from(inside && record.pid == 0),
            Event::IdleEntry { .. } => self.idle_entries += u64::from(inside),
            _ => {}
        }
        match event.moves() {
            Some(Move::Queued { head, .. }) => {
                if self.waiting.len() < WAITING_MOST || self.waiting.contains_key(&head) {
                    self.waiting.insert(head, (record.time_ns, inside));
                }
                false
            }
            Some(Move::Invoked { head, .. }) => {
                let queued = self.waiting.remove(&head);
                if let (Some((time, true)), true) = (queued, inside) {
                    self.delay.add(record.time_ns.saturating_sub(time));
                }
                queued.is_none()
            }
            Some(Move::Bulk { .. }) | None => false,
        }
    }

    /// The figures of this window.
    pub(crate) fn finish(mut self, window: Window) -> Figures {
        self.all
            .extend(self.gps.now.take().and_then(Running::figure));
        let mut wakeups = BTreeMap::new();
        for (task, n) in &self.wakeups {
            *wakeups.entry(key(task)).or_insert(0) += n;
        }
        Figures {
            window,
            gps: self.all,
            callback_delay: self.delay.percentiles(),
            wakeups,
            idle_ticks: self.idle_ticks,
            idle_entries: self.idle_entries,
        }
    }
}
