//! What a recorded machine would have done under other settings.
//!
//! A trace is replayed twice on the machine model: under the settings of the recording, and with a change.
//! The first run shows how well the model fits this machine; the second is meaningful only where it fits.
//! [`Line`] has the three figures side by side.
//!
//! | module | job |
//! |---|---|
//! | [`doings`] | input from outside RCU: threads' wake-ups, running times, callbacks, waits, timers |
//! | `inferred` | settings that follow from the trace |
//! | `amount` | how much work a run is, and the limits on it |
//! | `feed` | a machine with this input |
//! | `lines` | the three columns, figure by figure |
//! | `placement` | where RCU's threads run: as recorded, and elsewhere |
//! | `fit` | the choice among the few machines that a trace cannot distinguish |
//!
//! # What is input, and what the model produces
//! Input: wake-ups of every thread but RCU's, with CPU and time on it; callbacks, as steps of those threads;
//! wheel timers that are not RCU's; interrupts that only end a halt; where RCU's threads ran. The model's:
//! RCU's threads' wake-ups, grace periods and scans, delays, every tick and idle entry, and how long
//! synchronous, expedited and barriers' waits take. What follows a wait moves with it (`feed`).
//!
//! # What a change makes of the input
//! Where RCU's threads ran is kept. With a change that needs a boot `rcu_preempt` is on a CPU that others do
//! not use (`placement`), and `rcuog` and `rcuop` begin where the model has them begin, CPU `gp_cpu` and the
//! CPU that wakes them first, and stay. Those that the change takes away are not there.
//! Work that a callback starts (a work item that it queues) happens when it did.
//!
//! ```
//! use quiescent_sim::whatif::{self, BAD_FIT};
//! use quiescent_sim::{Options, settings};
//! use quiescent_trace::open;
//!
//! let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/traces/b-nocb-file100-cut.txt.xz");
//! let trace = whatif::read(path, open(path).unwrap(), quiescent_trace::Options::default()).unwrap();
//! let mut recorded = trace.options();
//! settings::apply(&mut recorded, &[("smp", "serial")])?; // what is known of the recorded machine
//! let mut changed = recorded.clone();
//! settings::apply(&mut changed, &[("jiffies_till_first_fqs", "8")])?;
//! let never = || false;
//! let [before, after] = [&recorded, &changed].map(|it| trace.run(it, 1, never).unwrap());
//! let lines = whatif::lines(&trace, &before, &after);
//! let gps = lines.iter().find(|it| it.metric == "grace_periods_per_s").unwrap();
//! assert!(gps.off().unwrap() < BAD_FIT && gps.changed < gps.modelled);
//! # Ok::<(), quiescent_sim::Error>(())
//! ```

use std::io;

use quiescent_trace::{
    Error, Figures, Input, Reader, Record, Recorded, Recorder, Role, Window, damage, role,
};

use crate::base::mean::mean;
use crate::input::options::{Options, Smp};
use crate::kernel::machine::Machine;
use crate::record::stats::Stats;

mod amount;
mod ask;
pub mod doings;
mod doubts;
mod feed;
mod fit;
mod inferred;
mod lines;
mod placement;
pub mod replay;
mod show;

pub use amount::{Amount, MOST_EVENTS, MOST_TICKS};
pub use ask::{Answer, Fed, Origin, Request, ask, check, origins};
pub use feed::Feed;
pub use fit::{FITTED, Fit};
pub use inferred::Inferred;
pub use lines::{Direction, Elsewhere, Line, SMALL, lines, recorded, spread};
pub use placement::Placement;
pub use show::{report, text};

use doings::{Awaited, Doings};
use lines::columns;

/// What each line and column of `quiescent whatif` is; `--help-metrics` prints it.
pub const METRICS: &str = include_str!("metrics.txt");

/// A figure of the model as recorded that is off by more than this share is a bad fit.
pub const BAD_FIT: f64 = 0.15;

/// Virtual time between two checks whether a run is over, in nanoseconds.
const SLICE: u64 = 1_000_000;

