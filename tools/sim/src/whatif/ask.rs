//! The question and its answer: a recorded trace on the machine model, as it was recorded and with a change.

use quiescent_report::{Control, Error};

use super::amount::{MOST_EVENTS, slices};
use super::doings::Awaited;
use super::feed::uninterrupted;
use super::{Direction, Elsewhere, Feed, Fit, Line, Placement, Trace, doubts, lines, spread};
use crate::input::options::Options;
use crate::load::settings;
use crate::record::stats::Stats;

/// What is asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// The trace's name.
    pub file: String,
    /// What was in force when it was recorded, `key=value`.
    pub was: Vec<String>,
    /// What is changed, `key=value`.
    pub set: Vec<String>,
    /// The number of times that the window is replayed; the necessary number if none.
    pub repeat: Option<u64>,
    /// The seed of what is left to chance.
    pub seed: u64,
}

/// The answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// What was asked.
    pub request: Request,
    /// The machine as recorded, and with the change.
    pub machines: [Options; 2],
    /// Settings that were given, those that the trace tells, and [`Fit::chosen`].
    pub given: Vec<&'static str>,
    /// See `given`.
    pub inferred: Vec<&'static str>,
    /// See `given`.
    pub fitted: Vec<&'static str>,
    /// The number of times that the window was replayed.
    pub times: u64,
    /// Its length, in seconds, and what was fed: threads, callbacks, waits.
    pub fed: Fed,
    /// The figures.
    pub lines: Vec<Line>,
    /// How long the run took, in seconds: as recorded, and with the change. Where threads wait, it ends when
    /// the last of them has done what it did in the window.
    pub took: [f64; 2],
    /// A run took longer than the trace, and threads that do not wait got what they did in the window again.
    pub again: bool,
    /// So many seconds at the end of a run had no input even so.
    pub lacks: f64,
    /// Lines and records of the trace that could not be read.
    pub unread: u64,
    /// What makes the figures doubtful.
    pub doubts: Vec<String>,
}

/// A larger share of a run without input makes its figures doubtful.
const UNCOVERED: f64 = 0.05;

/// What the model was fed with.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Fed {
    /// Seconds of the window.
    pub seconds: f64,
    /// CPUs and ticks a second.
    pub cpus: u32,
    /// Ticks a second.
    pub hz: u32,
    /// Threads that are not RCU's.
    pub threads: usize,
    /// Callbacks.
    pub callbacks: usize,
    /// Waits for a grace period, expedited or not.
    pub waits: usize,
    /// Waits for all callbacks (`rcu_barrier`).
    pub barriers: usize,
}

/// Settings that only concern who waits for a grace period, and those that only concern callbacks.
const OF_WAITERS: [&str; 4] = [
    "rcu_expedited",
    "rcu_normal",
    "rcu_normal_wake_from_gp",
    "wake_from_gp_latch",
];
const OF_CALLBACKS: [&str; 4] = ["rcu_nocbs", "rcu_lazy", "lazy_flush", "blimit"];

/// Settings that are the trace's, and why another value makes no sense.
const FIXED: [(&str, &str); 3] = [
    (
        "cpus",
        "threads and callbacks are where they were recorded; leave it out",
    ),
    (
        "hz",
        "the trace tells its tick rate, or --hz does; leave it out",
    ),
    ("seed", "give --seed N"),
];

/// Settings and their values, checked against what a replay can change.
fn assignments<'a>(option: &str, sets: &'a [String]) -> Result<Vec<(&'a str, &'a str)>, Error> {
    let mut all = Vec::new();
    for set in sets {
        let (key, value) = settings::assignment(set).map_err(usage)?;
        let known = settings::find(key).map_or(key, |it| it.key);
        if let Some((_, why)) = FIXED.iter().find(|it| it.0 == known) {
            return Err(Error::Usage(format!("{option} {set}: {why}")));
        }
        all.push((key, value));
    }
    Ok(all)
}

fn usage(why: crate::base::error::Error) -> Error {
    Error::Usage(why.to_string())
}

