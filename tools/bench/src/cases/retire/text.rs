//! The report of `bench retire` as text: one table a question.

use super::round::{ABOVE_BARE, ABOVE_EMPTY, INSIDE_RATIO};
use super::{is_of_objects, is_of_sections, is_of_values};
use quiescent_report::Report;
use quiescent_report::rows::{MEBIBYTE, MILLION};
use quiescent_report::text::cases::{self, Column};

/// The report as text; tables that would be empty are left out.
pub fn text(report: &Report) -> String {
    let call = |case: &str| case == "push" || case.starts_with("enqueue");
    let any = |_: &str| true;
    let parts = [
        (
            "CPU ns a call, by the calling thread; blocks made ahead",
            cases::of_cases(report, "cpu_ns", 1.0, call),
        ),
        (
            "Single calls, ns with the clock; the maximum has the machine's interruptions in it",
            cases::of_metrics(
                report,
                |case| case == "push",
                &[
                    Column("median", "latency_ns_p50"),
                    Column("p99.9", "latency_ns_p99.9"),
                    Column("maximum", "latency_ns_max"),
                ],
            ),
        ),
        (
            "All in (malloc, retire, grace periods, free): CPU ns an object, of all threads; drop: objects \
             with Drop",
            cases::of_cases(report, "cpu_ns", 1.0, is_of_objects),
        ),
        (
            "The same above malloc and free alone (malloc-free in the same round)",
            cases::of_cases(report, ABOVE_BARE, 1.0, is_of_objects),
        ),
        (
            "A cell whose value is made, replaced, retired, freed: CPU ns a value; malloc-free: made and \
             dropped",
            cases::of_cases(report, "cpu_ns", 1.0, is_of_values),
        ),
        (
            "The same above making and dropping the value alone",
            cases::of_cases(report, ABOVE_BARE, 1.0, is_of_values),
        ),
        (
            "Read in a section, replaced, and retired in that section (inside) or after it: CPU ns a value",
            cases::of_cases(report, "cpu_ns", 1.0, is_of_sections),
        ),
        (
            "Retired inside, times the same outside in the same round",
            cases::of_cases(report, INSIDE_RATIO, 1.0, any),
        ),
        (
            "The most that was queued meanwhile",
            cases::of_cases(report, "backlog", 1.0, is_of_sections),
        ),
        (
            "How often quiescent was over its budget, had a pass of a worker, reported something",
            cases::of_metrics(
                report,
                is_of_sections,
                &[
                    Column("over budget", "over_budget"),
                    Column("worker passes", "worker_passes"),
                    Column("reports", "reports"),
                ],
            ),
        ),
        (
            "Million objects a second",
            cases::of_cases(report, "ops_per_s", MILLION, is_of_objects),
        ),
        (
            "Peak memory of the process, MiB",
            cases::of_cases(report, "peak_rss_bytes", MEBIBYTE, |case| {
                is_of_objects(case) || is_of_values(case)
            }),
        ),
        (
            "Peak memory above that of the same process without objects, MiB",
            cases::of_cases(report, ABOVE_EMPTY, MEBIBYTE, any),
        ),
        (
            "Process-wide fences issued a grace period",
            cases::of_cases(report, "fences_issued_per_gp", 1.0, any),
        ),
        (
            "At rest, everything reclaimed: wake-ups and timers of the library's own threads",
            cases::of_metrics(
                report,
                |case| case == "at rest",
                &[
                    Column("wake-ups", "wakeups"),
                    Column("timers", "timers"),
                    Column("threads", "threads"),
                ],
            ),
        ),
    ];
    let mut text = String::from(
        "Reclaiming a 64-byte block later: median [min..max] over rounds, a process each\n",
    );
    for (title, table) in parts {
        text += &table.titled(title);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiescent_report::Row;

    #[test]
    fn a_table_a_question_and_none_that_is_empty() {
        let mut report = Report::new("bench retire", 1);
        for (case, metric, value) in [
            ("push", "cpu_ns", 14.0),
            ("load", "cpu_ns", 99.0),
            ("push", "latency_ns_max", 5_000.0),
            ("all-in 2t", "peak_rss_bytes", 3.0 * MEBIBYTE),
        ] {
            let row = Row::single("quiescent", case, metric, "unit", value);
            report.rows.extend(row);
        }
        let text = text(&report);
        for words in [
            "push\n---------  ----\nquiescent  14.0",
            "quiescent       -      -     5000",
            "all-in 2t\n---------  ---------\nquiescent       3.00",
        ] {
            assert!(text.contains(words), "no `{words}` in {text}");
        }
        assert!(
            !text.contains("99.0"),
            "the read side has tables of its own"
        );
        assert!(!text.contains("At rest"), "{text}");
    }
}
