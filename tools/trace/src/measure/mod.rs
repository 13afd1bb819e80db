//! The figures of a trace: what a model of the same machine is held against.
//!
//! * Grace periods are followed in `gps.rs`.
//! * Callbacks are followed in `record/callbacks.rs`.
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
use crate::{Distribution, Event, Percentiles, Record};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use window::Place;

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
}

/// What is counted of a window.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    gps: Follow,
    all: Vec<GracePeriod>,
    wakeups: HashMap<String, u64>,
    idle_ticks: u64,
    idle_entries: u64,
}

impl Counted {
    /// The next event.
    pub(crate) fn see(&mut self, record: &Record<'_>, event: &Event<'_>, place: Place) {
        if place == Place::Starts {
            *self = Counted {
                gps: std::mem::take(&mut self.gps),
                ..Counted::default()
            };
            self.gps.reset();
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
    }

    /// The figures of this window.
    pub(crate) fn finish(mut self, window: Window, delay: &Distribution) -> Figures {
        self.all
            .extend(self.gps.now.take().and_then(Running::figure));
        let mut wakeups = BTreeMap::new();
        for (task, n) in &self.wakeups {
            *wakeups.entry(key(task)).or_insert(0) += n;
        }
        Figures {
            window,
            gps: self.all,
            callback_delay: delay.percentiles(),
            wakeups,
            idle_ticks: self.idle_ticks,
            idle_entries: self.idle_entries,
        }
    }
}