/// Checks what is asked as far as that can be done without the trace.
///
/// # Errors
/// [`Error::Usage`] if a setting is none, or none that can be changed.
pub fn check(request: &Request) -> Result<(), Error> {
    let all = [("--as", &request.was), ("--set", &request.set)];
    for (option, sets) in all {
        // A key that is unknown is refused now, and not after a minute of reading.
        for (key, _) in assignments(option, sets)? {
            if settings::find(key).is_none() {
                let mut any = Options::kernel_6_12(1, 1000);
                settings::apply(&mut any, &[(key, "")]).map_err(usage)?;
            }
        }
    }
    Ok(())
}

impl Trace {
    /// The machine as far as the trace tells it, with these settings, and the keys of those.
    ///
    /// # Errors
    /// [`Error::Usage`] for impossible settings.
    pub fn with(
        &self,
        seed: u64,
        sets: &[(&str, &str)],
    ) -> Result<(Options, Vec<&'static str>), Error> {
        let mut machine = self.options();
        machine.seed = seed;
        settings::apply(&mut machine, sets).map_err(usage)?;
        let given = sets.iter().filter_map(|it| settings::find(it.0));
        let mut given: Vec<&str> = given.map(|it| it.key).collect();
        if given.contains(&"rcu") {
            given.extend(["rcu_nocbs", "rcu_lazy"]);
        }
        Ok((machine, given))
    }
}

/// Replays the trace. None if it was stopped.
///
/// # Errors
/// [`Error::Usage`] for impossible settings, or for settings that change nothing.
pub fn ask(
    trace: &Trace,
    request: &Request,
    control: Control<'_>,
) -> Result<Option<Answer>, Error> {
    let was = assignments("--as", &request.was)?;
    let set = assignments("--set", &request.set)?;
    let (base, given) = trace.with(request.seed, &was)?;
    // That none is offloaded holds for CPUs, too, that only the change has in `nohz_full`.
    let nocbs = |it: &&(&str, &str)| settings::find(it.0).is_some_and(|it| it.key == "rcu_nocbs");
    let none = was.iter().rfind(nocbs).is_some_and(|it| it.1 == "none");
    let change = |machine: &Options| {
        let mut changed = machine.clone();
        changed.none_offloaded |= none;
        settings::apply(&mut changed, &set).map_err(usage)?;
        changed.none_offloaded &= !changed.nohz_full.is_empty();
        Ok::<Options, Error>(changed)
    };
    let changed = change(&base)?;
    let times = request
        .repeat
        .unwrap_or_else(|| trace.times([&base, &changed]));
    let file = &request.file;
    let remedy = "give a part of it, without a step in its times, with --from and --to";
    trace.check_amount(file, &base, Feed::of(1), remedy)?;
    let remedy = "give a smaller --repeat, or record for longer";
    trace.check_amount(file, &base, Feed::of(times), remedy)?;
    let bar = control.progress;
    let step = || {
        bar.advance(1);
        control.stopped()
    };
    bar.begin("model: fit", trace.fits(&given) * slices(trace, 1));
    let Some(fit) = trace.fitted(&base, &given, step) else {
        return Ok(None);
    };
    let machines = [fit.options.clone(), change(&fit.options)?];
    if machines[0] == machines[1] {
        let why = format!(
            "--set {}: that is what the trace was recorded under; give another value, or say with --as what \
             was in force",
            request.set.join(" --set ")
        );
        return Err(Error::Usage(why));
    }
    bar.begin("model: change", 2 * slices(trace, times));
    let Some((before, mut after, feed)) = both(trace, &machines, times, step) else {
        return Ok(None);
    };
    let mut all = lines(trace, &before, &after);
    if changes(&all) {
        let Some(mut others) = elsewhere(trace, &fit, &machines, feed, change, control)? else {
            return Ok(None);
        };
        if trace.booted(&machines).is_some() {
            std::mem::swap(&mut others[0].1, &mut after);
            all = lines(trace, &before, &after);
        }
        spread(&mut all, &others);
    }
    bar.end();
    let mut inferred = trace.inferred.settings();
    inferred.retain(|it| !given.contains(it));
    let mut answer = Answer {
        request: request.clone(),
        inferred,
        fitted: fit.chosen,
        given,
        times,
        fed: Fed {
            seconds: trace.recorded.window.seconds(),
            cpus: trace.recorded.cpus,
            hz: trace.recorded.hz,
            threads: trace.doings.threads().count(),
            callbacks: trace.doings.calls(),
            waits: trace.waits(Awaited::GracePeriod).0 + trace.waits(Awaited::Expedited).0,
            barriers: trace.waits(Awaited::Callbacks).0,
        },
        machines,
        lines: all,
        took: [&before, &after].map(Stats::seconds),
        again: feed != Feed::of(times),
        lacks: lacking(&before).max(lacking(&after)),
        unread: trace.unread,
        doubts: Vec::new(),
    };
    answer.doubts = doubts::of(&answer, trace, !fit.alike.is_empty());
    Ok(Some(answer))
}

