//! The three columns, figure by figure: the real machine's from the trace, the model's from its runs.
//!
//! One table defines each line and how it is computed from either source, so both are counted alike.

use quiescent_trace::{Role, role};

use super::doings::Awaited;
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

    /// Is it the mean of waits, of which a run has as many as the trace even if it is over early?
    pub fn is_mean_wait(&self) -> bool {
        MEAN_WAITS.contains(&self.metric)
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
    exp_gps: f64,
    synchronize: WaitTimes,
    synchronize_expedited: WaitTimes,
    barrier: WaitTimes,
}

/// Waits of one kind: how many a second, and how long.
#[derive(Clone, Copy, Debug, Default)]
struct WaitTimes {
    rate: f64,
    ms: f64,
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
        let waits = |all: &[(u64, u64)]| WaitTimes {
            rate: rate(all.len() as u64),
            ms: mean(all.iter().map(|it| (it.1 - it.0) as f64 / 1e6)),
        };
        let of_calls = |expedited| {
            let those = stats.calls.iter().filter(|it| it.expedited == expedited);
            waits(&those.map(|it| (it.start, it.end)).collect::<Vec<_>>())
        };
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
            exp_gps: rate(stats.totals.expedited),
            synchronize: of_calls(false),
            synchronize_expedited: of_calls(true),
            barrier: waits(&stats.barriers),
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
        let waits = |what| {
            let (count, ms) = trace.waits(what);
            let rate = rate(count as u64);
            WaitTimes { rate, ms }
        };
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
            exp_gps: rate(trace.expedited() as u64),
            synchronize: waits(Awaited::GracePeriod),
            synchronize_expedited: waits(Awaited::Expedited),
            barrier: waits(Awaited::Callbacks),
        }
    }
}

/// What a line is about: its name, its unit, whether it decides, whether it is a rate, and how it is taken.
type LineSpec = (&'static str, &'static str, bool, bool, fn(&Of) -> f64);

/// The figures that are means of waits: for a grace period, an expedited one, all callbacks.
pub const MEAN_WAITS: [&str; 3] = [
    "synchronize_ms_mean",
    "synchronize_expedited_ms_mean",
    "barrier_ms_mean",
];

const LINES: [LineSpec; 18] = [
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
    ("synchronize_per_s", "1/s", false, true, |it| {
        it.synchronize.rate
    }),
    ("synchronize_ms_mean", "ms", false, false, |it| {
        it.synchronize.ms
    }),
    ("expedited_gps_per_s", "1/s", false, true, |it| it.exp_gps),
    ("synchronize_expedited_per_s", "1/s", false, true, |it| {
        it.synchronize_expedited.rate
    }),
    ("synchronize_expedited_ms_mean", "ms", false, false, |it| {
        it.synchronize_expedited.ms
    }),
    ("barriers_per_s", "1/s", false, true, |it| it.barrier.rate),
    ("barrier_ms_mean", "ms", false, false, |it| it.barrier.ms),
];

/// The three columns. What none of them has is left out.
pub fn lines(trace: &Trace, modelled: &Stats, changed: &Stats) -> Vec<Line> {
    let (real, before, after) = (Of::kernel(trace), Of::model(modelled), Of::model(changed));
    let seconds = trace.recorded.window.seconds();
    let line = |&(metric, unit, decides, is_rate, take): &LineSpec| {
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

/// A run with the change under other circumstances, and the run as recorded that belongs to it where that is
/// another machine.
pub type Elsewhere = (Option<Stats>, Stats);

/// Adds to each line between what the change's figure lies: over runs that differ in what a scheduler
/// decides, over machines that the trace does not tell apart, and with the change as a factor of what was
/// recorded. A machine's run counts as it is, and as a factor of its own run as recorded.
pub fn spread(lines: &mut [Line], runs: &[Elsewhere]) {
    let of = |it: &Elsewhere| (it.0.as_ref().map(Of::model), Of::model(&it.1));
    let all: Vec<(Option<Of>, Of)> = runs.iter().map(of).collect();
    for line in lines.iter_mut().filter(|it| it.changed.is_finite()) {
        let Some(about) = LINES.iter().find(|it| it.0 == line.metric) else {
            continue;
        };
        let factor =
            |before: f64, after: f64, of: f64| (before != 0.0).then(|| of * after / before);
        let mut figures = vec![line.changed];
        let real = line.recorded.unwrap_or(line.modelled);
        figures.extend(factor(line.modelled, line.changed, real));
        for (before, after) in &all {
            let after = about.4(after);
            figures.push(after);
            let before = before.as_ref().map(about.4);
            figures.extend(before.and_then(|it| factor(it, after, line.modelled)));
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

/// A figure of the real machine that decides, by the name of its line.
pub fn recorded(trace: &Trace, metric: &str) -> Option<f64> {
    let line = LINES.iter().find(|it| it.0 == metric)?;
    Some((line.4)(&Of::kernel(trace)))
}
