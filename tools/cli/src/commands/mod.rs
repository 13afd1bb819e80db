//! Runs a command.
//!
//! The first Ctrl-C sets a flag that measurements check between rounds: everything measured is printed, and
//! the exit code is 130. The second ends the program at once.

mod bench;
#[cfg(target_os = "linux")]
mod linux;
mod merge;
pub mod metrics;
mod shard;
mod sim;
mod trace;
mod whatif;

use crate::arguments::{Arguments, Command, Measured};
use crate::show::interrupt::stop_flag;
use crate::show::output::{self, DONE, Printed, STOPPED};
use crate::show::paper::Paper;
use crate::show::progress::Bar;
use clap::CommandFactory;
use quiescent_report::text::folded;
use quiescent_report::{Control, Error, Report};
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs the command; returns the exit code.
pub fn run(arguments: Arguments) -> Result<u8, Error> {
    match arguments.command {
        #[cfg(target_os = "linux")]
        Command::Linux(command) => linux::run(command),
        Command::Bench(request) => bench::run(&request),
        Command::Sim(options) => sim::run(&options),
        Command::Trace(options) => trace::run(&options),
        Command::Whatif(options) => whatif::run(&options),
        Command::Merge(options) => merge::run(&options),
        Command::Completions { shell } => completions(shell),
        Command::Man { command } => man(&command),
        #[cfg(not(target_os = "linux"))]
        Command::Other(words) => Err(Error::Usage(format!(
            "{}: there is no such command on this system; reproduce, kernel, doctor, record, top, torture \
             and all of bench but read, retire and mixed are for Linux",
            words
                .first()
                .map_or_else(Default::default, |word| word.to_string_lossy())
        ))),
    }
}

/// Runs a measurement and prints its report, or writes its page, or both.
fn measure(
    Measured { common, page }: &Measured,
    text: impl Fn(&Report) -> String,
    run: impl FnOnce(Control<'_>) -> Result<Report, Error>,
) -> Result<u8, Error> {
    let page = Paper::of(page, common.json, &[])?;
    let stop = stop_flag()?;
    let bar = Bar::new(common.quiet);
    let mut report = run(Control::new(&stop, &bar))?;
    let stopped = code(&stop) != DONE;
    report.option("stopped", stopped);
    let head = report.host.line();
    let end = match stopped {
        true => "\nstopped: some figures were not measured\n",
        false => "",
    };
    let body = text(&report) + &absent(&report);
    let text = folded(&format!("{head}\n\n{body}{end}"), output::columns(), 2);
    page.put(&report, &text)?;
    Ok(code(&stop))
}

/// What was asked for in a wrong way.
fn usage(why: impl Display) -> Error {
    Error::Usage(why.to_string())
}

/// A line for each requested peer that is not in this build.
fn absent(report: &Report) -> String {
    let absent = report.host.more.get("absent_peers");
    let absent = absent.and_then(|peers| peers.as_object());
    let line = |(name, remedy): (&String, &serde_json::Value)| {
        format!("{name} is absent: {}\n", remedy.as_str().unwrap_or("?"))
    };
    absent.map_or_else(String::new, |all| {
        format!("\n{}", all.iter().map(line).collect::<String>())
    })
}

fn code(stop: &AtomicBool) -> u8 {
    match stop.load(Ordering::Relaxed) {
        true => STOPPED,
        false => DONE,
    }
}

/// Puts into the report whether it was stopped, and after how much of what was asked for. The sentence of the
/// screen.
fn stopped_after(
    report: &mut Report,
    stopped: bool,
    (done, of): (usize, usize),
    what: &str,
) -> String {
    report.option("stopped", stopped);
    if !stopped {
        return String::new();
    }
    let after = format!("{done} of {of} {what}");
    report.option("stopped_after", after.as_str());
    format!("\nstopped after {after}\n")
}

fn this_program() -> Result<PathBuf, Error> {
    std::env::current_exe().map_err(|why| {
        let remedy = "is /proc mounted? the measuring processes are this program again";
        Error::failed("cannot find this program's own file", why, remedy)
    })
}

fn completions(shell: clap_complete::Shell) -> Result<u8, Error> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "quiescent", &mut script);
    document(script)
}

fn document(text: Vec<u8>) -> Result<u8, Error> {
    let text = String::from_utf8_lossy(&text).into_owned();
    output::print(&Printed::document(text)).map(|()| DONE)
}

/// The manual page of the whole program, or of the command that `words` names.
fn man(words: &[String]) -> Result<u8, Error> {
    let mut program = Arguments::command();
    // Completes the names of subcommands: `quiescent-bench-read`.
    program.build();
    let mut command = &program;
    for word in words {
        let visible = command.get_subcommands().filter(|it| !it.is_hide_set());
        let known: Vec<&str> = visible.map(clap::Command::get_name).collect();
        let known = known.join(", ");
        let why = format!("man {word}: no such command; there are: {known}");
        command = command.find_subcommand(word).ok_or(Error::Usage(why))?;
    }
    let mut page = Vec::new();
    let name = command.get_display_name().unwrap_or("quiescent");
    clap_mangen::Man::new(command.clone())
        .title(name)
        .render(&mut page)
        .map_err(|why| Error::failed("manual page", why, "please report it"))?;
    document(page)
}
