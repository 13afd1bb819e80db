//! Runs a command.
//!
//! The first Ctrl-C sets a flag that measurements check between rounds: everything measured is printed, and
//! the exit code is 130. The second ends the program at once.

mod bench;
#[cfg(target_os = "linux")]
mod linux;
pub mod metrics;
mod sim;
mod trace;
mod whatif;

use crate::arguments::{Arguments, Command, Measured};
use crate::show::file::Permit;
use crate::show::interrupt::stop_flag;
use crate::show::output::{self, DONE, Printed, STOPPED};
use crate::show::paper::Paper;
use crate::show::progress::Bar;
use clap::CommandFactory;
use quiescent_report::text::folded;
use quiescent_report::{Control, Error, Report};
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
    let page = Paper::settle(
        page.html.as_deref(),
        common.json,
        Permit::of(page.force.force, &[]),
    )?;
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
    let text = format!("{head}\n\n{}{}{end}", text(&report), absent(&report));
    let text = folded(&text, output::columns(), 2);
    page.tables(|| match common.json {
        true => Printed::json(&report),
        false => Printed::text(&text),
    })?;
    page.write(&report, &text, stopped)?;
    Ok(code(&stop))
}

/// A line for each requested peer that is not in this build.
fn absent(report: &Report) -> String {
    let Some(absent) = report
        .host
        .more
        .get("absent_peers")
        .and_then(|peers| peers.as_object())
    else {
        return String::new();
    };
    let lines = absent
        .iter()
        .map(|(name, remedy)| format!("{name} is absent: {}\n", remedy.as_str().unwrap_or("?")));
    std::iter::once("\n".to_string()).chain(lines).collect()
}

fn code(stop: &AtomicBool) -> u8 {
    match stop.load(Ordering::Relaxed) {
        true => STOPPED,
        false => DONE,
    }
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
    output::print(&document(script)).map(|()| DONE)
}

fn document(text: Vec<u8>) -> Printed {
    Printed::document(String::from_utf8_lossy(&text).into_owned())
}

/// The manual page of the whole program, or of the command that `words` names.
fn man(words: &[String]) -> Result<u8, Error> {
    let mut program = Arguments::command();
    // Completes the names of subcommands: `quiescent-bench-read`.
    program.build();
    let mut command = &program;
    for word in words {
        command = command.find_subcommand(word).ok_or_else(|| {
            let known: Vec<&str> = visible(command).collect();
            Error::Usage(format!(
                "man {word}: no such command; there are: {}",
                known.join(", ")
            ))
        })?;
    }
    let mut page = Vec::new();
    let failed = |why| Error::failed("manual page", why, "please report it");
    let name = command
        .get_display_name()
        .unwrap_or("quiescent")
        .to_string();
    clap_mangen::Man::new(command.clone())
        .title(name)
        .render(&mut page)
        .map_err(failed)?;
    output::print(&document(page)).map(|()| DONE)
}

fn visible(command: &clap::Command) -> impl Iterator<Item = &str> {
    let commands = command.get_subcommands();
    commands
        .filter(|command| !command.is_hide_set())
        .map(clap::Command::get_name)
}
