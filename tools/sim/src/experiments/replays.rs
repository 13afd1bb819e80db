//! Runs that replay a trace of a real kernel, on a machine of its settings or of others.
//!
//! With `feed=callbacks` the input is the queued callbacks with their times and CPUs, and the CPUs of RCU's
//! threads; otherwise it is what every thread but RCU's did, as for `whatif`. The kernel's own figures of the
//! same seconds are compared with the model's, or those of another trace, which was recorded with a change.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use quiescent_trace::{Figures, Options as Known, Window, from_read, open};

use super::mean;
use crate::base::error::{Error, nearest};
use crate::input::options::Options;
use crate::load::settings;
use crate::record::stats::Stats;
use crate::whatif::{self, Trace, lines, replay};

/// Traces that are part of the program.
macro_rules! traces {
    ($($name:literal)+) => {
        &[$(($name, include_bytes!(concat!("../../../../data/traces/", $name, ".txt.xz")))),+]
    };
}

const TRACES: &[(&str, &[u8])] = traces! {
    "classic-a-softirq-file100" "classic-a-softirq-file100-early" "a-softirq-file100-cut"
    "classic-b-nocb-file100" "b-nocb-file100-cut" "classic-d-nocb-j8-file100-cut"
    "classic-d-nocb-j32-file100" "classic-c-lazy-file100" "classic-idle"
};

/// The trace of this name that is part of the program, or in the file of this path.
fn read(name: &str, window: Option<Window>) -> Result<Trace, Error> {
    let known = Known {
        window,
        ..Known::default()
    };
    let input = match TRACES.iter().find(|it| it.0 == name) {
        Some((_, bytes)) => from_read(name, *bytes),
        None => open(name),
    };
    let trace = input.and_then(|it| whatif::read(name, it, known));
    trace.map_err(|why| Error::Machine(why.to_string()))
}

/// Traces that a file names: each is read once.
pub(super) type Traces = RefCell<BTreeMap<String, Arc<Trace>>>;

fn once(name: &str, traces: &Traces) -> Result<Arc<Trace>, Error> {
    let known = traces.borrow().get(name).cloned();
    known
        .map_or_else(|| read(name, None).map(Arc::new), Ok)
        .inspect(|it| drop(traces.borrow_mut().insert(name.into(), Arc::clone(it))))
}

/// A replay as its file describes it.
#[derive(Clone, Debug)]
pub(super) struct Replay {
    trace: Arc<Trace>,
    /// The trace with the real figures.
    real: Arc<Trace>,
    /// Other work of such a machine, if the replay is fed with callbacks alone.
    callbacks: Option<Background>,
    options: Options,
}

impl Replay {
    /// Of the trace of this name: settings, and what only a replay takes.
    pub fn of(name: &str, given: &[(&str, &str)], traces: &Traces) -> Result<Replay, Error> {
        let (mut sets, mut real, mut like, mut idle) = (Vec::new(), name, None, None);
        for &(key, value) in given {
            match (key, value) {
                ("real", name) => real = name,
                ("like", "length" | "places") => like = Some(value),
                ("like", _) => return Err(Error::value(key, value, "length or places")),
                ("feed", "callbacks") => idle = idle.or(Some("")),
                ("feed", _) => return Err(Error::value(key, value, "callbacks")),
                ("idle", name) => idle = Some(name),
                _ if settings::find(key).is_some() => sets.push((key, value)),
                _ => {
                    return Err(Error::UnknownKey {
                        key: key.into(),
                        nearest: nearest(key, ["real", "like", "feed", "idle"].into_iter()),
                    });
                }
            }
        }
        let mut trace = once(name, traces)?;
        let window = trace.recorded.window;
        let (other, mut real) = (real, once(real, traces)?);
        let start_ns = real.recorded.window.start_ns;
        match like {
            // Of the other trace as much as this one has: slow timers go off in a few seconds only.
            Some("length") => {
                let end_ns = start_ns + (window.end_ns - window.start_ns);
                real = Arc::new(read(other, Some(Window { start_ns, end_ns }))?);
            }
            // RCU's threads where they are in the other trace, at times from the beginning of the window on.
            Some(_) => {
                let mut places = real.recorded.placements.clone();
                for it in places.values_mut().flatten() {
                    it.time_ns = (it.time_ns + window.start_ns).saturating_sub(start_ns);
                }
                Arc::make_mut(&mut trace).recorded.placements = places;
            }
            None => {}
        }
        let background = |name| match name {
            "" => Ok(Background::default()),
            name => once(name, traces).map(|it| Background::of(&it.figures)),
        };
        let callbacks = idle.map(background).transpose()?;
        let mut options = match callbacks {
            Some(_) => replay::options(&trace.recorded, Options::kernel_6_12(8, 1000)),
            None => trace.options(),
        };
        settings::apply(&mut options, &sets)?;
        Ok(Replay {
            trace,
            real,
            callbacks,
            options,
        })
    }

