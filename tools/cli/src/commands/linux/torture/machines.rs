//! `torture --sim`: random machines of the model, until a number of them is done.
//!
//! Results do not depend on the number of runs at once, or on the load of this machine: a seed determines its
//! machine, and the first finding is that of the smallest seed. Its machine is reduced before it is shown.

use crate::arguments::linux::torture::Torture;
use crate::arguments::shard::Shard;
use crate::commands::merge::Part;
use crate::commands::shard::{COUNTED, Note};
use crate::commands::sim;
use crate::commands::{code, stopped_after};
use crate::show::file::{self, Kind, Permit, Place};
use crate::show::interrupt::stop_flag;
use crate::show::output::{self, DONE, FINDING, columns};
use crate::show::paper::{Paper, quoted};
use crate::show::progress::Bar;
use quiescent_report::text::folded;
use quiescent_report::{Error, Progress, Report, Row};
use quiescent_sim::torture::{Case, Finding, Outcome, Shrunk, run as run_case, shrink, trace};
use quiescent_sim::{batch, points};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::Ordering;

/// The largest number of runs to reduce a machine with a finding.
const MOST_RUNS: u64 = 3000;

/// One machine in so many counts states and trace points, which takes half as long again.
const TALLIED: u64 = 10;

/// A machine with a finding: there is one copy of it, so that none is replaced unasked.
const CASE: Kind = Kind::data("--keep");

/// Runs the command; returns the exit code.
pub fn run(options: &Torture) -> Result<u8, Error> {
    let machines = &options.machines;
    let inputs: Vec<&Path> = machines.replay.as_deref().into_iter().collect();
    let paper = Paper::of(&options.page, options.json, &inputs)?;
    let permit = Permit::of(options.page.force.force, &inputs);
    let (path, kind) = match &machines.replay {
        Some(_) => (&machines.trace, &sim::TRACE),
        None => (&machines.keep, &CASE),
    };
    let place = path.as_deref().map(|path| file::settle(kind, path, permit));
    let place = place.transpose()?;
    // A case's panic is reported as a finding, and not printed.
    std::panic::set_hook(Box::new(|_| {}));
    let result = match &machines.replay {
        Some(path) => replay(path, (&paper, place.as_ref())),
        None => campaign(options, (&paper, place.as_ref())),
    };
    drop(std::panic::take_hook());
    result
}

/// The page, and the place of the case or its trace.
type Files<'a> = (&'a Paper, Option<&'a Place>);

fn campaign(options: &Torture, (paper, place): Files) -> Result<u8, Error> {
    let (first, n) = (options.run.seed.unwrap_or(1), options.machines.seeds);
    let shard = options.machines.shard;
    let part = shard.unwrap_or(Shard { number: 1, of: 1 });
    let own = part.pieces(n);
    let number = |index: usize| part.number - 1 + index as u64 * part.of;
    let stop = stop_flag()?;
    let bar = Bar::new(options.quiet);
    bar.begin("machines", own);
    let one = |index: usize| {
        let seed = first.wrapping_add(number(index));
        let stopped = stop.load(Ordering::Relaxed);
        (!stopped).then(|| run_case(&Case::of_seed(seed), number(index).is_multiple_of(TALLIED)))
    };
    let jobs = options.machines.jobs.map(|jobs| jobs as usize);
    let jobs = jobs.unwrap_or_else(batch::processors);
    let outcomes = batch::run(jobs, own as usize, one, |done| bar.advance(done));
    bar.end();
    let (mut all, mut done, mut failing) = (Outcome::default(), 0, Vec::new());
    for (index, outcome) in outcomes {
        let seed = first.wrapping_add(number(index));
        failing.extend(outcome.finding.is_some().then_some(seed));
        all.add(outcome);
        done += 1;
    }
    let smallest = |seed: &u64| shrink(&Case::of_seed(*seed), MOST_RUNS);
    let found = failing.first().and_then(smallest);
    if let (Some(place), Some(found)) = (place, &found) {
        place.write(found.case.to_text().as_bytes())?;
    }
    let stopped = stop.load(Ordering::Relaxed);
    let mut report = report((first, n, done), &failing, &all);
    let after = stopped_after(
        &mut report,
        stopped,
        (done as usize, own as usize),
        "machines",
    );
    let code = match found {
        Some(_) => FINDING,
        None => code(&stop),
    };
    if let Some(shard) = shard {
        let mut note = Note::of(shard, n as usize, code, Vec::new());
        note.counted = all.to_json();
        note.put(&mut report);
    }
    let kept = options.machines.keep.as_deref();
    let (report, text) = finished(report, &all, found.as_ref(), kept);
    paper.put(&report, &text)?;
    output::tell(after.trim_start());
    Ok(code)
}

