//! The results of a campaign: as text, as TAP, and in the form that every command shares.

use crate::show::output::columns;
use quiescent_report::text::folded;
use quiescent_report::text::number::brief;
use quiescent_report::{Report, Row};
use quiescent_torture::campaign::{Campaign, End, Run};
use serde_json::json;

/// The line of a run that has ended.
pub fn line(run: &Run) -> String {
    let verdict = match run.is_good() {
        true => "ok",
        false => "FOUND",
    };
    let line = match &run.end {
        End::Report(_) => run.text("line"),
        End::Died(why) => why,
    };
    let (name, seed) = (&run.request.scenario, run.request.seed);
    folded(
        &format!("{name:<8}{verdict:<5} {line}; seed {seed}"),
        columns(),
        8,
    ) + "\n"
}

/// The scenarios without a run, in words; nothing if each has had one.
pub fn not_run(campaign: &Campaign, runs: &[Run]) -> Vec<String> {
    let names = campaign.scenarios.iter().map(|it| it.name.clone());
    let has_run = |name: &String| runs.iter().any(|run| run.request.scenario == *name);
    names.filter(|it| !has_run(it)).collect()
}

/// A test point.
pub fn tap(run: &Run, turn: usize) -> String {
    let (name, seed, line) = (&run.request.scenario, run.request.seed, run.text("line"));
    let (not, more) = match run.is_good() {
        true => ("", String::new()),
        false => ("not ", failure(run)),
    };
    let more = more.lines().map(|line| format!("# {line}\n"));
    let point = format!("{not}ok {turn} - {name} seed {seed}\n# {name:<8}{line}\n");
    point + &more.collect::<String>()
}

/// The details of a run with a finding.
fn failure(run: &Run) -> String {
    let mut text = format!("{}, seed {}\n", run.request.scenario, run.request.seed);
    for finding in run.findings() {
        text += &format!("  FOUND {finding}\n");
    }
    for note in run.text("notes").lines() {
        text += &format!("  {note}\n");
    }
    let events = run.events();
    if !events.is_empty() {
        text += "  the last events, until the first finding:\n";
        for event in events {
            text += &format!("    {event}\n");
        }
    }
    text + &format!("  again: {}\n", again(run))
}

/// The command that makes the same choices. (The interleaving differs.)
fn again(run: &Run) -> String {
    let mut words = format!(
        "quiescent torture --scenario {} --seed {} --duration {}ms",
        run.request.scenario,
        run.request.seed,
        run.request.duration.as_millis()
    );
    if let Some(threads) = run.request.threads {
        words += &format!(" --threads {threads}");
    }
    if let Some(fence) = run.request.fence {
        words += &format!(" --fence {}", format!("{fence:?}").to_lowercase());
    }
    words
}

/// The text after the progress lines.
pub fn text(campaign: &Campaign, runs: &[Run], stopped: bool) -> String {
    let mut text = String::from("\n");
    for run in runs.iter().filter(|run| !run.is_good()) {
        text += &failure(run);
        text.push('\n');
    }
    let sum = |case, metric| sum(runs, case, metric);
    let done = format!(
        "{} runs: {} grace periods, {} sections of readers, {} in handlers, {} disposals, {} of them \
         lazily",
        runs.len(),
        brief(sum("all", "grace_periods")),
        brief(sum("reader", "reads")),
        brief(sum("signal handler", "reads")),
        brief(disposals(runs)),
        brief(sum("lazily", "ops")),
    );
    text += &(folded(&done, columns(), 2) + "\n");
    let left = not_run(campaign, runs);
    if !left.is_empty() {
        let all = campaign.scenarios.len();
        let names = left.join(", ");
        let said = format!(
            "not run: {} of {all} scenarios: {names} (a longer --duration, or --scenario NAME)",
            left.len()
        );
        text += &(folded(&said, columns(), 2) + "\n");
    }
    if stopped {
        text += "stopped early\n";
    }
    text + &match runs.iter().all(Run::is_good) {
        true => format!("nothing found; seed {}\n", campaign.request.seed),
        false => "the last run has found something\n".to_owned(),
    }
}

fn reports(runs: &[Run]) -> impl Iterator<Item = (&Run, &Report)> {
    runs.iter().filter_map(|run| match &run.end {
        End::Report(report) => Some((run, &**report)),
        End::Died(_) => None,
    })
}

fn sum(runs: &[Run], case: &str, metric: &str) -> u64 {
    let rows = reports(runs).filter_map(|(_, report)| report.find("quiescent", case, metric));
    rows.map(|row| row.median as u64).sum()
}

