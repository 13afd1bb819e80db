//! The results of a campaign: as text, as TAP, and in the form that every command shares.

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
    format!(
        "{:<8}{line}  seed {} {verdict}\n",
        run.request.scenario, run.request.seed
    )
}

/// A test point.
pub fn tap(run: &Run, turn: usize) -> String {
    let (name, seed, line) = (&run.request.scenario, run.request.seed, run.text("line"));
    if run.is_good() {
        return format!("ok {turn} - {name} seed {seed}\n# {name:<8}{line}\n");
    }
    let mut text = format!("not ok {turn} - {name} seed {seed}\n# {name:<8}{line}\n");
    for line in failure(run).lines() {
        text += &format!("# {line}\n");
    }
    text
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
    text += &format!(
        "{} runs: {} grace periods, {} sections of readers, {} in handlers, {} disposals, {} of them \
         lazily\n",
        runs.len(),
        sum("all", "grace_periods"),
        sum("reader", "reads"),
        sum("signal handler", "reads"),
        disposals(runs),
        sum("lazily", "ops"),
    );
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
    let errors: Vec<f64> = runs.iter().map(|run| run.findings().len() as f64).collect();
    let totals = [
        ("all", "errors", "findings", errors.iter().sum()),
        ("all", "runs", "times", runs.len() as f64),
        (
            "all",
            "grace_periods",
            "times",
            sum(runs, "all", "grace_periods") as f64,
        ),
        ("all", "reads", "times", sum(runs, "reader", "reads") as f64),
        ("all", "ops", "disposals", disposals(runs) as f64),
        ("lazily", "ops", "times", sum(runs, "lazily", "ops") as f64),
    ];
    for (case, metric, unit, value) in totals {
        let row = Row::single("quiescent", case, metric, unit, value);
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
    let mut sums: Vec<(&Row, f64)> = Vec::new();
    let counted = |row: &&Row| row.case != "all" && COUNTS.contains(&row.unit.as_str());
    let rows = reports(runs).flat_map(|(_, report)| &report.rows);
    for row in rows.filter(counted) {
        let same = |it: &&mut (&Row, f64)| it.0.case == row.case && it.0.metric == row.metric;
        match sums.iter_mut().find(same) {
            Some((_, sum)) => *sum += row.median,
            None => sums.push((row, row.median)),
        }
    }
    for (row, sum) in sums {
        let known = shared.find("quiescent", &row.case, &row.metric).is_some();
        if sum > 0.0 && !known {
            let row = Row::single("quiescent", &row.case, &row.metric, &row.unit, sum);
            shared.rows.extend(row);
        }
    }
}

/// The rows of one scenario.
fn rows(shared: &mut Report, name: &str, runs: &[Run]) {
    let mut gathered: Vec<(&Row, Vec<f64>)> = Vec::new();
    for (_, report) in reports(runs).filter(|(run, _)| run.request.scenario == name) {
        // Counts of 0 are left out, except errors.
        let counted = |row: &&Row| row.median != 0.0 || row.metric == "errors";
        for row in report.rows.iter().filter(counted) {
            let same =
                |it: &&mut (&Row, Vec<f64>)| it.0.case == row.case && it.0.metric == row.metric;
            match gathered.iter_mut().find(same) {
                Some((_, values)) => values.push(row.median),
                None => gathered.push((row, vec![row.median])),
            }
        }
    }
    for (row, values) in gathered {
        let case = format!("{name} {}", row.case);
        let merged = Row::of("quiescent", &case, &row.metric, &row.unit, &values);
        shared.rows.extend(merged);
    }
    let died = runs.iter().filter(|run| run.request.scenario == name);
    let died = died.filter(|run| matches!(run.end, End::Died(_))).count();
    if died > 0 {
        let case = format!("{name} died");
        let row = Row::single("quiescent", &case, "errors", "findings", died as f64);
        shared.rows.extend(row);
    }
}