/// The report of machines from a seed on: so many were asked for, and so many are done.
fn report((first, n, done): (u64, u64, u64), failing: &[u64], all: &Outcome) -> Report {
    let mut report = Report::new(COUNTED, first);
    report.option("seeds", n);
    report.option("machines", done);
    report.option("failing_seeds", failing);
    fill(&mut report, all, done, failing.len());
    report
}

/// The report, the text and the exit code of these shards.
pub fn merge(parts: Vec<Part>) -> Result<(Report, String, u8), Error> {
    let first = parts[0].report.seed;
    let (mut all, mut done, mut failing) = (Outcome::default(), 0_u64, Vec::new());
    for Part { name, report, note } in &parts {
        let wrong = |what| Error::Usage(format!("{name}: no {what}; run the shard again"));
        let options = &report.options;
        let seeds = options.get("failing_seeds").and_then(Value::as_array);
        let seeds = seeds.into_iter().flatten().filter_map(Value::as_u64);
        let finding = options.get("finding").unwrap_or(&Value::Null);
        let seeds: Vec<_> = seeds
            .map(|seed| (seed.wrapping_sub(first), seed, finding))
            .collect();
        if !seeds.is_empty() && shrunk(finding).is_none() {
            return Err(wrong("finding of its seeds that failed"));
        }
        failing.extend(seeds);
        let machines = options.get("machines").and_then(Value::as_u64);
        done = done.saturating_add(machines.unwrap_or(0));
        all.add(Outcome::from_json(&note.counted).ok_or_else(|| wrong("counts of machines"))?);
    }
    failing.sort_by_key(|it| it.0);
    let found = failing.first().and_then(|it| shrunk(it.2));
    let seeds: Vec<u64> = failing.iter().map(|it| it.1).collect();
    let mut report = report((first, parts[0].note.all, done), &seeds, &all);
    report.option("stopped", false);
    let (report, text) = finished(report, &all, found.as_ref(), None);
    Ok((report, text, if found.is_some() { FINDING } else { DONE }))
}

/// The finding of a shard's report, as [`as_json`] has written it.
fn shrunk(it: &Value) -> Option<Shrunk> {
    Some(Shrunk {
        case: Case::from_text("finding", &it["case"].to_string()).ok()?,
        finding: Finding::deserialize(&it["finding"]).ok()?,
        runs: it["runs_to_make_it_smaller"].as_u64()?,
    })
}

/// The report with its finding, and the text; `kept` is the file with the case.
fn finished(
    mut report: Report,
    all: &Outcome,
    found: Option<&Shrunk>,
    kept: Option<&Path>,
) -> (Report, String) {
    let text = text(&report, all, found, kept);
    let finding = found.map(|it| as_json(&report, it));
    report.option("finding", finding);
    (report, text)
}

fn replay(path: &Path, (paper, place): Files) -> Result<u8, Error> {
    let name = path.display();
    let refused = |why| format!("--replay {why}; give a file that --keep has written");
    let text = quiescent_report::read_text(path)
        .map_err(|why| Error::Usage(refused(format!("{name}: {why}"))))?;
    let case = Case::from_text(&name.to_string(), &text)
        .map_err(|why| Error::Usage(refused(why.to_string())))?;
    if let Some(place) = place {
        place.write(&trace(&case))?;
    }
    let outcome = run_case(&case, true);
    let found = outcome.finding.clone().map(|finding| Shrunk {
        case,
        finding,
        runs: 1,
    });
    let mut report = Report::new("torture --sim --replay", 0);
    report.option("file", name.to_string());
    fill(&mut report, &outcome, 1, usize::from(found.is_some()));
    let (report, text) = finished(report, &outcome, found.as_ref(), Some(path));
    paper.put(&report, &text)?;
    Ok(if found.is_some() { FINDING } else { DONE })
}

