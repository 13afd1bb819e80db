//! Environment variables, since such a program cannot call the library:
//!
//! | variable | value | effect |
//! |---|---|---|
//! | `QUIESCENT_LAZY` | a time | callbacks wait so long for others; unset: [`PROMPT`] |
//! | `QUIESCENT_BUDGET` | bytes, or `BYTES,CALLBACKS` | the budget of what is queued |
//! | `QUIESCENT_STALL` | a time | reports readers that block a grace period for so long |
//! | `QUIESCENT_STATS` | `1` | prints counters at the end of the process |
//! | `QUIESCENT_LOG` | a file | reports and counters are appended to it; else they go to standard error |
//!
//! Times are numbers with `ms`, `s` or `m` (without one: seconds); bytes may have `K`, `M` or `G`.
//! `QUIESCENT_FENCE` and `QUIESCENT_TELEMETRY` are those of the library. A value that is wrong is reported,
//! and has no effect.

use std::fs::OpenOptions;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use quiescent::report::on_report;
use quiescent::stats::DomainStatistics;

use crate::words::{core, domain};

/// The longest time that callbacks wait for others, so that one wake-up and one fence serve them all: that of
/// a stream of callbacks. Rare ones wait a quarter of it ([rounds](quiescent_engine::Global::prompt_by)), as
/// long as those of `defer`.
const PROMPT: Duration = Duration::from_millis(200);

static LAZY: AtomicBool = AtomicBool::new(false);
static DONE: AtomicBool = AtomicBool::new(false);

/// True if callbacks are lazy.
pub fn is_lazy() -> bool {
    LAZY.load(Ordering::Relaxed)
}

/// Applies them, once.
pub fn read() {
    if DONE.swap(true, Ordering::Relaxed) {
        return;
    }
    // What no reader has asked for is not measured: no reports without a variable.
    domain().set_stall_after(value("QUIESCENT_STALL", time).unwrap_or_default());
    let wait = value("QUIESCENT_LAZY", time).unwrap_or(PROMPT);
    LAZY.store(wait > PROMPT, Ordering::Relaxed);
    core().set(|settings| match wait > PROMPT {
        true => settings.lazy_ns = wait.as_nanos() as u64,
        false => settings.prompt_ns = wait.as_nanos() as u64,
    });
    if let Some((bytes, callbacks)) = value("QUIESCENT_BUDGET", budget) {
        domain().set_budget(bytes, callbacks);
    }
    if std::env::var_os("QUIESCENT_STALL").is_some() {
        on_report(|report| say(&report.to_string()));
    }
}

/// The end of the process.
pub fn end() {
    if std::env::var_os("QUIESCENT_STATS").is_some_and(|it| it != "0") {
        say(&format!("{:?}", DomainStatistics::of(core())));
    }
}

/// Prints a line.
fn say(text: &str) {
    let pid = std::process::id();
    let line = format!("quiescent[{pid}]: {text}\n");
    let log = std::env::var_os("QUIESCENT_LOG");
    let file = log.and_then(|path| OpenOptions::new().create(true).append(true).open(path).ok());
    // There is no one to tell that it failed.
    let _ = match file {
        Some(mut file) => file.write_all(line.as_bytes()),
        None => std::io::stderr().write_all(line.as_bytes()),
    };
}

/// What liburcu does, too, where its functions cannot go on and cannot say so.
pub fn die(why: &str) -> ! {
    say(&format!("fatal: {why}"));
    std::process::abort();
}

/// A variable's value. Reports one that is wrong.
fn value<T>(name: &str, parse: fn(&str) -> Option<T>) -> Option<T> {
    let text = std::env::var(name).ok()?;
    let value = parse(text.trim());
    if value.is_none() {
        say(&format!(
            "{name}={text} is ignored: want a number with a unit, as in 10s, 500ms or 64M"
        ));
    }
    value
}

/// A number, and what is behind it.
fn number(text: &str) -> Option<(u64, &str)> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

fn time(text: &str) -> Option<Duration> {
    let (number, unit) = number(text)?;
    let ms = match unit {
        "ms" => 1,
        "" | "s" => 1000,
        "m" | "min" => 60_000,
        _ => return None,
    };
    Some(Duration::from_millis(number.checked_mul(ms)?))
}

fn budget(text: &str) -> Option<(u64, u64)> {
    let (bytes, callbacks) = text.split_once(',').unwrap_or((text, ""));
    let (number, unit) = number(bytes)?;
    let shift = match unit.trim_end_matches(['B', 'b', 'i']) {
        "" => 0,
        "K" | "k" => 10,
        "M" => 20,
        "G" => 30,
        _ => return None,
    };
    let callbacks = match callbacks {
        "" => u64::MAX,
        some => some.parse().ok()?,
    };
    Some((number.checked_mul(1 << shift)?, callbacks))
}
