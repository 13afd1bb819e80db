//! The three columns, figure by figure: the real machine's from the trace, the model's from its runs.
//!
//! One table defines each line and how it is computed from either source, so both are counted alike.

use quiescent_trace::{Role, role};

use super::doings::Awaited;
use super::replay::Pair;
use super::{BAD_FIT, Trace};
use crate::base::mean::mean;
use crate::record::stats::Stats;

/// A figure: as it was recorded, of the model as recorded, and of the model with the change.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// What; ends in its unit or names it.
    pub metric: &'static str,
    /// The unit.
    pub unit: &'static str,
    /// The real machine's; none if the trace does not show it.
    pub recorded: Option<f64>,
    /// The model's, under the settings of the trace; not a number where its threads ran out of trace.
    pub modelled: f64,
    /// The model's, with the change; not a number where its threads ran out of trace.
    pub changed: f64,
    /// The least and the most of it with the change; see [`spread`].
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

    /// Is the model too far off for the change to be believed? By how much one event more or less would
    /// change the figure is allowed on top.
    pub fn misfits(&self) -> bool {
        let one = self.count.map_or(0.0, |it| 1.0 / it.max(1) as f64);
        self.off().is_some_and(|it| it > BAD_FIT && it > one)
    }

    /// Does the change make it more or less? `before` is what it is changed from: the model as recorded, and
    /// what was recorded.
    pub fn direction(&self) -> Direction {
        let (least, most) = self.spread.unwrap_or((self.changed, self.changed));
        let before = || [Some(self.modelled), self.recorded].into_iter().flatten();
        let below = |share: f64| before().all(|it| most <= it * (1.0 + share));
        let above = |share: f64| before().all(|it| it * (1.0 - share) <= least);
        match (below(NOTHING), above(NOTHING)) {
            _ if below(self.chance()) && above(self.chance()) => Direction::Same,
            (true, _) => Direction::Less,
            (_, true) => Direction::More,
            _ => Direction::Unknown,
        }
    }

    /// By what share two records of one machine differ by chance: 5 %, or two standard deviations of the
    /// difference of two counts like this one.
    fn chance(&self) -> f64 {
        let count = self.count.map_or(f64::INFINITY, |it| it.max(1) as f64);
        SMALL.max(2.0 * (2.0 / count).sqrt())
    }

    /// What the change does to it, in per cent of the model as recorded.
    pub fn change_pct(&self) -> Option<f64> {
        (self.modelled != 0.0).then(|| 100.0 * (self.changed / self.modelled - 1.0))
    }
}

/// What a change does to a figure, as far as that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// All of its range is above what it is changed from, but for 0.5 %.
    More,
    /// Below.
    Less,
    /// All of its range is within what two records of one machine differ by, so this says neither.
    Same,
    /// Its range has figures on both sides.
    Unknown,
}

/// A change by a smaller share is none.
const NOTHING: f64 = 0.005;

/// By so much two records of one machine differ, however many events they count.
pub const SMALL: f64 = 0.05;

/// A line: its name, its unit, whether it decides.
type LineSpec = (&'static str, &'static str, bool);

/// The figures that are means of waits: for a grace period, an expedited one, all callbacks.
pub const MEAN_WAITS: [&str; 3] = [
    "synchronize_ms_mean",
    "synchronize_expedited_ms_mean",
    "barrier_ms_mean",
];

const LINES: [LineSpec; 18] = [
    ("wakeups_per_s", "1/s", true),
    ("grace_periods_per_s", "1/s", true),
    ("idle_ticks_per_s", "1/s", true),
    ("idle_entries_per_s", "1/s", false),
    ("wakeups_per_s rcu_preempt", "1/s", false),
    ("wakeups_per_s rcuog", "1/s", false),
    ("wakeups_per_s rcuop", "1/s", false),
    ("wakeups_per_s others", "1/s", false),
    ("delay_ms_p50", "ms", false),
    ("scans_per_gp", "scans", false),
    ("gp_duration_ms_mean", "ms", false),
    ("synchronize_per_s", "1/s", false),
    (MEAN_WAITS[0], "ms", false),
    ("expedited_gps_per_s", "1/s", false),
    ("synchronize_expedited_per_s", "1/s", false),
    (MEAN_WAITS[1], "ms", false),
    ("barriers_per_s", "1/s", false),
    (MEAN_WAITS[2], "ms", false),
];

/// The figures of a run, in the order of the lines.
type Of = [f64; LINES.len()];

/// What both sources tell: counts, and times in milliseconds.
struct Counted {
    gps: usize,
    idle_ticks: u64,
    idle_entries: u64,
    delay: f64,
    scans: f64,
    gp_ms: f64,
    expedited: u64,
    /// Waits for a grace period, an expedited one, all callbacks: how many, and how long on average.
    waits: [(usize, f64); 3],
}

impl Counted {
    fn per<'a>(
        self,
        seconds: f64,
        wakeups: impl Iterator<Item = (&'a String, &'a u64)> + Clone,
    ) -> Of {
        let rate = |count: u64| count as f64 / seconds;
        let of = |wanted: fn(Role) -> bool| {
            let those = wakeups.clone().filter(|it| wanted(role(it.0)));
            rate(those.map(|it| it.1).sum())
        };
        let [normal, expedited, barriers] = self.waits;
        [
            of(|_| true),
            rate(self.gps as u64),
            rate(self.idle_ticks),
            rate(self.idle_entries),
            of(|it| it == Role::GracePeriods),
            of(|it| it == Role::OffloadGroup),
            of(|it| it == Role::OffloadInvoker),
            of(|it| matches!(it, Role::Other | Role::OtherRcu)),
            self.delay,
            self.scans,
            self.gp_ms,
            rate(normal.0 as u64),
            normal.1,
            rate(self.expedited),
            rate(expedited.0 as u64),
            expedited.1,
            rate(barriers.0 as u64),
            barriers.1,
        ]
    }
}

