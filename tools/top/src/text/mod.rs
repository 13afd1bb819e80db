//! An interval as lines of text: the output of `--batch`, and the words that the screen uses.

pub(crate) mod columns;
pub(crate) mod names;
pub(crate) mod summary;

use std::fmt::Write as _;

use crate::interval::View;
use crate::interval::{Interval, Row, ThreadRow};
use crate::sample::{Holdout, Subject};
use crate::text::columns::Columns;
use crate::text::names::shortened;
use crate::text::summary::summary;

/// Threads in the text, at most.
const THREADS: usize = 8;

/// A number with its significant digits.
pub(crate) fn rate(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        v if v < 10.0 => format!("{v:.2}"),
        v if v < 1000.0 => format!("{v:.1}"),
        v if v < 1e6 => format!("{v:.0}"),
        v => format!("{:.1}M", v / 1e6),
    }
}

/// Bytes, in the unit that leaves two or three digits before the point.
pub(crate) fn bytes(value: u64) -> String {
    let mut scaled = value as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if scaled < 1024.0 || unit == "GiB" {
            return match unit {
                "B" => format!("{value} B"),
                _ => format!("{scaled:.1} {unit}"),
            };
        }
        scaled /= 1024.0;
    }
    String::new()
}

/// The reason why there is no row, if there is none.
pub(crate) fn nothing(interval: &Interval, rows: usize) -> &'static str {
    match (rows, interval.functions.is_empty()) {
        (0, true) if interval.subject == Subject::Kernel => "(no callback was seen)\n",
        (0, true) => "(nothing was queued yet)\n",
        (0, false) => "(no callback has this in its name)\n",
        _ => "",
    }
}

/// The holdouts, in words.
pub(crate) fn holdout(it: &Holdout) -> String {
    match it {
        Holdout::Thread { id, name, nesting } => match name {
            Some(name) => format!("thread {id} \"{name}\", nesting {nesting}"),
            None => format!("thread {id}, not to be found here, nesting {nesting}"),
        },
        Holdout::Cpu { cpu, runs } => match runs {
            Some(name) => format!("CPU {cpu}, which runs {name}"),
            None => format!("CPU {cpu}, which idles"),
        },
        Holdout::Preempted { name } => format!("{name}, switched out in a section"),
    }
}

/// A thread, in words.
pub(crate) fn thread(it: &ThreadRow) -> String {
    let name = shortened(&it.name, 16);
    let wakeups = rate(it.wakeups_per_s);
    format!("{name:<16} {:>8} {wakeups:>11} {:>7.2}", it.id, it.cpu_pct)
}

/// The headings above [`thread`].
pub(crate) const THREAD_HEADING: &str = "Thread                 id  Wake-ups/s   CPU %";

/// An interval as lines of at most so many columns.
pub fn text(interval: &Interval, view: &View, width: usize) -> String {
    let mut text = String::new();
    for line in summary(interval, width) {
        let _ = writeln!(text, "{line}");
    }
    let rows = view.rows(interval);
    let columns = Columns::of(&rows, view.order, width);
    let _ = writeln!(text, "\n{}", columns.head(view.order, ""));
    text += nothing(interval, rows.len());
    let is_idle = |row: &&Row| {
        let moves = row.queued_per_s.unwrap_or(0.0) + row.executed_per_s > 0.0;
        !moves && row.held.unwrap_or(0) == 0
    };
    let (idle, active): (Vec<&Row>, Vec<&Row>) = rows.into_iter().partition(is_idle);
    for row in &active {
        let _ = writeln!(text, "{}", columns.row(row));
    }
    if !idle.is_empty() {
        let _ = writeln!(text, "({} idle)", idle.len());
    }
    let _ = writeln!(text, "\n{THREAD_HEADING}");
    for it in interval.threads.iter().take(THREADS) {
        let _ = writeln!(text, "{}", thread(it));
    }
    let more = interval.threads.len().saturating_sub(THREADS) + interval.more_threads;
    if more > 0 {
        let _ = writeln!(text, "({more} more)");
    }
    for it in &interval.holdouts {
        let _ = writeln!(text, "in the way: {}", holdout(it));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_say_what_they_are() {
        let rates = [0.0, 0.126, 12.34, 999.94, 1234.5, 2_500_000.0].map(rate);
        assert_eq!(rates, ["0", "0.13", "12.3", "999.9", "1234", "2.5M"]);
        let sizes = [0, 1023, 1024, 64 << 20, 3 << 40].map(bytes);
        assert_eq!(
            sizes,
            ["0 B", "1023 B", "1.0 KiB", "64.0 MiB", "3072.0 GiB"]
        );
    }
}
