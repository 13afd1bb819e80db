//! What a recorded machine would have done under other settings.
//!
//! A trace is replayed twice on the machine model: under the settings that it was recorded under, and with a change. The first run says how well the
//! model fits this machine; only where it does is the second worth reading. [`Line`] has the three figures side by side.
//!
//! | module | job |
//! |---|---|
//! | [`doings`] | what came from outside RCU: threads' wake-ups, how long they ran, what they queued, whom they waited for, timers |
//! | `told` | settings that the trace tells without saying so |
//! | `feed` | a machine that has all of it before it |
//! | `fit` | which of the few machines that a trace does not tell apart it was |
//!
//! # What is input, and what the model produces
//! Input: wake-ups of every thread but RCU's, with CPU and time on it; callbacks, as steps of those threads; wheel timers that are not RCU's; where RCU's threads ran. The
//! model's: RCU's threads' wake-ups, grace periods and scans, delays, every tick and idle entry, and how long synchronous waits take. What follows
//! a wait moves with it (`feed`).
//!
//! # What a change makes of the input
//! Where `rcu_preempt` ran is kept. Threads that the trace does not have (`rcuog`, `rcuop` of a trace without offloading) begin where the model has them begin, CPU `gp_cpu` and
//! the CPU that wakes them first, and stay; machine-facts P1 and P2 say that those of a real machine nearly do. Those that the change takes away are not there.
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
//! settings::apply(&mut recorded, &[("idle_loop", "retain")])?; // what the trace does not tell
//! let mut changed = recorded.clone();
//! settings::apply(&mut changed, &[("jiffies_till_first_fqs", "8")])?;
//! let never = || false;
//! let [before, after] = [&recorded, &changed].map(|it| trace.run(it, 1, never).unwrap());
//! let lines = whatif::lines(&trace, &before, &after);
//! let gps = lines.iter().find(|it| it.metric == "grace_periods_per_s").unwrap();
//! assert!(gps.off().unwrap() < BAD_FIT && gps.changed < gps.modelled);
//! # Ok::<(), quiescent_sim::Error>(())
//! ```

use std::io::BufRead;

use quiescent_engine::CpuId;
use quiescent_trace::{
    Error, Figures, Measure, Reader, Record, Recorded, Recorder, Role, Window, role,
};

use crate::experiments::mean;
use crate::{Options, Smp, Stats};

pub mod doings;
mod feed;
mod fit;
mod told;

pub use fit::{FITTED, Fit};
pub use told::Told;

use doings::Doings;

/// A figure of the model as recorded that is off by more than this share is a bad fit.
pub const BAD_FIT: f64 = 0.15;

/// Virtual time between two looks at whether to stop, in nanoseconds.
const SLICE: u64 = 100_000_000;

/// Flush times that a run with lazy callbacks lasts: a trace shorter than a flush time says nothing about how often there is one.
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
    /// What came from outside.
    pub doings: Doings,
    /// Settings that it tells.
    pub told: Told,
}

/// Reads a trace as records come; [`read`] is the short form.
#[derive(Debug)]
pub struct Reading {
    recorder: Recorder,
    measure: Measure,
    doings: doings::Follow,
    told: told::Follow,
}

impl Reading {
    /// With what is known better.
    pub fn new(options: quiescent_trace::Options) -> Reading {
        Reading {
            recorder: Recorder::new(options),
            measure: Measure::new(options.window),
            doings: doings::Follow::default(),
            told: told::Follow::default(),
        }
    }

    /// The next record.
    pub fn feed(&mut self, record: &Record<'_>) {
        self.recorder.feed(record);
        self.measure.feed(record);
        self.doings.feed(record);
        self.told.feed(record);
    }

    /// The trace.
    ///
    /// # Errors
    /// If it has no window to look at, or does not tell its tick rate.
    pub fn finish(self, summary: &quiescent_trace::Summary) -> Result<Trace, Error> {
        let recorded = self.recorder.finish(summary)?;
        Ok(Trace {
            figures: self.measure.finish(summary)?,
            doings: self.doings.finish(recorded.hz),
            told: self.told.finish(&recorded),
            recorded,
        })
    }
}

