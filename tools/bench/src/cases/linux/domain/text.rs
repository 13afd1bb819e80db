//! The report of `bench domain` as text.

use super::{TOGETHER, resting, stalled, together};
use crate::cases::read;
use crate::cases::retire::RetireCase;
use crate::cases::sync::SyncCase;
use crate::instructions;
use crate::subjects::ReadCase;
use quiescent_report::Report;
use quiescent_report::text::cases::{self, Column};
use quiescent_report::verdict;

const STALLED: [Column; 7] = [
    Column("sleeps", "sleeps"),
    Column("woken by readers", "reader_wakeups"),
    Column("left", "left"),
    Column("held up elsewhere", "held_up"),
    Column("latency us", "latency_us"),
    Column("callback us", "delay_us"),
    Column("callback, times", "delay_us_ratio"),
];

const TOGETHER_COLUMNS: [Column; 4] = [
    Column("fences", "fences"),
    Column("fences used", "fences_used"),
    Column("grace periods", "grace_periods"),
    Column("looks", "looks"),
];

const RESTING: [Column; 7] = [
    Column("MiB", "memory_bytes"),
    Column("bytes each", "bytes_a_domain"),
    Column("wake-ups", "wakeups"),
    Column("timers", "timers"),
    Column("threads", "threads"),
    Column("looks", "looks"),
    Column("not at rest", "not_at_rest"),
];

/// The report as text.
pub fn text(report: &Report) -> String {
    let number = |option| report.options.get(option).and_then(|n| n.as_u64());
    let threads = number("threads").unwrap_or(1);
    let mut text = String::new();
    let is_read = |case: &str| ReadCase::named(case).is_some();
    let is_sync = |case: &str| SyncCase::named(case).is_some();
    let is_push = |case: &str| case == RetireCase::Push.name();
    let counted = |case: &str| is_read(case) || is_push(case);
    let sections = format!(
        "Sections, CPU ns of each, {threads} thread(s) at once; -turns: two domains by turns: median \
         [min..max] over rounds"
    );
    for (title, metric, wanted) in [
        (
            sections.as_str(),
            read::METRIC,
            &is_read as &dyn Fn(&str) -> bool,
        ),
        (
            "Instructions a section, or a call",
            instructions::METRIC,
            &counted,
        ),
        (
            "Grace periods, us, in a domain at rest: median [min..max] of the rounds' medians",
            "latency_us",
            &is_sync,
        ),
        (
            "Process-wide fences (membarrier calls) a grace period",
            "fences",
            &is_sync,
        ),
        ("Retiring, CPU ns a call", read::METRIC, &is_push),
    ] {
        let table = cases::of_cases(report, metric, 1.0, wanted);
        text += &table.titled(title);
    }
    let ours = |case: &str| is_read(case) || is_sync(case) || is_push(case);
    for metric in [read::METRIC, instructions::METRIC, "latency_us"] {
        let table = cases::of_cases(report, &format!("{metric}_ratio"), 1.0, ours);
        text += &table.titled(&format!("{metric}, over the process's domain"));
    }
    let table = cases::of_metrics(report, |case| stalled::CASES.contains(&case), &STALLED);
    text += &table.titled("While a reader stays in a section of another domain");
    let of_together = TOGETHER.map(together::case);
    let is_together = |case: &str| of_together.iter().any(|it| it == case);
    let table = cases::of_metrics(report, is_together, &TOGETHER_COLUMNS);
    text += &table.titled("Due in so many domains at the same time: in all");
    let domains = number("domains").unwrap_or(0);
    let of_resting = [false, true].map(|at_once| resting::case(domains, at_once));
    let is_resting = |case: &str| of_resting.iter().any(|it| it == case);
    let title = format!(
        "Domains that were used and have nothing to do: memory, and what happened in {} s",
        number("rest_ms").unwrap_or(0) as f64 / 1_000.0
    );
    let table = cases::of_metrics(report, is_resting, &RESTING);
    text += &table.titled(&title);
    text.trim_start().to_string() + &verdict::section(&super::targets::targets(report))
}
