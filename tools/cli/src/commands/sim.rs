//! `sim`: variants, seeds, and their results.
//!
//! A variant is a point of the sweeps; each is run with every seed. Wrong settings are found before any run.
//! The machine is virtual, so results do not depend on the load of this machine, or on the number of runs at
//! once.

mod first;
mod replay;
mod saved;
mod text;

use super::shard::{Note, Piece};
use super::{code, stopped_after, usage};
use crate::arguments::shard::Shard;
use crate::arguments::sim::Sim;
use crate::show::file::{self, Kind, Permit};
use crate::show::interrupt::stop_flag;
use crate::show::output::{self, DONE, Printed};
use crate::show::progress::Bar;
use quiescent_report::{Control, Error, Report, Row};
use quiescent_sim::experiments::{self, Script};
use quiescent_sim::report::Figure;
use quiescent_sim::{IdleLoop, Options, Plan, Release, Stats, Workload, batch, report, settings};
pub use saved::{Values, rows as saved_rows};
use std::cell::Cell;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The trace of a run: a trace is an input of other commands, so that none is replaced unasked.
pub const TRACE: Kind = Kind::data("--trace");

/// The largest number of variants in all sweeps together.
const MOST_VARIANTS: usize = 10_000;

/// Runs the command; returns the exit code.
pub fn run(options: &Sim) -> Result<u8, Error> {
    if let Some(path) = &options.experiment {
        return experiment(options, path);
    }
    let Some(name) = options.workload.as_deref().filter(|_| !options.list) else {
        let list = || text::list(output::columns());
        let listed = Printed::either(options.json, text::list_json, list);
        return output::print(&listed).map(|()| DONE);
    };
    if name.as_os_str() == replay::NAME {
        return replay::run(options);
    }
    if options.shard.is_some() && options.sweep.is_empty() && options.compare.is_none() {
        let why =
            "--shard divides the variants of a sweep: give --sweep KEY=A,B,… or --compare too";
        return Err(Error::Usage(why.into()));
    }
    let workload = Workload::named(name).map_err(usage)?;
    let variants = variants(options, &workload)?;
    let mut report = describe(options, &workload, &variants);
    let of = variants.len();
    let either = variants.iter().any(|it| has_either_loop(options, it));
    let variants: Vec<Variant> = Shard::own(options.shard, variants).collect();
    let stop = stop_flag()?;
    let variants: Vec<&Variant> = variants.iter().collect();
    let runs = match &options.trace {
        Some(path) => vec![traced(options, &variants, path, &stop)?],
        None => all(
            options,
            (&variants, either),
            Control::new(&stop, &Bar::new(options.quiet)),
        ),
    };
    let figures: Vec<_> = runs.iter().map(|runs| report::figures(runs)).collect();
    fill(
        &mut report,
        options.shard,
        of,
        variants.iter().copied().zip(&figures),
    );
    let seeds = options.seeds as usize * if either { 2 } else { 1 };
    let done = runs.iter().map(Vec::len).sum();
    let stopped = stop.load(Ordering::Relaxed);
    let after = stopped_after(&mut report, stopped, (done, variants.len() * seeds), "runs");
    let text = || {
        let names = variants.iter().map(|it| (&*it.case, &*it.varies));
        let names: Vec<_> = names.collect();
        let full = variants.first().filter(|_| options.full);
        let full = full.map(|it| (*it, options.seeds));
        text::screen(&report, &names, full, output::columns()) + &after
    };
    output::print(&Printed::either(options.json, || &report, text))?;
    Ok(code(&stop))
}

