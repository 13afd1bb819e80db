//! `quiescent-torture`: one run in one process, for the sanitizers and the tests. The command `quiescent
//! torture` runs all scenarios.
//!
//! Exit codes: 0 nothing found, 1 something found, 2 wrong usage, 130 stopped by Ctrl-C with nothing found
//! until then.

use std::io::{ErrorKind, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Parser;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use quiescent_torture::allocator::Watching;
use quiescent_torture::scenario::Scenario;
use quiescent_torture::{Broken, Options, Role, run};

#[global_allocator]
static ALLOCATOR: Watching = Watching;

/// Threads that use quiescent in every way at once, and oracles that detect its errors.
#[derive(Debug, Parser)]
#[command(name = "quiescent-torture", version, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 nothing found; 1 something was found; 2 usage; 130 stopped by Ctrl-C."
)]
struct Arguments {
    /// Duration of the run
    #[arg(long, value_name = "N", default_value = "10", value_parser = seconds)]
    seconds: f64,
    /// Seed of every choice, not of the interleaving; drawn and printed when left out
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// A scenario by its name or path; when left out, every actor except forks and stalls
    #[arg(long, value_name = "NAME", value_parser = scenario)]
    scenario: Option<Scenario>,
    /// Threads that read; 3, or as many as the scenario has
    #[arg(long, value_name = "N", value_parser = threads)]
    readers: Option<u64>,
    /// Threads that update; 4, or as many as the scenario has
    #[arg(long, value_name = "N", value_parser = threads)]
    writers: Option<u64>,
    /// Print one line of JSON (schema quiescent/1) instead of a table
    #[arg(long)]
    json: bool,
    /// Print no progress bar
    #[arg(long, short)]
    quiet: bool,
    /// Seconds without progress after which a thread hangs (30; 15 without a number). Below 12, lazy objects
    /// may count as late
    #[arg(long, value_name = "N", num_args = 0..=1, default_value = "30", default_missing_value = "15")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=3600))]
    stall: u64,
    /// Freed blocks that are kept, poisoned, from the allocator; give 0 under AddressSanitizer
    #[arg(long, value_name = "N", default_value_t = 4096)]
    quarantine: usize,
    /// Threads that get a slot of their own, rounded up to a multiple of 64 minus two; others share
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_534))]
    slots: Option<u32>,
    /// Let no callback panic
    #[arg(long)]
    no_panics: bool,
    /// Misuse the library: an oracle must find it
    #[arg(long, value_name = "KIND", hide = true, value_parser = broken)]
    broken: Option<Broken>,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 1e6 => Ok(seconds),
        _ => Err("give more than 0, and at most 1000000".into()),
    }
}

fn threads(text: &str) -> Result<u64, String> {
    match text.parse::<u64>() {
        Ok(count) if (1..=1024).contains(&count) => Ok(count),
        _ => Err("give 1 to 1024".into()),
    }
}

fn scenario(name: &str) -> Result<Scenario, String> {
    Scenario::named(name).map_err(|why| why.to_string())
}

fn broken(text: &str) -> Result<Broken, String> {
    let names = Broken::ALL.map(Broken::name).join(", ");
    Broken::named(text).ok_or_else(|| format!("no such misuse; there are: {names}"))
}

/// A random seed.
fn draw() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish() % 1_000_000_000
}

fn options(arguments: &Arguments) -> Options {
    let scenario = arguments.scenario.as_ref();
    let mut options = scenario.map_or_else(Options::default, Scenario::options);
    for (role, count) in [
        (Role::Reader, arguments.readers),
        (Role::Writer, arguments.writers),
    ] {
        if let Some(count) = count {
            options.cast.set(role, count as usize);
        }
    }
    if arguments.slots.is_some() {
        options.library.max_threads = arguments.slots;
    }
    Options {
        duration: Duration::from_secs_f64(arguments.seconds),
        seed: arguments.seed.unwrap_or_else(draw),
        patience: Duration::from_secs(arguments.stall),
        quarantine: arguments.quarantine,
        panics: !arguments.no_panics,
        broken: arguments.broken,
        ..options
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let options = options(&arguments);
    let stop = match stop_flag() {
        Ok(stop) => stop,
        Err(why) => {
            eprintln!("error: cannot handle Ctrl-C: {why}; is SIGINT blocked?");
            return ExitCode::from(1);
        }
    };
    eprintln!("seed {}", options.seed); // printed first, because a crash prints nothing more
    let bar = bar(&options, arguments.quiet);
    let report = run(&options, |moment| {
        if let Some(bar) = &bar {
            bar.set_position(moment.elapsed.as_secs().min(bar.length().unwrap_or(0)));
        }
        !stop.load(Ordering::Relaxed)
    });
    let report = match report {
        Ok(report) => report,
        Err(why) => {
            eprintln!("error: {why}");
            return ExitCode::from(2);
        }
    };
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let text = match arguments.json {
        true => report.shared().to_json() + "\n",
        false => report.text(),
    };
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(why) if why.kind() != ErrorKind::BrokenPipe => {
            eprintln!("error: cannot write the results: {why}; is the disk full?");
            return ExitCode::from(1);
        }
        _ => {}
    }
    ExitCode::from(match (report.is_good(), report.stopped) {
        (false, _) => 1,
        (true, true) => 130,
        (true, false) => 0,
    })
}

fn bar(options: &Options, quiet: bool) -> Option<ProgressBar> {
    if quiet || !std::io::stderr().is_terminal() {
        return None;
    }
    let length = options.duration.as_secs();
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("torture [{bar:40}] {pos}/{len} s") {
        bar.set_style(style.progress_chars("=> "));
    }
    Some(bar)
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
        let parsed = Arguments::parse_from(["quiescent-torture", "--stall"]);
        assert_eq!(parsed.stall, 15);
    }
}