/// The same between two checks whether to stop.
const LONG_SLICE: u64 = 100_000_000;

/// Flush times that a run with lazy callbacks lasts: a trace shorter than a flush time says nothing about how
/// often there is one.
const FLUSHES: u64 = 10;

/// Most virtual time that is made of repetitions, in nanoseconds.
const LONGEST: u64 = 600_000_000_000;

/// A trace, read once.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Arrivals, placements, the window.
    pub recorded: Recorded,
    /// What the kernel did.
    pub figures: Figures,
    /// The input from outside RCU.
    pub doings: Doings,
    /// Settings that it tells.
    pub inferred: Inferred,
    /// What it lost, and what of it could not be read, in sentences ([`damage`]).
    pub damage: Vec<String>,
    /// Lines and records that could not be read.
    pub unread: u64,
}

/// Reads a trace as records come; [`read`] is the short form.
#[derive(Debug)]
pub struct Reading {
    recorder: Recorder,
    doings: doings::Follow,
    inferred: inferred::FollowTimer,
    records: u64,
    /// The most records that are kept.
    most: u64,
}

/// The most records of a trace that is replayed: what is kept of them needs up to 5 GB, and a compressed
/// trace of some KB can have any number.
pub const MOST_RECORDS: u64 = 1 << 25;

impl Reading {
    /// With what is known better.
    pub fn new(options: quiescent_trace::Options) -> Reading {
        Reading {
            recorder: Recorder::new(options),
            doings: doings::Follow::default(),
            inferred: inferred::FollowTimer::default(),
            records: 0,
            most: MOST_RECORDS,
        }
    }

    /// The next record. After [`MOST_RECORDS`] nothing is kept, and [`finish`](Reading::finish) says so.
    pub fn feed(&mut self, record: &Record<'_>) {
        self.records += 1;
        if self.records > self.most {
            return;
        }
        if let Some(event) = self.recorder.feed(record) {
            self.doings.see(record, &event);
            self.inferred.see(record, &event);
        }
    }

    /// The trace.
    ///
    /// # Errors
    /// If it has no window, does not show its tick rate, or has too many records.
    pub fn finish(self, summary: &quiescent_trace::Summary) -> Result<Trace, Error> {
        if self.records > self.most {
            let why = format!(
                "{} records, and {} are the most that a replay keeps",
                self.records, self.most
            );
            return Err(Error::Input {
                name: summary.name.clone(),
                source: io::Error::other(why),
                remedy: "record for a shorter time, or cut the file",
            });
        }
        let (recorded, figures) = self.recorder.finish(summary)?;
        let doings = self.doings.finish(recorded.hz);
        Ok(Trace {
            damage: damage(summary, &recorded.undecoded),
            unread: summary.malformed.count() + recorded.undecoded.count(),
            figures,
            inferred: self.inferred.finish(&recorded, &doings),
            doings,
            recorded,
        })
    }
}

/// Reads a whole trace. `name` is for errors.
///
/// # Errors
/// If it cannot be read to its end, or as [`Reading::finish`].
pub fn read<'a>(
    name: &str,
    input: impl Into<Input<'a>>,
    options: quiescent_trace::Options,
) -> Result<Trace, Error> {
    let mut reader = Reader::new(name, input);
    let mut reading = Reading::new(options);
    while let Some(record) = reader.next_record()? {
        reading.feed(&record);
    }
    reading.finish(reader.summary())
}

impl Trace {
    /// The machine as far as the trace tells it: CPUs, ticks, the jiffy number, who is offloaded, laziness,
    /// and what [`Inferred`] has.
    pub fn options(&self) -> Options {
        let it = &self.recorded;
        let base = Options {
            smp: Smp::Serial,
            nocbs: it.offloaded.iter().filter(|cpu| *cpu < it.cpus).collect(),
            lazy: it.lazy,
            ..Options::kernel_6_12(it.cpus, it.hz)
        };
        self.inferred.on(crate::whatif::replay::options(it, base))
    }