/// The rows of these of all variants, and what two save. A shard leaves that to `merge`.
fn fill<'a>(
    report: &mut Report,
    shard: Option<Shard>,
    of: usize,
    own: impl Iterator<Item = (&'a Variant, &'a Vec<Figure>)>,
) {
    let mut pieces = Vec::new();
    for (variant, figures) in own {
        let before = report.rows.len();
        for figure in figures {
            let case = figure.about.case(&variant.case);
            let (metric, unit) = (figure.metric, figure.unit);
            let row = Row::of("model", &case, metric, unit, &figure.values);
            report.rows.extend(row);
        }
        let values = match of {
            2 => Values::of(figures),
            _ => Vec::new(),
        };
        let rows = report.rows.len() - before;
        let said = [&variant.case, &variant.varies].map(String::clone).into();
        pieces.push(Piece { rows, values, said });
    }
    match (shard, &pieces[..]) {
        (Some(shard), _) => Note::of(shard, of, DONE, pieces).put(report),
        (None, [first, second]) => {
            let workload = report.options["workload"].as_str().unwrap_or_default();
            let saved = saved_rows(workload, &first.values, &second.values);
            report.rows.extend(saved);
        }
        _ => {}
    }
}

/// The experiments of this path, with verdicts.
fn experiment(options: &Sim, path: &Path) -> Result<u8, Error> {
    let scripts = Script::named(path).map_err(usage)?;
    let stop = stop_flag()?;
    let jobs = jobs(options);
    let bar = Bar::new(options.quiet);
    let modelled = experiments::of(&scripts, options.seed, jobs, Control::new(&stop, &bar));
    let modelled = modelled.map_err(usage)?;
    let mut report = Report::new("sim", options.seed);
    experiments::show::report(&modelled, &mut report);
    report.option("stopped", stop.load(Ordering::Relaxed));
    let text = || experiments::show::text(&modelled, output::columns());
    output::print(&Printed::either(options.json, || &report, text))?;
    Ok(code(&stop))
}

fn jobs(options: &Sim) -> usize {
    let given = options.jobs.map(|jobs| jobs as usize);
    given.unwrap_or_else(batch::processors)
}

/// A variant: its settings, its name, and the part of the name in which variants differ.
struct Variant {
    case: String,
    varies: String,
    plan: Plan,
}

/// The first screen of these variants, each by its names.
pub fn screen(report: &Report, variants: &[Vec<String>], width: usize) -> String {
    let names = variants.iter().filter_map(|it| match &it[..] {
        [case, varies] => Some((case.as_str(), varies.as_str())),
        _ => None,
    });
    text::screen(report, &names.collect::<Vec<_>>(), None, width)
}

/// All points of the sweeps, in the order in which they were given; the last sweep changes fastest.
fn variants(options: &Sim, workload: &Workload) -> Result<Vec<Variant>, Error> {
    let mut fixed: Vec<(&str, &str)> = Vec::new();
    let short = [
        ("cpus", &options.cpus),
        ("hz", &options.hz),
        ("kernel", &options.kernel),
    ];
    for (key, value) in short {
        fixed.extend(value.as_deref().map(|value| (key, value)));
    }
    let unnamed = fixed.len();
    fixed.extend(settings::assignments(&options.set).map_err(usage)?);
    let common = fixed.len();
    let mut points: Vec<Vec<(&str, &str)>> = vec![fixed];
    for sweep in options.sweep.iter().chain(&options.compare) {
        let (key, values) = settings::assignment(sweep).map_err(usage)?;
        let values: Vec<&str> = match values.contains(';') {
            true => values.split(';').collect(),
            false => values.split(',').collect(),
        };
        if options.compare.as_ref() == Some(sweep) && values.len() != 2 {
            let why = format!("--compare {sweep}: give two values, as in rcu=offload,lazy");
            return Err(Error::Usage(why));
        }
        if points.len() * values.len() > MOST_VARIANTS {
            let why = format!("--sweep {sweep}: more than {MOST_VARIANTS} variants");
            return Err(Error::Usage(why));
        }
        let with = |point: &Vec<_>, value| {
            let mut point = point.clone();
            point.push((key, value));
            point
        };
        let grown = points
            .iter()
            .flat_map(|point| values.iter().map(move |value| with(point, *value)));
        points = grown.collect();
    }
    let variant = |point: Vec<(&str, &str)>| {
        let mut plan = workload.plan(&point).map_err(usage)?;
        if let Some(seconds) = options.seconds {
            plan.length = seconds * 1_000_000_000;
        }
        let words: Vec<String> = point
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        let named = words[unnamed..].iter().map(|it| format!(" {it}"));
        let case = workload.name.clone() + &named.collect::<String>();
        let varies = words[common..].join(" ");
        Ok(Variant { case, varies, plan })
    };
    points.into_iter().map(variant).collect()
}