fn of_model(stats: &Stats) -> Of {
    let gps = &stats.grace_periods;
    let ms = |(start, end): (u64, u64)| (end - start) as f64 / 1e6;
    let waits = |expedited| {
        let those = stats.calls.iter().filter(|it| it.expedited == expedited);
        let those: Vec<f64> = those.map(|it| ms((it.start, it.end))).collect();
        (those.len(), mean(those))
    };
    let barriers = stats.barriers.iter().map(|it| ms(*it));
    let counted = Counted {
        gps: gps.len(),
        idle_ticks: stats.totals.idle_ticks,
        idle_entries: stats.totals.idle_entries,
        delay: median_delay(stats),
        scans: mean(gps.iter().map(|it| f64::from(it.scans))),
        gp_ms: mean(gps.iter().map(|it| ms((it.start, it.end)))),
        expedited: stats.totals.expedited,
        waits: [
            waits(false),
            waits(true),
            (stats.barriers.len(), mean(barriers)),
        ],
    };
    let wakeups = stats.wakeups.iter().map(|it| (&it.0, &it.1));
    counted.per(stats.seconds(), wakeups)
}

fn of_kernel(trace: &Trace) -> Of {
    let figures = &trace.figures;
    let counted = Counted {
        gps: figures.ended().count(),
        idle_ticks: figures.idle_ticks,
        idle_entries: figures.idle_entries,
        delay: figures.callback_delay.map_or(0.0, |it| it.p50 as f64 / 1e6),
        scans: mean(figures.ended().map(|it| f64::from(it.scans))),
        gp_ms: figures.gp_duration_mean().map_or(0.0, |it| it / 1e6),
        expedited: trace.expedited() as u64,
        waits: [Awaited::GracePeriod, Awaited::Expedited, Awaited::Callbacks]
            .map(|it| trace.waits(it)),
    };
    counted.per(figures.window.seconds(), figures.wakeups.iter())
}

/// Every figure of the real machine beside that of a run.
pub(super) fn columns(trace: &Trace, stats: &Stats) -> Vec<Pair> {
    let figures = of_kernel(trace).into_iter().zip(of_model(stats));
    let all = LINES.iter().zip(figures);
    all.map(|(it, (real, model))| (it.0, it.1, real, model))
        .collect()
}

/// The three columns. What none of them has is left out.
pub fn lines(trace: &Trace, modelled: &Stats, changed: &Stats) -> Vec<Line> {
    let (real, before, after) = (of_kernel(trace), of_model(modelled), of_model(changed));
    let seconds = trace.recorded.window.seconds();
    let line = |(n, &(metric, unit, decides)): (usize, &LineSpec)| {
        let [recorded, modelled, changed] = [real[n], before[n], after[n]];
        let any = [recorded, modelled, changed].iter().any(|it| *it != 0.0);
        any.then(|| Line {
            metric,
            unit,
            recorded: (recorded != 0.0).then_some(recorded),
            modelled,
            changed,
            spread: None,
            count: (unit == "1/s").then(|| (recorded * seconds).round() as u64),
            decides,
        })
    };
    LINES.iter().enumerate().filter_map(line).collect()
}

/// A run with the change under other circumstances, and the run as recorded that belongs to it where that is
/// another machine.
pub type Elsewhere = (Option<Stats>, Stats);

/// Adds to each line between what the change's figure lies: over runs that differ in what a scheduler
/// decides, over machines that the trace does not tell apart, and with the change as a factor of what was
/// recorded. A machine's run counts as it is, and as a factor of its own run as recorded.
pub fn spread(lines: &mut [Line], runs: &[Elsewhere]) {
    let of = |it: &Elsewhere| (it.0.as_ref().map(of_model), of_model(&it.1));
    let all: Vec<(Option<Of>, Of)> = runs.iter().map(of).collect();
    for line in lines.iter_mut().filter(|it| it.changed.is_finite()) {
        let Some(n) = place(line.metric) else {
            continue;
        };
        let factor =
            |before: f64, after: f64, of: f64| (before != 0.0).then(|| of * after / before);
        let mut figures = vec![line.changed];
        let real = line.recorded.unwrap_or(line.modelled);
        figures.extend(factor(line.modelled, line.changed, real));
        for (before, after) in &all {
            figures.push(after[n]);
            figures.extend(before.and_then(|it| factor(it[n], after[n], line.modelled)));
        }
        let figures = figures.into_iter().filter(|it| it.is_finite());
        let least = figures.clone().fold(f64::INFINITY, f64::min);
        line.spread = Some((least, figures.fold(0.0, f64::max)));
    }
}

fn median_delay(stats: &Stats) -> f64 {
    // A trace has no `rcu_callback` for those of barriers, so it cannot tell their delay.
    let queued = stats
        .funcs
        .iter()
        .filter(|it| it.name != "rcu_barrier_callback");
    let all = queued.flat_map(|it| it.delays.iter().copied());
    let mut delays: Vec<u64> = all.collect();
    delays.sort_unstable();
    delays
        .get(delays.len() / 2)
        .map_or(0.0, |&ns| ns as f64 / 1e6)
}

fn place(metric: &str) -> Option<usize> {
    LINES.iter().position(|it| it.0 == metric)
}

/// A figure of the real machine, by the name of its line.
pub fn recorded(trace: &Trace, metric: &str) -> Option<f64> {
    Some(of_kernel(trace)[place(metric)?])
}