    /// Runs it: the real figures, and the model's.
    pub fn pairs(&self) -> Vec<Pair> {
        let Some(background) = &self.callbacks else {
            let times = self.trace.times([&self.options]);
            let stats = self.trace.run(&self.options, times, || false);
            let stats = stats.expect("no caller stops the plan");
            let lines = lines(&self.real, &stats, &stats).into_iter();
            let decide = lines.filter(|it| it.decides);
            return decide
                .map(|it| (it.metric, it.unit, it.recorded.unwrap_or(0.0), it.changed))
                .collect();
        };
        let recorded = &self.trace.recorded;
        let mut machine = replay::machine(recorded, self.options.clone());
        machine.run(recorded.window.end_ns);
        pairs(&self.real.figures, &machine.stats(), background)
    }
}

/// What an idle machine does a second, whatever else it does.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Background {
    /// Ticks on idle CPUs.
    pub ticks: f64,
    /// Idle entries.
    pub entries: f64,
}

impl Background {
    /// Of a trace of an idle machine.
    fn of(figures: &Figures) -> Background {
        Background {
            ticks: figures.per_second(figures.total_ticks_on_idle()),
            entries: figures.per_second(figures.total_idle_entries()),
        }
    }
}

/// What is compared, its unit, the kernel's figure, and the model's.
pub type Pair = (&'static str, &'static str, f64, f64);

/// The figures of a trace beside those of a run that replays it.
pub fn pairs(figures: &Figures, stats: &Stats, background: &Background) -> Vec<Pair> {
    let seconds = stats.seconds();
    let mut pairs: Vec<Pair> = Vec::new();
    let mut add = |metric, real, model: u64, more| {
        let model = model as f64 / seconds + more;
        pairs.push((metric, "1/s", figures.per_second(real), model));
    };
    let gps = stats.grace_periods.len() as u64;
    add("grace_periods_per_s", figures.grace_periods, gps, 0.0);
    for (metric, name, prefix) in [
        ("wakeups_per_s rcu_preempt", "rcu_preempt", "rcu_preempt"),
        ("wakeups_per_s rcuog", "rcuog/N", "rcuog"),
        ("wakeups_per_s rcuop", "rcuop/N", "rcuop"),
    ] {
        if let Some(&woken) = figures.wakeups.get(name).filter(|it| **it != 0) {
            add(metric, woken, stats.wakeups_of(prefix), 0.0);
        }
    }
    let (totals, more) = (&stats.totals, background);
    let ticks = figures.total_ticks_on_idle();
    add("idle_ticks_per_s", ticks, totals.idle_ticks, more.ticks);
    let entries = figures.total_idle_entries();
    add(
        "idle_entries_per_s",
        entries,
        totals.idle_entries,
        more.entries,
    );
    if let (Some(delay), Some(p50)) = (&figures.callback_delay, median_delay(stats)) {
        pairs.push(("delay_ms_p50", "ms", delay.p50 as f64 / 1e6, p50));
    }
    pairs.extend(means(figures, stats));
    pairs
}