/// Reads a whole trace. `name` is for errors.
///
/// # Errors
/// If it cannot be read to its end, or as [`Reading::finish`].
pub fn read(
    name: &str,
    input: impl BufRead,
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
    /// The machine as far as the trace tells it: CPUs, ticks, the jiffy number, who is offloaded, laziness, and what [`Told`] has.
    pub fn options(&self) -> Options {
        let it = &self.recorded;
        let base = Options {
            smp: Smp::Serial,
            nocbs: it.offloaded.iter().collect(),
            lazy: it.lazy,
            ..Options::kernel_6_12(it.cpus, it.hz)
        };
        self.told.on(crate::replay::options(it, base))
    }

    /// How often the window has to be lived through: once, or, where some machine is lazy, until ten flush times have passed. No more than ten minutes.
    pub fn times<'a>(&self, machines: impl IntoIterator<Item = &'a Options>) -> u64 {
        let lazy = machines.into_iter().filter(|it| it.lazy);
        let flush = lazy.map(|it| it.lazy_flush_ms * 1_000_000).max();
        let wanted = flush.map_or(0, |it| it * FLUSHES).min(LONGEST);
        wanted.div_ceil(doings::period(&self.recorded)).max(1)
    }

    /// Has a machine live through it, the window so many times over. None if `stop` said so.
    pub fn run(&self, options: &Options, times: u64, stop: impl Fn() -> bool) -> Option<Stats> {
        self.run_with(options, times, None, stop)
    }

    /// CPUs on which the grace-period thread might have run instead, for a look at how much depends on it: where `rcuog` begins, where most
    /// callbacks are queued, and one where neither is.
    pub fn other_places(&self, options: &Options) -> Vec<CpuId> {
        let mut queued = vec![0u64; self.recorded.cpus as usize];
        for arrival in self.recorded.in_window() {
            if let Some(count) = queued.get_mut(arrival.cpu as usize) {
                *count += 1;
            }
        }
        let busiest = (0..self.recorded.cpus).max_by_key(|&it| queued[it as usize]);
        let mut places: Vec<CpuId> = std::iter::once(options.gp_cpu).chain(busiest).collect();
        places.extend(
            (0..self.recorded.cpus)
                .rev()
                .find(|it| !places.contains(it)),
        );
        places.dedup();
        places
    }

    /// The same, with the grace-period thread on one CPU all the time.
    pub fn run_with(
        &self,
        options: &Options,
        times: u64,
        gp_thread: Option<CpuId>,
        stop: impl Fn() -> bool,
    ) -> Option<Stats> {
        let mut machine = feed::machine(&self.recorded, &self.doings, options.clone(), times);
        if let Some(cpu) = gp_thread {
            for name in ["rcu_preempt", "rcu_sched"] {
                machine.place(name, vec![(0, cpu)]);
            }
        }
        let end = feed::end(&self.recorded, times);
        let mut now = self.recorded.window.start_ns;
        while now < end {
            if stop() {
                return None;
            }
            now = (now + SLICE).min(end);
            machine.run(now);
        }
        let mut stats = machine.stats();
        let uncounted = self.doings.uncounted(self.recorded.window) * times.max(1);
        stats.wakeups.retain(|it| !it.0.starts_with(feed::NOBODY));
        uncount(&mut stats, uncounted);
        Some(stats)
    }

    /// Waits of the window: how many were over in it, and how long they took on average, in milliseconds.
    pub fn waits(&self) -> (usize, f64) {
        let window: Window = self.recorded.window;
        let all = self.doings.waits.iter().filter(|it| window.contains(it.1));
        let long: Vec<f64> = all.map(|it| (it.1 - it.0) as f64 / 1e6).collect();
        (long.len(), mean(long))
    }
}

/// Takes wake-ups away that a trace would not have had, from threads that are not RCU's.
fn uncount(stats: &mut Stats, mut uncounted: u64) {
    for (name, count) in &mut stats.wakeups {
        if matches!(role(name), Role::Other | Role::OtherRcu) {
            let taken = uncounted.min(*count);
            *count -= taken;
            uncounted -= taken;
        }
    }
}