fn disposals(runs: &[Run]) -> u64 {
    let rows = reports(runs).flat_map(|(_, report)| &report.rows);
    rows.filter(|row| row.metric == "ops" && row.unit == "disposals")
        .map(|row| row.median as u64)
        .sum()
}

/// The form that every command shares. A case is the scenario's name and a count's name; a row has a value
/// for each run of the scenario.
pub fn json(campaign: &Campaign, runs: &[Run], stopped: bool) -> Report {
    let mut shared = Report::new("torture", campaign.request.seed);
    let names: Vec<&str> = campaign
        .scenarios
        .iter()
        .map(|it| it.name.as_str())
        .collect();
    shared.option("scenarios", names.clone());
    shared.option("not_run", not_run(campaign, runs));
    shared.option("duration", campaign.duration.as_secs_f64());
    shared.option("threads", campaign.request.threads);
    shared.option("fence", json!(campaign.request.fence));
    shared.option("interval", campaign.request.interval.as_secs_f64());
    shared.option("stall", campaign.request.patience.as_secs_f64());
    shared.option("stopped", stopped);
    let asked = runs.iter().map(|run| {
        json!({
            "scenario": run.request.scenario, "seed": run.request.seed, "seconds": run.elapsed.as_secs_f64(),
            "fence": run.text("fence"), "line": run.text("line"), "findings": run.findings(),
            "notes": run.text("notes"), "events": run.events(), "again": again(run),
        })
    });
    shared.option("runs", asked.collect::<Vec<_>>());
    let errors: usize = runs.iter().map(|run| run.findings().len()).sum();
    let sum = |case, metric| sum(runs, case, metric);
    for (case, metric, unit, value) in [
        ("all", "errors", "findings", errors as u64),
        ("all", "runs", "times", runs.len() as u64),
        ("all", "grace_periods", "times", sum("all", "grace_periods")),
        ("all", "reads", "times", sum("reader", "reads")),
        ("all", "ops", "disposals", disposals(runs)),
        ("lazily", "ops", "times", sum("lazily", "ops")),
    ] {
        let row = Row::single("quiescent", case, metric, unit, value as f64);
        shared.rows.extend(row);
    }
    sums(&mut shared, runs);
    for name in names {
        rows(&mut shared, name, runs);
    }
    shared
}

/// Units that can be added.
const COUNTS: [&str; 4] = ["times", "disposals", "sections", "grace periods"];

/// Sums over all runs: a case is a count's name, without a scenario's name.
fn sums(shared: &mut Report, runs: &[Run]) {
    let counted = |row: &&Row| row.case != "all" && COUNTS.contains(&row.unit.as_str());
    let rows = reports(runs).flat_map(|(_, report)| &report.rows);
    for (row, values) in gathered(rows.filter(counted)) {
        let known = shared.find("quiescent", &row.case, &row.metric).is_some();
        let sum: f64 = values.iter().sum();
        if sum > 0.0 && !known {
            let row = Row::single("quiescent", &row.case, &row.metric, &row.unit, sum);
            shared.rows.extend(row);
        }
    }
}

/// The values of each case and metric, with the first of its rows.
fn gathered<'a>(rows: impl Iterator<Item = &'a Row>) -> Vec<(&'a Row, Vec<f64>)> {
    let mut gathered: Vec<(&Row, Vec<f64>)> = Vec::new();
    for row in rows {
        let same = |it: &&mut (&Row, _)| it.0.case == row.case && it.0.metric == row.metric;
        match gathered.iter_mut().find(same) {
            Some((_, values)) => values.push(row.median),
            None => gathered.push((row, vec![row.median])),
        }
    }
    gathered
}

/// The rows of one scenario.
fn rows(shared: &mut Report, name: &str, runs: &[Run]) {
    let own = |run: &Run| run.request.scenario == name;
    // Counts of 0 are left out, except errors.
    let counted = |row: &&Row| row.median != 0.0 || row.metric == "errors";
    let rows = reports(runs).filter(|(run, _)| own(run));
    let rows = rows.flat_map(|(_, report)| &report.rows);
    for (row, values) in gathered(rows.filter(counted)) {
        let case = format!("{name} {}", row.case);
        let merged = Row::of("quiescent", &case, &row.metric, &row.unit, &values);
        shared.rows.extend(merged);
    }
    let died = |run: &&Run| own(run) && matches!(run.end, End::Died(_));
    let died = runs.iter().filter(died).count();
    if died > 0 {
        let case = format!("{name} died");
        let row = Row::single("quiescent", &case, "errors", "findings", died as f64);
        shared.rows.extend(row);
    }
}
