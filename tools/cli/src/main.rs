//! The `quiescent` command: measure, compare, reproduce.
//!
//! Every command prints a text table, or one line of JSON with `--json`; a progress bar goes to standard
//! error, on a terminal only. Exit codes: 0 done, 1 something failed or was found, 2 wrong usage, 130 stopped
//! by Ctrl-C (everything measured until then is printed).

// What is printed passes through `show::output`.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod arguments;
mod commands;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod reproduce;
#[cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "some is for its commands")
)]
mod show;

use clap::Parser;
use quiescent_bench::cases;
use quiescent_bench::measure::once;
use show::output;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Before anything else: this process is being measured, with its memory.
    let mut words = std::env::args().skip(1);
    if once::WORDS
        .iter()
        .all(|word| words.next().as_deref() == Some(word))
    {
        return ExitCode::from(cases::serve(&words.next().unwrap_or_default()));
    }
    output::tell_panics();
    if let Some(command) = arguments::metrics::asked(std::env::args_os().skip(1)) {
        return done(commands::metrics::run(&command));
    }
    let (words, are_lines) = arguments::lines::completed(std::env::args_os());
    if are_lines {
        output::print_lines();
    }
    let arguments = match arguments::Arguments::try_parse_from(words) {
        Ok(arguments) => arguments,
        // It quotes what was typed, or what a script has put there.
        Err(wrong) if wrong.use_stderr() => {
            output::tell(arguments::lines::explained(&wrong, are_lines));
            return ExitCode::from(output::USAGE);
        }
        Err(asked) => asked.exit(),
    };
    done(commands::run(arguments))
}

/// The exit code of a command; its error is printed.
fn done(result: Result<u8, quiescent_report::Error>) -> ExitCode {
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            output::tell_folded(&format!("error: {error}\n"));
            ExitCode::from(match error {
                quiescent_report::Error::Usage(_) => output::USAGE,
                quiescent_report::Error::Failed(_) => output::FINDING,
            })
        }
    }
}
