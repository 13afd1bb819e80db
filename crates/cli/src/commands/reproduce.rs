//! Carries out `reproduce`: settles where the page goes, measures, prints the tables or the JSON, writes the page.
//!
//! What was measured is printed before the page is written, so that a disk that is full costs the page only.

use super::{code, this_program};
use crate::arguments::Reproduce;
use crate::interrupt::stop_flag;
use crate::output::{self, DONE};
use crate::page_file::{self, Place};
use crate::progress::Bar;
use quiescent_bench::page::{self, Occasion};
use quiescent_bench::reproduce::{self, ReproduceOptions, Reproduced};
use quiescent_bench::{Control, Error};
use std::time::{Instant, SystemTime};

/// Does it; the exit code.
pub fn run(options: &Reproduce) -> Result<u8, Error> {
    let place = options.page().map(page_file::settle).transpose()?;
    if options.common.json && place == Some(Place::Output) {
        let why = "--json and --html -: both want standard output; give the page a file";
        return Err(Error::Usage(why.into()));
    }
    let wanted = ReproduceOptions {
        program: this_program()?,
        quick: options.quick,
        seed: options.common.seed,
    };
    let stop = stop_flag()?;
    let bar = Bar::new(options.common.quiet);
    let (began, clock) = (SystemTime::now(), Instant::now());
    let found = reproduce::run(&wanted, Control::new(&stop, &bar))?;
    let occasion = Occasion {
        began,
        elapsed: clock.elapsed(),
        command_line: command_line(),
        version: env!("CARGO_PKG_VERSION").into(),
        stopped: code(&stop) != DONE,
    };
    if place != Some(Place::Output) {
        print(options, &found)?;
    }
    if let Some(place) = place
        && let Some(said) = place.write(&page::render(&found, &occasion))?
    {
        eprintln!("{said}");
    }
    Ok(code(&stop))
}

fn print(options: &Reproduce, found: &Reproduced) -> Result<(), Error> {
    if options.common.json {
        return output::print((found.report.to_json() + "\n").as_bytes());
    }
    let text = reproduce::text(found);
    let text = match output::colour() {
        true => output::paint(&text),
        false => text,
    };
    output::print(text.as_bytes())
}

/// As it was typed, but for the path of the program.
fn command_line() -> String {
    let words = std::env::args_os().skip(1);
    let words = words.map(|word| word.to_string_lossy().into_owned());
    let all: Vec<String> = std::iter::once("quiescent".into()).chain(words).collect();
    all.join(" ")
}