/// The change has an effect on some figure.
fn changes(lines: &[Line]) -> bool {
    lines.iter().any(|it| it.changed != it.modelled)
}

/// Seconds at the end of a run that had no input, if they are many.
fn lacking(stats: &Stats) -> f64 {
    let seconds = stats.uncovered as f64 / 1e9;
    match seconds > UNCOVERED * stats.seconds() {
        true => seconds,
        false => 0.0,
    }
}

/// Runs the machine as recorded, and with the change, once more with more input if one has none left, and
/// says what both were fed. None if `stop` said so.
fn both(
    trace: &Trace,
    machines: &[Options; 2],
    times: u64,
    stop: impl Fn() -> bool,
) -> Option<(Stats, Stats, Feed)> {
    let run = |feed| {
        let run = |it| trace.run_with(it, feed, Placement::Recorded, &stop);
        Some((run(&machines[0])?, run(&machines[1])?, feed))
    };
    let first = run(Feed::of(times))?;
    let nominal = trace.recorded.window.seconds() * times.max(1) as f64;
    let lack = |it: &&Stats| lacking(it) > 0.0;
    let longer = [&first.0, &first.1].into_iter().filter(lack);
    let factor = longer.map(|it| it.seconds() / nominal).fold(0.0, f64::max);
    let more = (factor > 0.0).then(|| first.2.longer(factor));
    match more.filter(|it| trace.amount(&machines[1], *it).events <= MOST_EVENTS) {
        Some(feed) => run(feed),
        None => Some(first),
    }
}

/// The change once more: first where a boot most likely puts RCU's threads, if it needs one; then where a
/// scheduler might have had them, on machines that the trace does not tell apart, and where work that may be
/// in the kernel is.
fn elsewhere(
    trace: &Trace,
    fit: &Fit,
    machines: &[Options; 2],
    feed: Feed,
    change: impl Fn(&Options) -> Result<Options, Error>,
    control: Control<'_>,
) -> Result<Option<Vec<Elsewhere>>, Error> {
    let step = || {
        control.progress.advance(1);
        control.stopped()
    };
    let mut all = Vec::new();
    let booted = trace.booted(machines).into_iter();
    let placements: Vec<_> = booted.chain(trace.placements(&machines[1])).collect();
    let in_kernel = uninterrupted(&trace.recorded, &trace.doings, feed);
    let pairs = fit.alike.len() + usize::from(in_kernel.is_some());
    let runs = (placements.len() + 2 * pairs) as u64;
    let bar = control.progress;
    bar.begin("model: other machines", runs * slices(trace, feed.times));
    for placement in placements {
        let run = trace.run_with(&machines[1], feed, placement, step);
        all.push(run.map(|it| (None, it)));
    }
    let mut pairs = Vec::new();
    for machine in &fit.alike {
        pairs.push(([machine.clone(), change(machine)?], feed));
    }
    pairs.extend(in_kernel.map(|it| (machines.clone(), it)));
    for (machines, feed) in pairs {
        let run = |it| trace.run_with(it, feed, Placement::Recorded, step);
        let [before, after] = machines.each_ref().map(run);
        all.push(
            before
                .zip(after)
                .map(|(before, after)| (Some(before), after)),
        );
    }
    Ok(all.into_iter().collect())
}