/// Is this setting among those that are given, swept or compared?
fn is_given(options: &Sim, setting: &str) -> bool {
    let sets = options.set.iter().chain(&options.sweep);
    let mut sets = sets.chain(&options.compare);
    sets.any(|it| it.trim_start().starts_with(setting))
}

/// The plan with one of the seeds. `seed` may have been set like any setting; the others follow it.
fn seeded(options: &Sim, plan: &Plan, index: u64) -> Plan {
    let mut plan = plan.clone();
    let first = match is_given(options, "seed=") {
        true => plan.options.seed,
        false => options.seed,
    };
    plan.options.seed = first.wrapping_add(index);
    plan
}

/// Do kernels of its version differ in the idle loop, and nothing says which one it is? Then the figures are
/// over both.
fn has_either_loop(options: &Sim, variant: &Variant) -> bool {
    let machine = &variant.plan.options;
    let is_open = machine.kernel >= Some(Release(6, 12)) && machine.idle.table.is_none();
    let is_one = machine.idle_loop != IdleLoop::Classic || options.trace.is_some();
    is_open && !is_given(options, "idle_loop=") && !is_one
}

/// What is said of those.
const EITHER_LOOP: &str = "without a cpuidle driver (idle_table=none) a kernel from 6.12 on may have either \
                           idle loop: figures are over both; idle_loop=classic or retain decides";

/// Every variant with every seed, as far as runs were finished. Progress is in slices of virtual time, so
/// that the first run already tells how long all will take.
fn all(
    options: &Sim,
    (variants, either): (&[&Variant], bool),
    control: Control<'_>,
) -> Vec<Vec<Stats>> {
    let seeds = options.seeds as usize;
    let loops = if either { 2 } else { 1 };
    let runs = variants.len() * loops * seeds;
    let slices: u64 = variants.iter().map(|it| it.plan.slices()).sum();
    let bar = control.progress;
    bar.begin(
        &format!("{runs} runs"),
        slices * runs as u64 / variants.len().max(1) as u64,
    );
    let stop = control.flag();
    let passed = AtomicU64::new(0);
    let one = |index: usize| {
        let variant = variants[index / seeds / loops];
        let mut plan = seeded(options, &variant.plan, (index % seeds) as u64);
        if index / seeds % loops == 1 && has_either_loop(options, variant) {
            plan.options.idle_loop = IdleLoop::Retain;
        }
        let own = Cell::new(0);
        let stats = plan.run(|| {
            own.set(own.get() + 1);
            passed.fetch_add(1, Ordering::Relaxed);
            stop.load(Ordering::Relaxed)
        });
        let rest = plan.slices().saturating_sub(own.get());
        passed.fetch_add(rest, Ordering::Relaxed);
        stats
    };
    let mut shown = 0;
    let results = batch::run(jobs(options), runs, one, |_| {
        let passed = passed.load(Ordering::Relaxed);
        bar.advance(passed - shown);
        shown = passed;
    });
    bar.end();
    let mut all: Vec<Vec<Stats>> = variants.iter().map(|_| Vec::new()).collect();
    for (index, stats) in results {
        all[index / seeds / loops].push(stats);
    }
    all
}