/// Every count, as rows.
fn fill(report: &mut Report, all: &Outcome, machines: u64, failing: usize) {
    let extra = [
        ("machines", machines),
        ("errors", failing as u64),
        ("distinct_states", all.states.len() as u64),
        ("trace_points", all.points.len() as u64),
    ];
    let counts = all.counts.iter().map(|(name, count)| (&**name, *count));
    for (name, count) in extra.into_iter().chain(counts) {
        let row = Row::single("model", "all", name, "times", count as f64);
        report.rows.extend(row);
    }
    report.option("trace_points_never_reached", never(all));
}

fn never(all: &Outcome) -> Vec<String> {
    let every = points();
    let never = every.difference(&all.points);
    never.map(|it| format!("{}:{}", it.0, it.1)).collect()
}

/// The seed of the machine that was reduced; none of a replay.
fn failing_seed(report: &Report) -> Option<&Value> {
    report.options.get("failing_seeds")?.get(0)
}

fn as_json(report: &Report, found: &Shrunk) -> Value {
    let case: Value = serde_json::from_str(&found.case.to_text()).expect("it was written as JSON");
    json!({
        "seed": failing_seed(report), "finding": found.finding, "runs_to_make_it_smaller": found.runs,
        "case": case,
    })
}

/// What was done; a name in brackets stands for that count.
const SUMMARY: &str = "{events} events, {virtual_s} s of virtual time, {faults} faults\n\
     {grace_periods} grace periods and {expedited} expedited ones; the oracle looked at {looked_at}, of \
     which {spanned} began with a reader inside\n\
     {calls} waits, {callbacks} callbacks, {barriers} barriers, {preempted_readers} readers preempted, \
     {departures} CPUs went, {toggles} changed sides, {shrunk} lazy ones shrunk\n\
     SRCU: {srcu_grace_periods} grace periods, {srcu_spanned} of them with a reader inside, {srcu_calls} \
     waits, {srcu_turns} exchanges of counts\n";

/// The text with each name in brackets replaced by its count.
fn counted(text: &str, all: &Outcome) -> String {
    let mut parts = text.split('{');
    let first = parts.next().unwrap_or_default().to_owned();
    let filled = parts.map(|part| {
        let (name, rest) = part.split_once('}').unwrap_or((part, ""));
        let count = match name {
            "virtual_s" => all.count("virtual_ms") / 1000,
            name => all.count(name),
        };
        format!("{count}{rest}")
    });
    first + &filled.collect::<String>()
}

fn text(report: &Report, all: &Outcome, found: Option<&Shrunk>, kept: Option<&Path>) -> String {
    let machines = report.median("model", "all", "machines").unwrap_or(0.0);
    let seed = report.seed;
    let mut text = format!("{machines} machines from seed {seed}: ") + &counted(SUMMARY, all);
    if machines > 1.0 {
        text += &format!(
            "{} distinct states; {} of {} trace points of the engine reached, never: {}\n",
            all.states.len(),
            all.points.len(),
            points().len(),
            never(all).join(", ")
        );
    }
    let mut text = folded(&text, columns(), 2); // no case below, which is for a file
    let Some(found) = found else {
        return text + "nothing found\n";
    };
    let seed = failing_seed(report);
    let seed = seed.map_or(String::new(), |seed| format!("seed {seed}, "));
    text += &format!(
        "\nFOUND {seed}{:?} at {} us{}\n",
        found.finding.kind,
        found.finding.at / 1000,
        match found.runs {
            1 => String::new(),
            runs => format!(", reduced in {runs} runs"),
        }
    );
    for word in &found.finding.words {
        text += &format!("  {word}\n");
    }
    text + &match kept {
        Some(path) => format!(
            "again: quiescent torture --sim --replay {}\n",
            quoted(&path.display().to_string())
        ),
        None => format!(
            "the machine (--keep FILE keeps it for --replay FILE):\n{}\n",
            found.case.to_text()
        ),
    }
}