impl Answer {
    /// Figures that decide and are too far off: the change is not to be trusted.
    pub fn misfits(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|it| it.decides && it.misfits())
    }

    /// Lines of which it is not known whether the change makes them more or less.
    pub fn unclear(&self) -> impl Iterator<Item = &Line> {
        let unknown = |it: &&Line| it.changed.is_finite() && it.direction() == Direction::Unknown;
        self.lines.iter().filter(unknown)
    }

    /// May the prediction be used? Not where the model does not fit, a run ran out of trace, or the trace is
    /// damaged.
    pub fn holds(&self) -> bool {
        self.misfits().next().is_none() && self.lacks == 0.0 && self.unread == 0
    }

    /// In words, if the change has no effect: why, as far as that is known; or why that cannot be known.
    pub fn no_effect(&self) -> Option<String> {
        if changes(&self.lines) {
            return None;
        }
        let Fed {
            callbacks,
            waits,
            barriers,
            ..
        } = self.fed;
        if callbacks + waits + barriers == 0 {
            let remedy = "record it with RCU's events (`quiescent record` does)";
            return Some(format!(
                "not known: the trace has no callback and no wait to feed: {remedy}"
            ));
        }
        let keys: Vec<&str> = self.differences().iter().map(|it| it.0).collect();
        let all = |those: &[&str]| keys.iter().all(|it| those.contains(it));
        let why = match waits + barriers {
            0 if all(&OF_WAITERS) => format!(
                "in this trace callbacks, not waiters, request grace periods ({callbacks} callbacks, no \
                 wait), and the setting is for waiters"
            ),
            _ if callbacks == 0 && all(&OF_CALLBACKS) => {
                format!(
                    "in this trace no callback is queued ({waits} waits), and the setting is for callbacks"
                )
            }
            _ => "nothing in this trace depends on the setting".into(),
        };
        Some(format!("no effect: {why}"))
    }

    /// The settings in which the two machines differ: key, as recorded, changed.
    pub fn differences(&self) -> Vec<(&'static str, String, String)> {
        let [before, after] = self.machines.each_ref().map(in_words);
        let pairs = before.into_iter().zip(after);
        pairs
            // `rcu` is short for two others.
            .filter(|(a, b)| a.1 != b.1 && a.0 != "rcu")
            .map(|(a, b)| (a.0, a.1, b.1))
            .collect()
    }

    /// In one line: what the trace is, and what of it was fed.
    pub fn about(&self) -> String {
        let it = &self.fed;
        let mut text = format!(
            "{}: {} CPUs at {} ticks a second, {:.1} s; {} threads, {} callbacks, {} waits for a grace \
             period",
            self.request.file, it.cpus, it.hz, it.seconds, it.threads, it.callbacks, it.waits
        );
        if it.barriers > 0 {
            text += &format!(", {} calls of rcu_barrier", it.barriers);
        }
        text += " are fed to the model";
        if self.times > 1 {
            text += &format!(", {} times over", self.times);
        }
        text
    }

    /// The settings of the machine as recorded, and where each is from.
    pub fn settings(&self) -> Vec<Origin> {
        origins(&self.machines[0], &self.given, &self.fitted, &self.inferred)
    }
}

/// All settings of a machine, with what becomes of those that change.
fn in_words(machine: &Options) -> Vec<(&'static str, String)> {
    let mut all = settings::listed(machine);
    for (at, key, then) in &machine.later {
        for (_, value) in all.iter_mut().filter(|it| it.0 == *key) {
            *value += &format!(", {then} from {:.3} s on", *at as f64 / 1e9);
        }
    }
    all
}

/// A setting, its value, and where that is from: `given`, `fitted`, `trace` or `default`.
pub type Origin = (&'static str, String, &'static str);

/// The settings of a recorded machine that matter most, those that are given, and where each is from.
pub fn origins(
    machine: &Options,
    given: &[&str],
    fitted: &[&str],
    inferred: &[&str],
) -> Vec<Origin> {
    const SHOWN: [&str; 8] = [
        "smp",
        "idle_loop",
        "rcu_nocbs",
        "rcu_lazy",
        "early_qs",
        "jiffies_till_first_fqs",
        "jiffies_till_next_fqs",
        "rcu_normal_wake_from_gp",
    ];
    let all = in_words(machine).into_iter();
    let shown = all.filter(|it| SHOWN.contains(&it.0) || given.contains(&it.0));
    let from = |key: &str| match key {
        _ if given.contains(&key) => "given",
        _ if fitted.contains(&key) => "fitted",
        _ if inferred.contains(&key) || key == "rcu_nocbs" || key == "rcu_lazy" => "trace",
        _ => "default",
    };
    shown.map(|(key, value)| (key, value, from(key))).collect()
}

#[cfg(test)]
mod tests;
