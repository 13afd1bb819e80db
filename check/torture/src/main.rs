//! `quiescent-torture`: one run in one process, for the sanitizers and the tests. The command `quiescent
//! torture` runs all scenarios.
//!
//! Exit codes: 0 nothing found, 1 something found, 2 wrong usage, 130 stopped by Ctrl-C with nothing found
//! until then.

use std::io::{ErrorKind, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;
use quiescent_torture::allocator::Watching;
use quiescent_torture::arguments::Arguments;
use quiescent_torture::{Options, run};

#[global_allocator]
static ALLOCATOR: Watching = Watching;

/// Threads that use quiescent in every way at once, and oracles that detect its errors.
#[derive(Debug, Parser)]
#[command(name = "quiescent-torture", version, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 nothing found; 1 something was found; 2 usage; 130 stopped by Ctrl-C."
)]
struct Command {
    /// A scenario by its name or path; when left out, every actor except forks and stalls
    #[arg(long, value_name = "NAME")]
    scenario: Option<String>,
    #[command(flatten)]
    run: Arguments,
    /// Freed blocks that are kept, poisoned, from the allocator; give 0 under AddressSanitizer
    #[arg(long, value_name = "N", default_value_t = 4096)]
    quarantine: usize,
    /// Print one line of JSON (schema quiescent/1) with all counts
    #[arg(long)]
    json: bool,
    /// Print no progress lines
    #[arg(long, short)]
    quiet: bool,
}

fn failed(code: u8, why: &str) -> ExitCode {
    eprintln!("error: {why}");
    ExitCode::from(code)
}

fn main() -> ExitCode {
    let command = Command::parse();
    let request = command
        .run
        .request(command.scenario.as_deref().unwrap_or_default());
    let options = match &command.scenario {
        Some(_) => request.options(),
        None => request.apply(Options::default()),
    };
    let mut options = match options {
        Ok(options) => options,
        Err(why) => return failed(2, &why),
    };
    options.quarantine = command.quarantine;
    let stop = match stop_flag() {
        Ok(stop) => stop,
        Err(why) => {
            return failed(
                1,
                &format!("cannot handle Ctrl-C: {why}; is SIGINT blocked?"),
            );
        }
    };
    eprintln!("seed {}", options.seed); // printed first, because a crash prints nothing more
    let report = run(&options, |moment| {
        if let Some(line) = moment.line.filter(|_| !command.quiet) {
            eprintln!("{line}");
        }
        !stop.load(Ordering::Relaxed)
    });
    let report = match report {
        Ok(report) => report,
        Err(why) => return failed(2, &why.to_string()),
    };
    let text = match command.json {
        true => report.shared().to_json() + "\n",
        false => report.text(),
    };
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(why) if why.kind() != ErrorKind::BrokenPipe => {
            return failed(
                1,
                &format!("cannot write the results: {why}; is the disk full?"),
            );
        }
        _ => {}
    }
    ExitCode::from(match (report.is_good(), report.stopped) {
        (false, _) => 1,
        (true, true) => 130,
        (true, false) => 0,
    })
}

/// Set by the first Ctrl-C; the second ends the program.
fn stop_flag() -> std::io::Result<Arc<AtomicBool>> {
    use signal_hook::{consts::SIGINT, flag};
    let stop = Arc::new(AtomicBool::new(false));
    // In this order: the conditional exit must see the flag as it was before this Ctrl-C.
    flag::register_conditional_shutdown(SIGINT, 130, stop.clone())?;
    flag::register(SIGINT, stop.clone())?;
    Ok(stop)
}