/// One run, written as text to `path`.
fn traced(
    options: &Sim,
    variants: &[&Variant],
    path: &Path,
    stop: &AtomicBool,
) -> Result<Vec<Stats>, Error> {
    let [variant] = variants else {
        let why = "--trace writes one run: leave out --sweep and --compare";
        return Err(Error::Usage(why.into()));
    };
    if options.seeds != 1 {
        let why = "--trace writes one run: leave out --seeds, and give --seed";
        return Err(Error::Usage(why.into()));
    }
    let workload = options.workload.as_deref();
    let inputs: Vec<&Path> = workload.into_iter().collect();
    let place = file::settle(&TRACE, path, Permit::of(options.force.force, &inputs))?;
    let plan = seeded(options, &variant.plan, 0);
    let mut machine = plan.machine();
    machine.keep_trace();
    plan.run_on(&mut machine, || stop.load(Ordering::Relaxed));
    place.fill(|mut out| machine.write_trace(&mut out))?;
    Ok(vec![machine.stats()])
}

/// The workload's assumptions, the files of idle states and power of the variants, and fitted parameters.
fn said(workload: &Workload, variants: &[Variant]) -> (Vec<String>, Vec<String>) {
    let mut assumes = workload.assumes().to_vec();
    let mut fitted = workload.fitted().to_vec();
    let add = |all: &mut Vec<String>, name: &str, sentences: &[&[String]]| {
        for it in sentences.iter().copied().flatten() {
            let said = format!("{name}: {it}");
            if !all.contains(&said) {
                all.push(said);
            }
        }
    };
    for variant in variants {
        let idle = &variant.plan.options.idle;
        let Some(table) = &idle.table else {
            continue;
        };
        let origin = [format!("{}; {}", table.about, table.origin)];
        add(&mut assumes, &table.name, &[&origin, &table.assumes]);
        if let Some(power) = &idle.power {
            let origin = [format!("{}; {}", power.about, power.origin)];
            add(&mut assumes, &power.name, &[&origin, &power.assumes]);
            add(&mut fitted, &power.name, &[&power.fitted]);
        }
    }
    (assumes, fitted)
}

/// Settings as a report's options: a number where it is one.
fn put<'a>(report: &mut Report, settings: impl IntoIterator<Item = (&'a str, String)>) {
    for (key, value) in settings {
        match value.parse::<u64>() {
            Ok(number) => report.option(key, number),
            Err(_) => report.option(key, value),
        }
    }
}

/// The report before its rows: every setting. Settings that a sweep changes are those of the first variant.
fn describe(options: &Sim, workload: &Workload, variants: &[Variant]) -> Report {
    let first = seeded(options, &variants[0].plan, 0);
    let mut report = Report::new("sim", first.options.seed);
    let own = first.parameters.iter();
    let own = own.map(|(key, value)| (key.as_str(), value.clone()));
    put(&mut report, own.chain(settings::listed(&first.options)));
    report.option("workload", workload.name.as_str());
    report.option("about", workload.about().unwrap_or_default());
    let (assumes, fitted) = said(workload, variants);
    report.option("assumes", assumes);
    report.option("fitted", fitted);
    report.option("seeds", options.seeds);
    report.option("seconds", first.length / 1_000_000_000);
    report.option("sweep", options.sweep.clone());
    report.option("recommend", options.recommend);
    for (key, of) in [
        (
            "warnings",
            settings::warnings as fn(&Options) -> Vec<String>,
        ),
        ("version", settings::differences),
    ] {
        let mut said: Vec<String> = Vec::new();
        for line in variants.iter().flat_map(|it| of(&it.plan.options)) {
            if !said.contains(&line) {
                said.push(line);
            }
        }
        let either = key == "warnings" && variants.iter().any(|it| has_either_loop(options, it));
        said.extend(either.then(|| EITHER_LOOP.to_owned()));
        report.option(key, said);
    }
    report.option("leaves_out", text::LEAVES_OUT);
    report
}
