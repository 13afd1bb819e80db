//! `whatif`: reads a trace once, replays it on the model as recorded and with a change, prints the three
//! columns.

use super::code;
use crate::arguments::whatif::Whatif;
use crate::show::file::Permit;
use crate::show::interrupt::stop_flag;
use crate::show::output::{self, DONE, FINDING, Printed, STOPPED};
use crate::show::paper::Paper;
use crate::show::progress::Bar;
use quiescent_report::{Control, Error, Progress};
use quiescent_sim::whatif::{self, Reading, Request, Trace};
use quiescent_trace::{Options, Window};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs the command; returns the exit code.
pub fn run(options: &Whatif) -> Result<u8, Error> {
    let request = Request {
        file: options.file.display().to_string(),
        was: options.was.clone(),
        set: options.set.clone(),
        repeat: options.repeat,
        seed: options.seed,
    };
    whatif::check(&request)?;
    let inputs = [options.file.as_path()];
    let permit = Permit::of(options.force.force, &inputs);
    let paper = Paper::settle(options.html.as_deref(), options.json, permit)?;
    let known = Options {
        window: window(options)?,
        hz: options.hz,
    };
    let stop = stop_flag()?;
    let bar = Bar::new(options.quiet);
    let Some(trace) = read(&options.file, known, &stop, &bar)? else {
        return Ok(STOPPED);
    };
    let Some(answer) = whatif::ask(&trace, &request, Control::new(&stop, &bar))? else {
        return Ok(STOPPED);
    };
    let stopped = code(&stop) != DONE;
    let report = whatif::report(&answer, stopped);
    let text = whatif::text(&answer, output::columns());
    paper.tables(|| match options.json {
        true => Printed::json(&report),
        false => Printed::text(&text),
    })?;
    paper.write(&report, &text, stopped)?;
    Ok(match code(&stop) {
        DONE if !answer.holds() => FINDING,
        code => code,
    })
}

/// The window of `--from` and `--to`; a missing end is the trace's.
fn window(options: &Whatif) -> Result<Option<Window>, Error> {
    match (options.from, options.to) {
        (None, None) => Ok(None),
        (Some(from), Some(to)) if from < to => Ok(Some(Window {
            start_ns: from,
            end_ns: to,
        })),
        (Some(_), Some(_)) => Err(Error::Usage(
            "--from is not before --to: the interval is empty".into(),
        )),
        _ => Err(Error::Usage(
            "rates need both ends of the window: give both --from and --to, or neither".into(),
        )),
    }
}

/// The trace; none if it was stopped.
pub(super) fn read(
    file: &Path,
    options: Options,
    stop: &AtomicBool,
    bar: &Bar,
) -> Result<Option<Trace>, Error> {
    let wrong = |why: quiescent_trace::Error| Error::Usage(why.to_string());
    let input = quiescent_trace::open(file).map_err(wrong)?;
    let mut reading = Reading::new(options);
    bar.begin("lines", 0);
    let summary = quiescent_trace::follow(
        &file.display().to_string(),
        input,
        &mut |record| reading.feed(record),
        &mut |records| {
            bar.advance(u64::from(records));
            !stop.load(Ordering::Relaxed)
        },
    );
    let summary = summary.map_err(wrong)?;
    if stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    bar.end();
    reading.finish(&summary).map(Some).map_err(wrong)
}