/// A figure: as it was recorded, of the model as recorded, and of the model with the change.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// What; ends in its unit or names it.
    pub metric: &'static str,
    /// The unit.
    pub unit: &'static str,
    /// The real machine's; none if the trace has nothing of it.
    pub recorded: Option<f64>,
    /// The model's, under the settings of the trace.
    pub modelled: f64,
    /// The model's, with the change.
    pub changed: f64,
    /// The least and the most of it with the change, wherever the grace-period thread runs; see [`spread`].
    pub spread: Option<(f64, f64)>,
    /// How many of it the trace has: few are a matter of chance. None for what is no count.
    pub count: Option<u64>,
    /// It decides whether the model fits: wake-ups, grace periods, ticks on idle CPUs.
    pub decides: bool,
}

impl Line {
    /// The model over the real machine; none without a real figure.
    pub fn ratio(&self) -> Option<f64> {
        let real = self.recorded.filter(|it| *it != 0.0)?;
        Some(self.modelled / real)
    }

    /// How far the model is off, as a share.
    pub fn off(&self) -> Option<f64> {
        self.ratio().map(|it| (it - 1.0).abs())
    }

    /// Is the model too far off for the change to be believed? By how much one event more or less would change the figure is allowed on top.
    pub fn misfits(&self) -> bool {
        let one = self.count.map_or(0.0, |it| 1.0 / it.max(1) as f64);
        self.off().is_some_and(|it| it > BAD_FIT && it > one)
    }

    /// What the change does to it, in per cent of the model as recorded.
    pub fn change_pct(&self) -> Option<f64> {
        (self.modelled != 0.0).then(|| 100.0 * (self.changed / self.modelled - 1.0))
    }
}

/// Figures of a run that have names.
#[derive(Clone, Copy, Debug, Default)]
struct Of {
    wakeups: f64,
    preempt: f64,
    rcuog: f64,
    rcuop: f64,
    others: f64,
    gps: f64,
    idle_ticks: f64,
    entries: f64,
    delay_p50: f64,
    scans: f64,
    gp_ms: f64,
    waits: f64,
    wait_ms: f64,
}

impl Of {
    fn model(stats: &Stats) -> Of {
        let rate = |count: u64| count as f64 / stats.seconds();
        let of = |wanted: fn(Role) -> bool| {
            let those = stats.wakeups.iter().filter(|it| wanted(role(&it.0)));
            rate(those.map(|it| it.1).sum())
        };
        let (preempt, rcuog, rcuop) = (
            of(|it| it == Role::GracePeriods),
            of(|it| it == Role::OffloadGroup),
            of(|it| it == Role::OffloadInvoker),
        );
        let others = of(|it| matches!(it, Role::Other | Role::OtherRcu));
        let gps = &stats.grace_periods;
        let calls = stats.calls.iter();
        Of {
            wakeups: preempt + rcuog + rcuop + others,
            preempt,
            rcuog,
            rcuop,
            others,
            gps: rate(gps.len() as u64),
            idle_ticks: rate(stats.totals.idle_ticks),
            entries: rate(stats.totals.idle_entries),
            delay_p50: median_delay(stats),
            scans: mean(gps.iter().map(|it| f64::from(it.scans))),
            gp_ms: mean(gps.iter().map(|it| (it.end - it.start) as f64 / 1e6)),
            waits: rate(stats.calls.len() as u64),
            wait_ms: mean(calls.map(|it| (it.end - it.start) as f64 / 1e6)),
        }
    }

