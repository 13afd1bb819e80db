//! `record`: checks the place of the trace, records, and prints a summary.
//!
//! The file appears when the recording is complete, for its user only.

use crate::arguments::linux::record::Record;
use crate::commands::code;
use crate::show::file::{self, Kind, Permit};
use crate::show::interrupt::stop_pipe;
use crate::show::output::{self, DONE, FINDING, Printed};
use quiescent_live::events;
use quiescent_live::record::{Options, Outcome, record};
use quiescent_report::text::folded;
use quiescent_report::{Error, Report, Row};
use std::os::fd::AsFd;
use std::path::Path;

/// A recording cannot be made again, so that none is replaced unasked.
const RECORDING: Kind = Kind {
    mode: file::PRIVATE,
    ..Kind::data("--output")
};

/// Runs the command; returns the exit code.
pub fn run(options: &Record) -> Result<u8, Error> {
    let is_output = options.output == Path::new("-");
    if options.json && is_output {
        let why = "--json and --output -: both would be standard output; name a file for the trace";
        return Err(Error::Usage(why.into()));
    }
    let wanted = Options {
        events: events::list(&options.events).map_err(|why| why.of("--events"))?,
        buffer_kb: options.buffer,
        length: options.length,
        command: options.command.clone(),
        aside: options.json || is_output,
    };
    let place = file::settle(
        &RECORDING,
        &options.output,
        Permit::of(options.force.force, &[]),
    )?;
    // Both before any thread is started.
    let tracing = quiescent_live::tracing(options.mount).map_err(|why| why.of("record"))?;
    let (stop, signals) = stop_pipe()?;
    let (mut out, file) = place.open()?;
    let outcome =
        record(&tracing, &wanted, &mut *out, signals.as_fd()).map_err(|why| why.of("record"))?;
    let is_probed = !outcome.probed.placed.is_empty();
    let refused = outcome.probed.refused.iter().filter(|_| is_probed);
    refused.for_each(|it| output::tell_folded(&format!("note: no probe for {it}\n")));
    out.flush().map_err(|why| place.failed(why))?;
    let stopped = code(&stop);
    // One without an event would only be in the way of the next.
    let is_kept = is_kept(&outcome, stopped);
    is_kept.then(|| file.keep()).transpose()?;
    let text = || text(options, &outcome, is_kept);
    match options.json {
        true => output::print(&Printed::json(&report(options, &outcome, stopped != DONE)))?,
        false if is_output => output::tell_folded(&text()),
        false => output::print(&Printed::text(folded(&text(), output::columns(), 2)))?,
    }
    let failed = outcome.status.is_some_and(|it| !it.success());
    Ok(match stopped {
        DONE if failed => FINDING,
        code => code,
    })
}

/// Does the file appear? Not if the recording was stopped before its first event.
fn is_kept(outcome: &Outcome, stopped: u8) -> bool {
    stopped == DONE || outcome.lines > 0
}

fn text(options: &Record, outcome: &Outcome, is_kept: bool) -> String {
    let (name, seconds) = (options.output.display(), outcome.length.as_secs_f64());
    let mut text = format!(
        "{name}: {} lines, {} KiB, {seconds:.1} s; {} kinds of events\n",
        outcome.lines,
        outcome.bytes.div_ceil(1024),
        outcome.events.len()
    );
    if !outcome.missing.is_empty() {
        let missing = outcome.missing.join(", ");
        text += &format!("not in this kernel, and left out: {missing}\n");
    }
    if outcome.missing.iter().any(|it| it == "rcu:*") {
        text += "  so the trace shows wake-ups and idle, but no callbacks and grace periods: the kernel is \
                 built without CONFIG_RCU_TRACE, and permits no probes (`quiescent doctor` knows more)\n";
    }
    if !outcome.probed.placed.is_empty() {
        let probes = outcome.probed.placed.len();
        text += &format!("RCU's events are those of {probes} probes: ");
        text += "the kernel is built without CONFIG_RCU_TRACE\n";
    }
    if outcome.lost > 0 {
        text += &format!(
            "warning: {} events were lost: a full --buffer (of {} KiB: take more), or missed by probes\n",
            outcome.lost, options.buffer
        );
    }
    text += &left(&outcome.left);
    if let Some(status) = outcome.status.filter(|it| !it.success()) {
        text += &format!("warning: the command ended with {status}\n");
    }
    if !is_kept {
        text += "stopped before the first event: no file was made\n";
    } else if options.output != Path::new("-") {
        text += &format!("next: quiescent trace {name} wakeups\n");
    }
    text
}

/// What is said of a buffer and of probes that the kernel would not remove; nothing of none.
pub fn left(those: &[String]) -> String {
    if those.is_empty() {
        return String::new();
    }
    format!(
        "warning: in use by another process, and left in the kernel: {}; `quiescent doctor --clean` removes \
         it when that has ended\n",
        those.join(", ")
    )
}

fn report(options: &Record, outcome: &Outcome, stopped: bool) -> Report {
    let mut report = Report::new("record", 0);
    let command = options.command.iter();
    let command = command.map(|it| it.to_string_lossy().into_owned());
    report.option("output", options.output.display().to_string());
    report.option("events", outcome.events.clone());
    report.option("missing_events", outcome.missing.clone());
    let probes = outcome.probed.placed.iter();
    let probes = probes.map(|(event, function)| format!("{event} {function}"));
    report.option("probes", probes.collect::<Vec<_>>());
    report.option("refused_probes", outcome.probed.refused.clone());
    report.option("buffer_kib", options.buffer);
    report.option("clock", "mono");
    report.option("for_s", options.length.map(|it| it.as_secs_f64()));
    report.option("command", command.collect::<Vec<_>>());
    report.option("status", outcome.status.map(|it| it.to_string()));
    report.option("left", outcome.left.clone());
    report.option("stopped", stopped);
    for (metric, unit, value) in [
        ("lines", "lines", outcome.lines as f64),
        ("bytes", "bytes", outcome.bytes as f64),
        ("lost_events", "events", outcome.lost as f64),
        ("length_s", "s", outcome.length.as_secs_f64()),
    ] {
        let row = Row::single("recorded", "trace", metric, unit, value);
        report.rows.extend(row);
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::output::STOPPED;
    use clap::Parser;

    #[derive(Parser)]
    struct Given {
        #[command(flatten)]
        record: Record,
    }

    /// A recording with so many lines.
    fn outcome(lines: u64) -> Outcome {
        Outcome {
            events: Vec::new(),
            missing: Vec::new(),
            probed: quiescent_live::Probed::default(),
            lines,
            bytes: 1145 + 100 * lines,
            lost: 0,
            left: Vec::new(),
            length: std::time::Duration::ZERO,
            status: None,
        }
    }

    #[test]
    fn one_that_was_stopped_before_its_first_event_leaves_no_file() {
        let given = Given::parse_from(["record"]).record;
        for (lines, stopped, kept) in [(0, STOPPED, false), (1, STOPPED, true), (0, DONE, true)] {
            let outcome = outcome(lines);
            let is_kept = is_kept(&outcome, stopped);
            assert_eq!(is_kept, kept, "{lines} {stopped}");
            let said = text(&given, &outcome, is_kept);
            assert_eq!(said.contains("next: quiescent trace"), kept, "{said}");
            assert_eq!(said.contains("no file was made"), !kept, "{said}");
        }
    }
}