    /// The number of replays of the window: one, or, where some machine is lazy, enough for ten flush times.
    /// No more than ten minutes.
    pub fn times<'a>(&self, machines: impl IntoIterator<Item = &'a Options>) -> u64 {
        let lazy = machines.into_iter().filter(|it| it.lazy);
        let flush = lazy.map(|it| it.lazy_flush_ms * 1_000_000).max();
        let wanted = flush.map_or(0, |it| it * FLUSHES).min(LONGEST);
        wanted.div_ceil(doings::period(&self.recorded)).max(1)
    }

    /// Replays it on a machine, the window this number of times. None if `stop` said so.
    pub fn run(&self, options: &Options, times: u64, stop: impl Fn() -> bool) -> Option<Stats> {
        self.run_with(options, Feed::of(times), Placement::Recorded, stop)
    }

    /// The same, with RCU's threads placed so.
    pub fn run_with(
        &self,
        options: &Options,
        feed: Feed,
        placement: Placement,
        stop: impl Fn() -> bool,
    ) -> Option<Stats> {
        let fed = feed::machine(&self.recorded, &self.doings, options.clone(), feed);
        Some(self.live(fed, feed, placement, stop)?.1)
    }

    /// The same as recorded, once; the machine has kept its events.
    pub fn run_kept(&self, options: &Options, stop: impl Fn() -> bool) -> Option<(Machine, Stats)> {
        let feed = Feed::of(1);
        let mut fed = feed::machine(&self.recorded, &self.doings, options.clone(), feed);
        fed.machine.keep_trace();
        self.live(fed, feed, Placement::Recorded, stop)
    }

    fn live(
        &self,
        mut fed: feed::FedMachine,
        feed: Feed,
        placement: Placement,
        stop: impl Fn() -> bool,
    ) -> Option<(Machine, Stats)> {
        let cpus = fed.machine.sys.options.cpus;
        placement.apply(&mut fed.machine, cpus);
        let start = self.recorded.window.start_ns;
        let (mut now, mut slice) = (start, 0);
        let slices = amount::slices(self, feed.times);
        loop {
            let end = fed.end();
            // The run takes as many slices however long it is.
            let share = (now - start) as f64 / (end - start).max(1) as f64;
            while slice < slices && slice as f64 <= share.min(1.0) * slices as f64 {
                slice += 1;
                if stop() {
                    return None;
                }
            }
            if now >= end {
                break;
            }
            fed.machine.window(start, end);
            now = (now + SLICE).min(end);
            fed.run(now);
        }
        let mut stats = fed.machine.stats();
        stats.uncovered = fed.uncovered(now);
        stats
            .wakeups
            .retain(|it| !it.0.starts_with(feed::INTERRUPTS));
        uncount(&mut stats, fed.uncounted.get());
        Some((fed.machine, stats))
    }

    /// Waits of the window for this: how many were over in it, and how long they took on average, in
    /// milliseconds.
    pub fn waits(&self, what: Awaited) -> (usize, f64) {
        let window: Window = self.recorded.window;
        let all = self.doings.waits.iter();
        let those = all.filter(|it| it.what == what && window.contains(it.until));
        let long: Vec<f64> = those.map(|it| (it.until - it.from) as f64 / 1e6).collect();
        (long.len(), mean(long))
    }

    /// Expedited grace periods that ended in the window.
    pub fn expedited(&self) -> usize {
        let window: Window = self.recorded.window;
        let ends = self.doings.expedited.iter();
        ends.filter(|it| window.contains(**it)).count()
    }
}

/// Takes wake-ups away that a trace would not have had, from threads that are not RCU's; adds them below 0.
fn uncount(stats: &mut Stats, mut uncounted: i64) {
    for (name, count) in &mut stats.wakeups {
        if matches!(role(name), Role::Other | Role::OtherRcu) {
            let taken = uncounted.min(*count as i64);
            *count = count.saturating_add_signed(-taken);
            uncounted -= taken;
        }
    }
}