    fn kernel(trace: &Trace) -> Of {
        let figures = &trace.figures;
        let rate = |count: u64| figures.per_second(count);
        let of = |wanted: fn(Role) -> bool| {
            let those = figures.wakeups.iter().filter(|it| wanted(role(it.0)));
            rate(those.map(|it| it.1).sum())
        };
        let ended = || figures.gps.iter().filter(|it| it.end_ns.is_some());
        let (waits, wait_ms) = trace.waits();
        Of {
            wakeups: rate(figures.total_wakeups()),
            preempt: of(|it| it == Role::GracePeriods),
            rcuog: of(|it| it == Role::OffloadGroup),
            rcuop: of(|it| it == Role::OffloadInvoker),
            others: of(|it| matches!(it, Role::Other | Role::OtherRcu)),
            gps: rate(figures.grace_periods),
            idle_ticks: rate(figures.total_ticks_on_idle()),
            entries: rate(figures.total_idle_entries()),
            delay_p50: figures
                .callback_delay
                .as_ref()
                .map_or(0.0, |it| it.p50 as f64 / 1e6),
            scans: mean(ended().map(|it| f64::from(it.scans))),
            gp_ms: figures.gp_duration.as_ref().map_or(0.0, |it| it.mean / 1e6),
            waits: rate(waits as u64),
            wait_ms,
        }
    }
}

/// What a line is about: its name, its unit, whether it decides, whether it is a rate, and how it is taken.
type About = (&'static str, &'static str, bool, bool, fn(&Of) -> f64);

const LINES: [About; 13] = [
    ("wakeups_per_s", "1/s", true, true, |it| it.wakeups),
    ("grace_periods_per_s", "1/s", true, true, |it| it.gps),
    ("idle_ticks_per_s", "1/s", true, true, |it| it.idle_ticks),
    ("idle_entries_per_s", "1/s", false, true, |it| it.entries),
    ("wakeups_per_s rcu_preempt", "1/s", false, true, |it| {
        it.preempt
    }),
    ("wakeups_per_s rcuog", "1/s", false, true, |it| it.rcuog),
    ("wakeups_per_s rcuop", "1/s", false, true, |it| it.rcuop),
    ("wakeups_per_s others", "1/s", false, true, |it| it.others),
    ("delay_ms_p50", "ms", false, false, |it| it.delay_p50),
    ("scans_per_gp", "scans", false, false, |it| it.scans),
    ("gp_duration_ms_mean", "ms", false, false, |it| it.gp_ms),
    ("synchronize_per_s", "1/s", false, true, |it| it.waits),
    ("synchronize_ms_mean", "ms", false, false, |it| it.wait_ms),
];

/// The three columns. What none of them has is left out.
pub fn lines(trace: &Trace, modelled: &Stats, changed: &Stats) -> Vec<Line> {
    let (real, before, after) = (Of::kernel(trace), Of::model(modelled), Of::model(changed));
    let seconds = trace.recorded.window.seconds();
    let line = |&(metric, unit, decides, is_rate, take): &About| {
        let [recorded, modelled, changed] = [&real, &before, &after].map(take);
        let any = [recorded, modelled, changed].iter().any(|it| *it != 0.0);
        any.then(|| Line {
            metric,
            unit,
            recorded: (recorded != 0.0).then_some(recorded),
            modelled,
            changed,
            spread: None,
            count: is_rate.then(|| (recorded * seconds).round() as u64),
            decides,
        })
    };
    LINES.iter().filter_map(line).collect()
}

/// Adds to each line between what the change's figure lies, over runs that differ in what a scheduler decides.
pub fn spread(lines: &mut [Line], runs: &[Stats]) {
    let all: Vec<Of> = runs.iter().map(Of::model).collect();
    for line in lines {
        let Some(about) = LINES.iter().find(|it| it.0 == line.metric) else {
            continue;
        };
        let figures = all.iter().map(about.4).chain([line.changed]);
        let least = figures.clone().fold(f64::INFINITY, f64::min);
        line.spread = Some((least, figures.fold(0.0, f64::max)));
    }
}

fn median_delay(stats: &Stats) -> f64 {
    let all = stats.funcs.iter().flat_map(|it| it.delays.iter().copied());
    let mut delays: Vec<u64> = all.collect();
    delays.sort_unstable();
    delays
        .get(delays.len() / 2)
        .map_or(0.0, |&ns| ns as f64 / 1e6)
}