/// Fewer grace periods than this have no mean that says anything.
const FEW: usize = 10;

/// Means of a grace period's scans and length.
fn means(figures: &Figures, stats: &Stats) -> Vec<Pair> {
    let gps = &stats.grace_periods;
    let Some(duration) = figures.gp_duration.filter(|_| gps.len() >= FEW) else {
        return Vec::new();
    };
    let ended = figures.gps.iter().filter(|gp| gp.end_ns.is_some());
    let scans = mean(ended.map(|gp| f64::from(gp.scans)));
    let modelled = mean(gps.iter().map(|gp| f64::from(gp.scans)));
    let length = mean(gps.iter().map(|gp| (gp.end - gp.start) as f64 / 1e6));
    vec![
        ("scans_per_gp", "scans", scans, modelled),
        ("gp_duration_ms_mean", "ms", duration.mean / 1e6, length),
    ]
}

fn median_delay(stats: &Stats) -> Option<f64> {
    let mut delays: Vec<u64> = stats
        .funcs
        .iter()
        .flat_map(|it| it.delays.iter().copied())
        .collect();
    delays.sort_unstable();
    delays.get(delays.len() / 2).map(|&ns| ns as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The replay of a trace, as `kernel-callbacks` has it.
    fn replayed(name: &str, sets: &[(&str, &str)]) -> (Figures, Stats) {
        let known = [
            ("feed", "callbacks"),
            ("smp", "serial"),
            ("jiffies_till_first_fqs", "3"),
        ];
        let it = Replay::of(name, &[&known, sets].concat(), &Traces::default()).unwrap();
        let mut machine = replay::machine(&it.trace.recorded, it.options);
        machine.run(it.trace.recorded.window.end_ns);
        (it.real.figures.clone(), machine.stats())
    }

    #[test]
    fn who_was_in_the_way_is_the_same_grace_period_by_grace_period() {
        for (name, early) in [
            ("classic-a-softirq-file100", "off"),
            ("classic-a-softirq-file100-early", "init"),
        ] {
            let (figures, stats) = replayed(name, &[("early_qs", early)]);
            let mut model = stats.grace_periods.iter().peekable();
            let (mut met, mut other) = (0, Vec::new());
            for gp in figures.gps.iter().filter(|gp| gp.end_ns.is_some()) {
                while model
                    .next_if(|it| it.start + 500_000 < gp.start_ns)
                    .is_some()
                {}
                let Some(same) = model.next_if(|it| it.start < gp.start_ns + 500_000) else {
                    continue;
                };
                let scan = gp.first_scan.as_ref().expect("it had a scan");
                met += 1;
                if !scan.holdouts.iter().eq(same.holdouts.iter().copied()) || gp.scans != same.scans
                {
                    other.push((gp.start_ns, same.holdouts.clone()));
                }
            }
            // In one of 825 on the kernel a second CPU, in whose tick it began, was a holdout.
            assert!(met >= 800, "{name}: only {met} began at the same time");
            assert!(other.len() <= 1, "{name}: {other:?}");
        }
    }

    #[test]
    fn lazy_lists_are_flushed_when_they_were() {
        let (figures, stats) = replayed("classic-c-lazy-file100", &[("rcu", "lazy")]);
        let kernel: Vec<u64> = figures.gps.iter().map(|gp| gp.start_ns).collect();
        let model: Vec<u64> = stats.grace_periods.iter().map(|gp| gp.start).collect();
        assert_eq!(kernel.len(), model.len());
        for (kernel, model) in kernel.iter().zip(&model) {
            assert!(
                kernel.abs_diff(*model) < 500_000_000,
                "{kernel} and {model}"
            );
        }
    }
}
