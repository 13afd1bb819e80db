//! Carries out `whatif`: reads a trace once, has the model live through it as recorded and with a change, prints the three columns.

use super::code;
use crate::arguments::whatif::Whatif;
use crate::interrupt::stop_flag;
use crate::output::{self, DONE, FINDING, STOPPED};
use crate::page_file::{self, Place};
use crate::progress::Bar;
use quiescent_bench::whatif::{self, Request};
use quiescent_bench::{Control, Error, Progress, page};
use quiescent_sim::whatif::{Reading, Trace};
use quiescent_trace::{Options, Reader, Window};
use std::sync::atomic::{AtomicBool, Ordering};

/// Records between two looks at the stop flag and the bar.
const RECORDS_AT_A_TIME: u32 = 4096;

/// Does it; the exit code.
pub fn run(options: &Whatif) -> Result<u8, Error> {
    let request = Request {
        file: options.file.clone(),
        was: options.was.clone(),
        set: options.set.clone(),
        repeat: options.repeat,
        seed: options.seed,
    };
    whatif::check(&request)?;
    let place = options.html.as_deref().map(page_file::settle).transpose()?;
    if options.json && place == Some(Place::Output) {
        let why = "--json and --html -: both want standard output; give the page a file";
        return Err(Error::Usage(why.into()));
    }
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
    if place != Some(Place::Output) {
        let printed = match options.json {
            true => whatif::report(&answer, code(&stop) != DONE).to_json() + "\n",
            false => whatif::text(&answer),
        };
        output::print(printed.as_bytes())?;
    }
    if let Some(place) = place
        && let Some(said) = place.write(&page::whatif::render(&answer, &command_line()))?
    {
        eprintln!("{said}");
    }
    let fits = answer.misfits().next().is_none();
    Ok(match code(&stop) {
        DONE if !fits => FINDING,
        code => code,
    })
}

/// What `--from` and `--to` say; an end that is not given is the trace's.
fn window(options: &Whatif) -> Result<Option<Window>, Error> {
    match (options.from, options.to) {
        (None, None) => Ok(None),
        (Some(from), Some(to)) if from < to => Ok(Some(Window {
            start_ns: from,
            end_ns: to,
        })),
        (Some(_), Some(_)) => Err(Error::Usage(
            "--from is not before --to: nothing lies between them".into(),
        )),
        _ => Err(Error::Usage(
            "--from and --to belong together: rates need both ends of the time that is looked at; give both, or neither".into(),
        )),
    }
}

/// The trace; none if it was stopped.
fn read(
    name: &str,
    options: Options,
    stop: &AtomicBool,
    bar: &Bar,
) -> Result<Option<Trace>, Error> {
    let wrong = |why: quiescent_trace::Error| Error::Usage(why.to_string());
    let input = quiescent_trace::open(name).map_err(wrong)?;
    let mut reader = Reader::new(name, input);
    let mut reading = Reading::new(options);
    bar.begin("lines", 0);
    let mut records = 0;
    while let Some(record) = reader.next_record().map_err(wrong)? {
        reading.feed(&record);
        records += 1;
        if records == RECORDS_AT_A_TIME {
            bar.advance(u64::from(records));
            records = 0;
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
        }
    }
    bar.end();
    reading.finish(reader.summary()).map(Some).map_err(wrong)
}

/// As it was typed, but for the path of the program.
fn command_line() -> String {
    let words = std::env::args_os().skip(1);
    let words = words.map(|word| word.to_string_lossy().into_owned());
    let all: Vec<String> = std::iter::once("quiescent".into()).chain(words).collect();
    all.join(" ")
}
