//! Runs that replay a trace of a real kernel, on a machine of its settings or of others.
//!
//! With `feed=callbacks` the input is the queued callbacks with their times and CPUs, and the CPUs of RCU's
//! threads; otherwise it is what every thread but RCU's did, as for `whatif`. The kernel's own figures of the
//! same seconds are compared with the model's, or those of another trace, which was recorded with a change.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use quiescent_trace::{Figures, Options as Known, Window, from_read, open};

use crate::base::error::{Error, nearest};
use crate::input::options::Options;
use crate::load::settings;
use crate::whatif::replay::{self, Background, Pair, pairs};
use crate::whatif::{self, Trace, lines};

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
        pairs(&self.real, &machine.stats(), background)
    }
}

impl Background {
    /// Of a trace of an idle machine.
    fn of(figures: &Figures) -> Background {
        Background {
            ticks: figures.per_second(figures.idle_ticks),
            entries: figures.per_second(figures.idle_entries),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use quiescent_trace::{CpuSet, Event, Figures, Reader};

    use super::*;
    use crate::record::stats::Stats;

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

    /// By the start of each grace period, the CPUs that its first scan left. Who is waited for is read off
    /// the leaves: `rcu_grace_period_init` sets the mask of a node, each `rcu_quiescent_state_report` says
    /// what is left of it.
    fn in_the_way(name: &str) -> BTreeMap<u64, CpuSet> {
        let bytes = TRACES
            .iter()
            .find(|it| it.0 == name)
            .expect("there is one")
            .1;
        let mut reader = Reader::new(name, from_read(name, bytes).unwrap());
        let (mut all, mut nodes, mut start) = (BTreeMap::new(), BTreeMap::new(), 0);
        while let Some(record) = reader.next_record().unwrap() {
            match record.decode().unwrap() {
                Event::GracePeriod { what: "start", .. } => {
                    start = record.time_ns;
                    nodes.clear();
                }
                Event::GracePeriod { what: "fqsend", .. } => {
                    let leaf = nodes.keys().next_back().map_or(0, |it: &(u32, u32)| it.0);
                    let mut holdouts = CpuSet::default();
                    for (&(_, first_cpu), &mask) in nodes.range((leaf, 0)..) {
                        holdouts.insert_mask(first_cpu, mask);
                    }
                    all.entry(start).or_insert(holdouts);
                }
                Event::NodeInit {
                    level,
                    first_cpu,
                    mask: left,
                }
                | Event::Report {
                    level,
                    first_cpu,
                    left,
                    ..
                } => {
                    nodes.insert((level, first_cpu), left);
                }
                _ => {}
            }
        }
        all
    }

    #[test]
    fn who_was_in_the_way_is_the_same_grace_period_by_grace_period() {
        for (name, early) in [
            ("classic-a-softirq-file100", "off"),
            ("classic-a-softirq-file100-early", "init"),
        ] {
            let (figures, stats) = replayed(name, &[("early_qs", early)]);
            let in_the_way = in_the_way(name);
            let mut model = stats.grace_periods.iter().peekable();
            let (mut met, mut other) = (0, Vec::new());
            for gp in figures.ended() {
                while model
                    .next_if(|it| it.start + 500_000 < gp.start_ns)
                    .is_some()
                {}
                let Some(same) = model.next_if(|it| it.start < gp.start_ns + 500_000) else {
                    continue;
                };
                let holdouts = &in_the_way[&gp.start_ns];
                met += 1;
                if !holdouts.iter().eq(same.holdouts.iter().copied()) || gp.scans != same.scans {
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
