//! Metrics as texts: the name that a page shows, a description, and which direction is better.
//!
//! A metric that is not here is shown under its own name, without a better direction. Percentiles and
//! extremes belong to their metric ([`stem`]).

/// The better direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Better {
    Less,
    More,
    /// It depends, or there is none.
    Neither,
}

/// The texts of a metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) title: String,
    pub(super) about: &'static str,
    pub(super) better: Better,
}

use Better::{Less, More, Neither};

/// Name, title, description, better direction.
const KNOWN: &[(&str, &str, &str, Better)] = &[
    (
        "cpu_ns",
        "CPU time",
        "of the threads that do the work",
        Less,
    ),
    (
        "process_cpu_ns",
        "CPU time of the whole process",
        "the library's own threads included",
        Less,
    ),
    ("instructions", "Instructions", "counted by callgrind", Less),
    ("latency_us", "Latency", "how long the call takes", Less),
    ("latency_ns", "Latency", "how long the call takes", Less),
    (
        "fences",
        "Process-wide fences",
        "membarrier calls, which interrupt other CPUs",
        Less,
    ),
    (
        "fences_used",
        "Fences that were used",
        "by every caller that needed one",
        Neither,
    ),
    ("ops_per_s", "Throughput", "", More),
    (
        "peak_rss_bytes",
        "Peak memory",
        "resident, of the whole process",
        Less,
    ),
    (
        "start_rss_bytes",
        "Memory at the start",
        "resident, before anything is retired",
        Neither,
    ),
    (
        "retired_rss_bytes",
        "Memory after retiring",
        "resident, the reader still inside",
        Less,
    ),
    (
        "stalled_rss_bytes",
        "Memory while stalled",
        "resident, the reader still inside",
        Less,
    ),
    (
        "end_rss_bytes",
        "Memory at the end",
        "resident, the reader gone",
        Less,
    ),
    (
        "grown_bytes",
        "Memory grown by",
        "while the reader stayed inside",
        Less,
    ),
    (
        "held_bytes",
        "Memory held",
        "by objects that are queued and not yet freed",
        Less,
    ),
    (
        "memory_bytes",
        "Memory",
        "resident anonymous pages, after less before",
        Less,
    ),
    ("bytes_a_domain", "Memory a domain", "", Less),
    (
        "reader_bytes",
        "Memory a registered thread",
        "that reads",
        Less,
    ),
    (
        "retirer_bytes",
        "Memory a registered thread",
        "that has retired",
        Less,
    ),
    ("backlog", "Backlog", "queued and not yet freed", Less),
    ("queued", "Queued", "", Neither),
    (
        "left",
        "Left over",
        "queued and not freed while the reader was inside",
        Less,
    ),
    ("never_run", "Never freed", "after waiting", Less),
    ("freed", "Freed", "while the reader stayed inside", Neither),
    (
        "delay_ms",
        "Delay until freed",
        "fewer wake-ups cost a longer delay; blocks that were never freed have none",
        Neither,
    ),
    ("delay_us", "Delay until freed", "", Less),
    (
        "drained_ms",
        "Until everything was freed",
        "after the last call",
        Neither,
    ),
    ("first_free_us", "Until the first is freed", "", Less),
    ("last_free_us", "Until the last is freed", "", Less),
    (
        "retire_ms",
        "Time to retire",
        "of the retiring thread",
        Less,
    ),
    ("blocked", "Producers that were blocked", "", Less),
    (
        "named",
        "Readers that were named",
        "readers that the library names as blocking",
        More,
    ),
    ("wakeups", "Wake-ups", "of the library's own threads", Less),
    (
        "wakeups_per_s",
        "Wake-ups a second",
        "of the library's own threads",
        Less,
    ),
    ("timers", "Timers that are armed", "", Less),
    ("threads", "Threads", "", Neither),
    ("readers", "Readers", "", Neither),
    ("grace_periods", "Grace periods", "", Neither),
    ("scans", "Scans", "scans of readers", Less),
    (
        "process_scans",
        "Scans of the process's domain",
        "scans of readers",
        Less,
    ),
    (
        "leaves",
        "Leaves that were scanned",
        "groups of 64 threads",
        Less,
    ),
    ("steps", "Steps of the engine", "", Less),
    ("looks", "Checks of the worker", "", Less),
    (
        "sleeps",
        "Sleeps",
        "of the thread that drives a grace period",
        Neither,
    ),
    ("reader_wakeups", "Wake-ups by readers", "", Neither),
    ("held_up", "Grace periods that were delayed", "", Less),
    ("not_at_rest", "Domains that are not at rest", "", Less),
    ("register_cpu_ns", "Registration: CPU time", "", Less),
    ("exit_cpu_ns", "Exit: CPU time", "", Less),
    (
        "exit_retired_cpu_ns",
        "Exit after retiring: CPU time",
        "",
        Less,
    ),
    (
        "cpu_ns_ratio",
        "CPU time as a ratio",
        "medians of this run, divided",
        Less,
    ),
    (
        "latency_us_ratio",
        "Latency as a ratio",
        "medians of this run, divided",
        Less,
    ),
    (
        "delay_us_ratio",
        "Delay as a ratio",
        "medians of this run, divided",
        Less,
    ),
];

/// A metric in words.
pub(super) fn words(stem: &str) -> Words {
    match KNOWN.iter().find(|it| it.0 == stem) {
        Some(&(_, title, about, better)) => Words {
            title: title.into(),
            about,
            better,
        },
        None => Words {
            title: stem.replace('_', " "),
            about: "",
            better: Neither,
        },
    }
}

/// The metric that this one is a percentile or an extreme of; itself if it is none.
pub(super) fn stem(metric: &str) -> &str {
    match metric.rsplit_once('_') {
        Some((stem, last))
            if !stem.is_empty()
                && (is_percentile(last) || ["max", "min", "mean"].contains(&last)) =>
        {
            stem
        }
        _ => metric,
    }
}

/// `p50`, `p99.9`.
fn is_percentile(word: &str) -> bool {
    let digits = word.strip_prefix('p').unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit() || it == b'.')
}

/// The last word of a percentile or extreme, for the head of a column.
pub(super) fn which<'a>(metric: &'a str, stem: &str) -> &'a str {
    let rest = metric.strip_prefix(stem).unwrap_or(metric);
    match rest.trim_start_matches('_') {
        "" => "figure",
        rest => rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_belong_to_their_metric() {
        for (metric, of, word) in [
            ("latency_us_p99.9", "latency_us", "p99.9"),
            ("latency_us_max", "latency_us", "max"),
            ("latency_us", "latency_us", "figure"),
            ("wakeups_per_s", "wakeups_per_s", "figure"),
            ("p99", "p99", "figure"),
            ("_max", "_max", "figure"),
        ] {
            assert_eq!(
                (stem(metric), which(metric, stem(metric))),
                (of, word),
                "{metric}"
            );
        }
    }

    #[test]
    fn every_name_is_there_once_and_an_unknown_one_is_shown_as_it_is() {
        for (index, it) in KNOWN.iter().enumerate() {
            assert!(
                KNOWN[..index].iter().all(|other| other.0 != it.0),
                "{}",
                it.0
            );
            assert_eq!(stem(it.0), it.0);
        }
        assert_eq!(words("odd_<thing>").title, "odd <thing>");
        assert_eq!(words("odd").better, Neither);
    }
}
