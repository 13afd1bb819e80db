//! `whatif`: reads a trace once, replays it on the model as recorded and with a change, prints the three
//! columns. Of several traces each is replayed, and the report has the rows of all.

use super::shard::{Note, Piece};
use super::{code, stopped_after, usage};
use crate::arguments::shard::Shard;
use crate::arguments::whatif::Whatif;
use crate::show::interrupt::stop_flag;
use crate::show::output::{self, DONE, FINDING, STOPPED};
use crate::show::paper::Paper;
use crate::show::progress::Bar;
use quiescent_report::{Control, Error, Progress, Report, Row};
use quiescent_sim::whatif::{self, Answer, Reading, Request, Trace};
use quiescent_trace::{Options, Window};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// The option of a report on several recordings with what there is to say of each.
pub const FILES: &str = "files";

/// Runs the command; returns the exit code.
pub fn run(options: &Whatif) -> Result<u8, Error> {
    let inputs: Vec<&Path> = options.files.iter().map(|it| it.as_path()).collect();
    for (number, file) in inputs.iter().enumerate() {
        if inputs[..number].contains(file) {
            let why = format!("{} is named twice; name each file once", file.display());
            return Err(Error::Usage(why));
        }
    }
    whatif::check(&request(options, inputs[0]))?;
    let (page, force) = (options.html.as_deref(), options.force.force);
    let paper = Paper::settle(page, options.json, force, &inputs)?;
    let known = Options {
        window: window(options)?,
        hz: options.hz,
    };
    let stop = stop_flag()?;
    let bar = Bar::new(options.quiet);
    let asked = |file: &Path| match read(file, known, &stop, &bar)? {
        Some(trace) => whatif::ask(&trace, &request(options, file), Control::new(&stop, &bar)),
        None => Ok(None),
    };
    let (report, text, code) = match (&inputs[..], options.shard) {
        ([file], None) => {
            let Some(answer) = asked(file)? else {
                output::tell("stopped after 0 of 1 recordings\n");
                return Ok(STOPPED);
            };
            let report = whatif::report(&answer, code(&stop) != DONE);
            let text = whatif::text(&answer, output::columns());
            (report, text, code_of(&answer))
        }
        _ => several(options, &inputs, asked),
    };
    paper.put(&report, &text)?;
    Ok(if report.is_stopped() { STOPPED } else { code })
}

fn code_of(answer: &Answer) -> u8 {
    match answer.holds() {
        true => DONE,
        false => FINDING,
    }
}

fn request(options: &Whatif, file: &Path) -> Request {
    Request {
        file: file.display().to_string(),
        was: options.was.clone(),
        set: options.set.clone(),
        repeat: options.repeat,
        seed: options.seed,
    }
}

/// One report on several recordings, or on those of the shard: the case of a row is its file. What each file
/// has of its own is in a list of options; one that cannot be replayed has its error there.
fn several(
    options: &Whatif,
    inputs: &[&Path],
    asked: impl Fn(&Path) -> Result<Option<Answer>, Error>,
) -> (Report, String, u8) {
    let mut report = Report::new("whatif", options.seed);
    let (mut files, mut pieces) = (Vec::new(), Vec::new());
    let (mut code, mut stopped) = (DONE, false);
    for file in Shard::own(options.shard, inputs) {
        let name = file.display().to_string();
        let before = report.rows.len();
        let text = match asked(file) {
            Ok(None) => {
                stopped = true;
                break;
            }
            Ok(Some(answer)) => {
                code = code.max(code_of(&answer));
                let mut part = whatif::report(&answer, false);
                files.push(Value::from_iter(part.options));
                part.rows
                    .iter_mut()
                    .for_each(|it| it.case.clone_from(&name));
                report.rows.append(&mut part.rows);
                whatif::text(&answer, output::columns()) + "\n"
            }
            Err(why) => {
                code = FINDING;
                let failed = Row::single("whatif", &name, "not_replayed", "files", 1.0);
                report.rows.extend(failed);
                let text = format!("{name}: not replayed: {why}\n\n");
                if options.json {
                    output::tell(text.trim_end().to_owned() + "\n");
                }
                files.push(json!({ "file": name, "error": why.to_string() }));
                text
            }
        };
        let (rows, values) = (report.rows.len() - before, Vec::new());
        let said = vec![text];
        pieces.push(Piece { rows, values, said });
    }
    let mut text: String = pieces
        .iter()
        .flat_map(|it| it.said.iter().cloned())
        .collect();
    let own = Shard::own(options.shard, inputs).count();
    text += &stopped_after(&mut report, stopped, (pieces.len(), own), "recordings");
    let names = inputs.iter().map(|it| it.display().to_string());
    for (key, value) in [
        ("set", json!(options.set)),
        ("as", json!(options.was)),
        ("from", json!(options.from)),
        ("to", json!(options.to)),
        ("hz", json!(options.hz)),
        ("repeat", json!(options.repeat)),
        ("recordings", names.collect::<Value>()),
        (FILES, json!(files)),
    ] {
        report.option(key, value);
    }
    if let Some(shard) = options.shard {
        Note::of(shard, inputs.len(), code, pieces).put(&mut report);
    }
    (report, text, code)
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
    let input = quiescent_trace::open(file).map_err(usage)?;
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
    let summary = summary.map_err(usage)?;
    if stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    bar.end();
    reading.finish(&summary).map(Some).map_err(usage)
}
