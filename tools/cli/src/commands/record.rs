//! `record`: checks the place of the trace, records, and prints a summary.
//!
//! The trace is written to a new file in the same folder and renamed when it is complete, also after an
//! error; a special file is written to directly.

use super::code;
use crate::arguments::record::Record;
use crate::show::file::{self, Place, Unfit};
use crate::show::interrupt::stop_pipe;
use crate::show::output::{self, DONE, FINDING};
use quiescent_live::events;
use quiescent_live::record::{Options, Outcome, record};
use quiescent_report::{Error, Report, Row};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The first bytes of a trace of this program, and of any trace of the kernel.
const HEADING: &[u8] = b"# tracer:";

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
    };
    let mut target = settle(&options.output)?;
    // Both before any thread is started.
    let tracing = quiescent_live::tracing(options.mount).map_err(|why| why.of("record"))?;
    let (stop, signals) = stop_pipe()?;
    let mut writer: Box<dyn Write> = match &mut target {
        TraceFile::Output => Box::new(BufWriter::new(io::stdout().lock())),
        TraceFile::Special(file) => Box::new(BufWriter::new(file)),
        TraceFile::File(file, _) => Box::new(BufWriter::new(file)),
    };
    let outcome =
        record(&tracing, &wanted, &mut *writer, signals.as_fd()).map_err(|why| why.of("record"))?;
    drop(writer);
    if let TraceFile::File(file, path) = target {
        file.persist(&path).map_err(|why| {
            let what = format!("cannot write {}", path.display());
            Error::failed(what, why.error, "is the folder still there?")
        })?;
    }
    let stopped = code(&stop);
    if options.json {
        let line = report(options, &outcome, stopped != DONE).to_json() + "\n";
        output::print(line.as_bytes())?;
    } else if is_output {
        eprint!("{}", text(options, &outcome));
    } else {
        output::print(text(options, &outcome).as_bytes())?;
    }
    let failed = outcome.status.is_some_and(|it| !it.success());
    Ok(match stopped {
        DONE if failed => FINDING,
        code => code,
    })
}

/// The place of the trace.
enum TraceFile {
    Output,
    /// A pipe, a device.
    Special(File),
    /// A new file in the same folder.
    File(NamedTempFile, PathBuf),
}

fn settle(path: &Path) -> Result<TraceFile, Error> {
    let refused = |why: &str| {
        let remedy = "name another file with --output";
        Error::Usage(format!("--output {}: {why}; {remedy}", path.display()))
    };
    let unwritten = |why: io::Error| refused(&format!("cannot be written ({why})"));
    match file::place(path, |head| head.starts_with(HEADING)) {
        Ok(Place::Output) => Ok(TraceFile::Output),
        Ok(Place::Special(path)) => {
            let file = File::options().write(true).open(path).map_err(unwritten)?;
            Ok(TraceFile::Special(file))
        }
        Ok(Place::File(path)) => {
            let new = file::beside(&path, "record").map_err(unwritten)?;
            Ok(TraceFile::File(new, path))
        }
        Err(Unfit::Folder) => Err(refused("this is a folder")),
        Err(Unfit::Foreign) => Err(refused(
            "the existing file is no trace, and is not overwritten",
        )),
        Err(Unfit::Unreadable(why)) => Err(unwritten(why)),
    }
}

fn text(options: &Record, outcome: &Outcome) -> String {
    let name = options.output.display();
    let seconds = outcome.length.as_secs_f64();
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
                 built without CONFIG_RCU_TRACE\n";
    }
    if outcome.lost > 0 {
        text += &format!(
            "warning: {} events were lost: take a larger --buffer (now {} KiB a CPU), or fewer --events\n",
            outcome.lost, options.buffer
        );
    }
    if let Some(status) = outcome.status.filter(|it| !it.success()) {
        text += &format!("warning: the command ended with {status}\n");
    }
    if options.output != Path::new("-") {
        text += &format!("next: quiescent trace {name} wakeups\n");
    }
    text
}

fn report(options: &Record, outcome: &Outcome, stopped: bool) -> Report {
    let mut report = Report::new("record", 0);
    let command = options
        .command
        .iter()
        .map(|it| it.to_string_lossy().into_owned());
    report.option("output", options.output.display().to_string());
    report.option("events", outcome.events.clone());
    report.option("missing_events", outcome.missing.clone());
    report.option("buffer_kib", options.buffer);
    report.option("clock", "mono");
    report.option("for_s", options.length.map(|it| it.as_secs_f64()));
    report.option("command", command.collect::<Vec<_>>());
    report.option("status", outcome.status.map(|it| it.to_string()));
    report.option("stopped", stopped);
    for (metric, unit, value) in [
        ("lines", "lines", outcome.lines as f64),
        ("bytes", "bytes", outcome.bytes as f64),
        ("lost_events", "events", outcome.lost as f64),
        ("length_s", "s", outcome.length.as_secs_f64()),
    ] {
        report
            .rows
            .extend(Row::single("recorded", "trace", metric, unit, value));
    }
    report
}
