//! `trace`: reads a recorded trace once and prints the results of one analysis.
//!
//! The trace is streamed: memory does not grow with its length. The bar shows bytes of the file, so that it
//! is right for compressed files, too. Ctrl-C ends the reading, and the counts until then are printed.

mod remedies;
mod text;

use super::code;
use crate::arguments::trace::Trace;
use crate::show::file::{self, Kind, Permit};
use crate::show::interrupt::stop_flag;
use crate::show::output::{self, DONE, FINDING, Printed};
use crate::show::progress::Bar;
use quiescent_report::{Control, Error, Progress, Report, Row};
use quiescent_sim::whatif::{self, Reading};
use quiescent_trace::{Analysis, Findings, Kind as Of, Opened, Table, follow, opened};
use std::sync::atomic::{AtomicBool, Ordering};

/// The file for Perfetto.
const TIMELINE: Kind = Kind::data("--output");

/// Views for Perfetto's trace processor; `ci/perfetto` tests them.
const SQL: &str = include_str!("../../../../data/perfetto/quiescent.sql");

/// Runs the command; returns the exit code.
pub fn run(options: &Trace) -> Result<u8, Error> {
    if options.sql {
        return output::print(&Printed::document(SQL.into())).map(|()| DONE);
    }
    if options.output.is_some() && options.analysis.kind().is_some() {
        let why = "--output is for the timeline: leave it out, or redirect standard output";
        return Err(Error::Usage(why.into()));
    }
    if let (Some(from), Some(to)) = (options.from, options.to)
        && from > to
    {
        return Err(Error::Usage(
            "--from is after --to: the interval is empty".into(),
        ));
    }
    if options.remedies && options.analysis.kind() != Some(Of::Waits) {
        let why = "--remedies is for the waits: give that analysis, or leave it out";
        return Err(Error::Usage(why.into()));
    }
    let replay = options
        .remedies
        .then(|| remedies::options(&options.filter()));
    let replay = replay.transpose()?.map(Reading::new);
    let name = &options.file.display().to_string();
    let source = opened(&options.file).map_err(unreadable)?;
    let output = options.output.as_deref().map(|path| {
        let inputs = [options.file.as_path()];
        let permit = Permit::of(options.force.force, &inputs);
        file::settle(&TIMELINE, path, permit)?.open()
    });
    let (out, file) = output.transpose()?.unzip();
    let analysis = match (options.analysis.kind(), out) {
        (Some(kind), _) => Analysis::new(kind, options.filter()),
        (None, Some(out)) => Analysis::timeline(options.filter(), out),
        (None, None) => {
            let why = "timeline: name a file with --output FILE";
            return Err(Error::Usage(why.into()));
        }
    };
    let stop = stop_flag()?;
    let kind = &source.kind.clone();
    let bar = Bar::new(options.quiet);
    let (mut findings, trace) = read(source, analysis, replay, name, &stop, &bar)?;
    let remedies = trace.and_then(|trace| {
        let control = Control::new(&stop, &bar);
        remedies::table(name, &trace, &mut findings, control)
    });
    if let Some(file) = file {
        file.keep()?;
    }
    let stopped = stop.load(Ordering::Relaxed);
    let remedies = remedies.as_ref();
    let report = || report(options, kind, &findings, remedies, stopped);
    let width = output::columns();
    let text = || text::text(options, kind, &findings, remedies, stopped, width);
    output::print(&Printed::either(options.json, report, text))?;
    let unread = findings.about.unparsed.count() + findings.about.undecoded.count();
    Ok(match code(&stop) {
        DONE if unread > 0 => FINDING,
        code => code,
    })
}

/// Without a trace nothing can be done: wrong usage.
fn unreadable(why: quiescent_trace::Error) -> Error {
    match why {
        quiescent_trace::Error::Output { .. } => Error::Failed(why.to_string()),
        why => Error::Usage(why.to_string()),
    }
}

/// A trace that can be replayed, or why it cannot.
type Replayed = Result<whatif::Trace, quiescent_trace::Error>;

/// The results, and the trace if it is to be replayed.
fn read(
    source: Opened,
    mut analysis: Analysis,
    mut replay: Option<Reading>,
    name: &str,
    stop: &AtomicBool,
    bar: &Bar,
) -> Result<(Findings, Option<Replayed>), Error> {
    bar.begin("bytes", source.length);
    let mut shown = 0;
    // One thread reads and parses, this one analyses: results are those of one thread.
    let summary = follow(
        name,
        source.input,
        &mut |record| {
            analysis.feed(record);
            if let Some(replay) = &mut replay {
                replay.feed(record);
            }
        },
        &mut |_| {
            let now = source.read.load(Ordering::Relaxed);
            bar.advance(now - shown);
            shown = now;
            !stop.load(Ordering::Relaxed)
        },
    );
    let summary = summary.map_err(unreadable)?;
    bar.end();
    let findings = analysis.finish(&summary).map_err(unreadable)?;
    let (window, lines) = (findings.about.window, summary.lines);
    if window.end_ns <= window.start_ns && findings.about.unitless == 0 {
        return Err(unreadable(quiescent_trace::Error::Missing {
            name: name.to_owned(),
            what: "time in its window",
            lines,
            remedy: "give a window whose end is after its start",
        }));
    }
    Ok((findings, replay.map(|it| it.finish(&summary))))
}

/// All tables as rows: the case is a row's own name.
fn report(
    options: &Trace,
    kind: &str,
    findings: &Findings,
    remedies: Option<&Table>,
    stopped: bool,
) -> Report {
    let name = options.analysis.kind().map_or("timeline", Of::name);
    let mut report = Report::new(&format!("trace {name}"), 0);
    report.option("file", options.file.display().to_string());
    report.option("kind", kind);
    let filter = options.filter();
    let number = |ns: Option<u64>| ns.map_or(serde_json::Value::Null, Into::into);
    report.option("from_ns", number(filter.from_ns));
    report.option("to_ns", number(filter.to_ns));
    report.option(
        "cpus",
        filter.cpus.map(|cpus| cpus.iter().collect::<Vec<u32>>()),
    );
    report.option("threads", options.thread.clone());
    report.option("limit", number(options.limit));
    report.option(
        "about",
        serde_json::to_value(&findings.about).unwrap_or_default(),
    );
    report.option("notes", findings.notes.clone());
    report.option("stopped", stopped);
    let recorded = findings.tables.iter().map(|table| ("recorded", table));
    let all = recorded.chain(remedies.map(|table| ("model", table)));
    for (subject, table) in all {
        for line in table
            .rows
            .iter()
            .take(text::limit(options.limit, usize::MAX))
        {
            let figures = table.columns.iter().zip(&line.figures);
            report.rows.extend(figures.filter_map(|(column, figure)| {
                // Exact: counts and times are not rounded as measurements are.
                let value = (*figure)?;
                Some(Row {
                    subject: subject.into(),
                    case: table.case(line),
                    metric: column.metric.into(),
                    unit: column.unit.into(),
                    n: 1,
                    median: value,
                    min: value,
                    max: value,
                })
            }));
        }
    }
    report
}
