//! The figures of a trace: what a model of the same machine is held against.
//!
//! They are those of `data/kernel-measurements.json`, defined where they are counted: grace periods in
//! `gps.rs`, callbacks in `callbacks.rs`, wake-ups, ticks and idle entries in `counts.rs`. Counts are exact
//! integers; a rate is a count over the length of the [`Window`]. One pass over the trace, in memory that
//! grows with the number of different names and durations, callbacks that wait, and grace periods.

mod callbacks;
mod counts;
mod gps;
pub(crate) mod window;

pub use gps::{FirstScan, GracePeriod, Holdouts};
pub use window::{Bounds, END_MARK, START_MARK, Window};

use crate::{Error, Event, Faults, Percentiles, Reader, Record, Source, Summary};
use serde::Serialize;
use std::collections::BTreeMap;
use window::{Follow, Place};

/// The figures of a window. Times are nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figures {
    /// The window.
    pub window: Window,
    /// CPUs of the machine; the length of the tables by CPU.
    pub cpus: u32,
    /// Grace periods that started and ended in the window.
    pub grace_periods: u64,
    /// From `start` to `end`.
    pub gp_duration: Option<Percentiles>,
    /// From one's `end` to the next one's `start`.
    pub gp_gap: Option<Percentiles>,
    /// Grace periods by their number of scans.
    pub scans_per_gp: BTreeMap<u32, u64>,
    /// First scans in the window, by the kind of CPU that they left.
    pub holdouts_after_first_scan: Holdouts,
    /// Every grace period that started in the window.
    pub gps: Vec<GracePeriod>,
    /// Callbacks queued.
    pub callbacks: u64,
    /// Callbacks invoked, blocks of `kvfree_rcu` among them.
    pub invoked: u64,
    /// Those blocks: most are queued without an event.
    pub kvfree: u64,
    /// Invoked ones whose queueing is not in the trace: queued before it, or silently.
    pub unpaired: u64,
    /// Queued ones that could not be followed, because more than a million were waiting.
    pub untracked: u64,
    /// From queueing to invocation, both in the window.
    pub callback_delay: Option<Percentiles>,
    /// The same by function.
    pub by_function: BTreeMap<String, Function>,
    /// Sizes of batches, as they started.
    pub batches: Option<Percentiles>,
    /// Wake-ups by kind of thread (`rcuog/N`).
    pub wakeups: BTreeMap<String, u64>,
    /// Ticks taken.
    pub ticks: u64,
    /// Ticks that hit the idle loop, by CPU.
    pub ticks_on_idle: Vec<u64>,
    /// Idle entries by CPU.
    pub idle_entries: Vec<u64>,
    /// RCU soft interrupts.
    pub rcu_softirqs: u64,
    /// Offload events by reason.
    pub nocb_wake: BTreeMap<String, u64>,
    /// Known events that could not be decoded.
    pub undecoded: Faults,
}

/// Callbacks of one function.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Function {
    /// How many were queued.
    pub queued: u64,
    /// From queueing to invocation.
    pub delay: Option<Percentiles>,
}

impl Figures {
    /// A count of the window as a rate.
    pub fn per_second(&self, count: u64) -> f64 {
        count as f64 / self.window.seconds()
    }

    /// All wake-ups.
    pub fn total_wakeups(&self) -> u64 {
        self.wakeups.values().sum()
    }

    /// Ticks on idle CPUs.
    pub fn total_ticks_on_idle(&self) -> u64 {
        self.ticks_on_idle.iter().sum()
    }

    /// Idle entries.
    pub fn total_idle_entries(&self) -> u64 {
        self.idle_entries.iter().sum()
    }
}

/// What is counted of a window.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    gps: gps::Follow,
    callbacks: callbacks::Follow,
    counts: counts::Counts,
}

impl Counted {
    /// The next event. Whether it is the invocation of a callback whose queueing was not seen.
    pub(crate) fn see(&mut self, record: &Record<'_>, event: &Event<'_>, place: Place) -> bool {
        if place == Place::Starts {
            self.gps.reset();
            self.callbacks.reset();
            self.counts = counts::Counts::default();
        }
        let inside = place != Place::Outside;
        self.gps.see(record, event, inside);
        if inside {
            self.counts.see(record, event);
        }
        self.callbacks.see(record, event, inside)
    }

    /// The figures of this window.
    pub(crate) fn finish(self, window: Window, undecoded: Faults, cpus: u32) -> Figures {
        let gps = self.gps.finish(window);
        let (callbacks, functions) = self.callbacks.finish();
        let (wakeups, nocb_wake) = (self.counts.wakeups(), self.counts.nocb_wake());
        let table = |mut counts: Vec<u64>| {
            counts.resize(counts.len().max(cpus as usize), 0);
            counts
        };
        let by_function = functions.into_iter().map(|(name, (queued, delay))| {
            let delay = delay.percentiles();
            (name, Function { queued, delay })
        });
        Figures {
            window,
            cpus,
            grace_periods: gps.count,
            gp_duration: gps.duration.percentiles(),
            gp_gap: gps.gap.percentiles(),
            scans_per_gp: gps.scans,
            holdouts_after_first_scan: gps.holdouts,
            gps: gps.all,
            callbacks: callbacks.queued,
            invoked: callbacks.invoked,
            kvfree: callbacks.kvfree,
            unpaired: callbacks.unpaired,
            untracked: callbacks.untracked,
            callback_delay: callbacks.delay.percentiles(),
            by_function: by_function.collect(),
            batches: callbacks.batches.percentiles(),
            wakeups,
            ticks: self.counts.ticks,
            ticks_on_idle: table(self.counts.idle_ticks),
            idle_entries: table(self.counts.idle_entries),
            rcu_softirqs: self.counts.rcu_softirqs,
            nocb_wake,
            undecoded,
        }
    }
}

/// Counts while the caller reads: feed it every record, then finish.
#[derive(Debug)]
pub struct Measure {
    window: Follow,
    counted: Counted,
}

impl Measure {
    /// Of this window; `None`: between the marks, or everything.
    pub fn new(window: Option<Window>) -> Self {
        Measure {
            window: Follow::new(window),
            counted: Counted::default(),
        }
    }

    /// The next record of the trace.
    pub fn feed(&mut self, record: &Record<'_>) {
        if let Some((event, place)) = self.window.see(record) {
            self.counted.see(record, &event, place);
        }
    }

    /// The figures.
    ///
    /// # Errors
    /// [`Error::Missing`] when the trace has no record, no clock with a unit, or no time in the window.
    pub fn finish(self, summary: &Summary) -> Result<Figures, Error> {
        let window = self.window.finish(summary)?;
        let undecoded = self.window.undecoded;
        Ok(self.counted.finish(window, undecoded, summary.cpus()))
    }
}

/// Reads a whole trace and gives its figures.
///
/// # Errors
/// As [`Reader::next_record`] and [`Measure::finish`].
///
/// ```
/// use quiescent_trace::{Reader, measure, open};
///
/// let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/traces/classic-idle.txt.xz");
/// let figures = measure(&mut Reader::new(path, open(path)?), None)?;
/// assert_eq!(figures.grace_periods, 0);
/// assert_eq!(figures.total_wakeups(), 28);
/// # Ok::<(), quiescent_trace::Error>(())
/// ```
pub fn measure<R: Source>(
    reader: &mut Reader<R>,
    window: Option<Window>,
) -> Result<Figures, Error> {
    let mut measure = Measure::new(window);
    while let Some(record) = reader.next_record()? {
        measure.feed(&record);
    }
    measure.finish(reader.summary())
}
