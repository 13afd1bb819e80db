//! The report of `bench trickle` as text: one table a question.

use super::targets;
use quiescent_report::Report;
use quiescent_report::text::cases::{self, Column};
use quiescent_report::text::number::short;
use quiescent_report::verdict;

const DELAYS: [Column; 7] = [
    Column("wake-ups/s", "wakeups_per_s"),
    Column("delay ms", "delay_ms"),
    Column("p99", "delay_ms_p99"),
    Column("max", "delay_ms_max"),
    Column("never", "never_run"),
    Column("call us", "latency_us"),
    Column("p99.9", "latency_us_p99.9"),
];

const COUNTED: [Column; 3] = [
    Column("grace periods", "grace_periods"),
    Column("scans", "scans"),
    Column("fences", "fences"),
];

/// The report as text, with the targets.
pub fn text(report: &Report) -> String {
    tables(report) + &verdict::section(&targets(report))
}

/// The figures; tables that would be empty are left out.
pub fn tables(report: &Report) -> String {
    let of = |metric| cases::of_cases(report, metric, 1.0, |case| is_of(case, "retire"));
    let parts = [
        (
            "Wake-ups a second of the library's own threads",
            of("wakeups_per_s"),
        ),
        (
            "CPU ns a block: the call, and the library's threads",
            of("cpu_ns"),
        ),
        ("Delay until freed, ms: median", of("delay_ms")),
        ("Delay until freed, ms: maximum", of("delay_ms_max")),
        ("Never freed: blocks, after waiting", of("never_run")),
        (
            "Never freed when the producer ends after its last block",
            cases::of_cases(report, "never_run", 1.0, |case| case.ends_with(EXITS)),
        ),
        ("Most blocks held at a time", of("backlog")),
        ("The call, us: median", of("latency_us")),
        (
            "The call, us: 99.9th percentile; of fewer than 1000 calls, the slowest",
            of("latency_us_p99.9"),
        ),
        ("The call, us: maximum", of("latency_us_max")),
        (
            "What quiescent counted, from the beginning until everything was freed",
            cases::of_metrics(
                report,
                |case| {
                    ["retire", "call", "call_hurry"]
                        .iter()
                        .any(|verb| is_of(case, verb))
                },
                &COUNTED,
            ),
        ),
        (
            "Running code: call and call_hurry",
            cases::of_metrics(
                report,
                |case| is_of(case, "call") || is_of(case, "call_hurry"),
                &DELAYS,
            ),
        ),
    ];
    let mut text = String::from(
        "A trickle of 64-byte blocks, a process each; `retire` is other libraries' only verb\n",
    );
    for (title, table) in parts {
        if !table.is_empty() {
            text += &format!("\n{title}\n\n{}", table.fitted());
        }
    }
    text + &fallen_behind(report)
}

/// A line for each producer that could not keep up: its rate was another one.
fn fallen_behind(report: &Report) -> String {
    let rows = report.rows.iter().filter(|row| row.metric == "ops_per_s");
    let lines = rows.filter_map(|row| {
        let (_, asked) = row.case.strip_suffix("/s")?.rsplit_once(' ')?;
        let asked: f64 = asked.parse().ok()?;
        (row.median < 0.9 * asked).then(|| {
            format!(
                "\n{}, {}: only {} a second, the machine is busy; try again, or with --rate up to that\n",
                row.subject,
                row.case,
                short(row.median)
            )
        })
    });
    lines.collect()
}

const EXITS: &str = ", exits";

/// Whether a case is this verb at some rate, and nothing more special.
pub fn is_of(case: &str, verb: &str) -> bool {
    let rate = case
        .strip_prefix(verb)
        .and_then(|rest| rest.strip_prefix(' '));
    let rate = rate.and_then(|rate| rate.strip_suffix("/s"));
    rate.is_some_and(|rate| rate.parse::<u64>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiescent_report::Row;

    #[test]
    fn a_verb_and_a_rate() {
        assert!(is_of("retire 10/s", "retire") && is_of("call_hurry 1/s", "call_hurry"));
        for case in [
            "retire 10/s, exits",
            "retire 10/s, thread x",
            "call 10/s",
            "retire",
        ] {
            assert!(!is_of(case, "retire"), "{case}");
        }
    }

    #[test]
    fn a_table_a_question() {
        let mut report = Report::new("bench trickle", 1);
        for (case, metric, value) in [
            ("retire 10/s", "wakeups_per_s", 0.05),
            ("retire 10/s, thread worker", "wakeups_per_s", 77.0),
            ("retire 10/s, exits", "never_run", 3.0),
            ("call 100/s", "delay_ms", 25.0),
            ("retire 10/s", "ops_per_s", 9.5),
            ("retire 1000/s", "ops_per_s", 234.0),
        ] {
            let row = Row::single("quiescent", case, metric, "unit", value);
            report.rows.extend(row);
        }
        let text = text(&report);
        for words in [
            "0.050",
            "producer ends",
            "25.0",
            "met?",
            "1000/s: only 234 a second",
        ] {
            assert!(text.contains(words), "no `{words}` in {text}");
        }
        assert!(!text.contains("only 9.5"), "{text}");
        assert!(!text.contains("77.0"), "threads are for scripts: {text}");
    }
}
