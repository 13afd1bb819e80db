//! `bench retire` and `bench mixed` as a user or a script runs them, with tiny counts.
//!
//! No test asserts a time or the size of a figure: the commands measure these, their tests do not.

use crate::common::{report, run, text};
use quiescent_bench::deferral;

#[test]
fn bench_retire_reports_every_subject_and_case() {
    let report = report(&run(&[
        "bench",
        "retire",
        "--compare",
        "--json",
        "--rounds",
        "2",
        "--objects",
        "500",
        "--rest-ms",
        "1",
    ]));
    assert_eq!(report.command, "bench retire");
    assert_eq!(report.options["objects"], 500);
    for subject in deferral::all() {
        for (case, metric, n) in [
            ("push", "cpu_ns", 2),
            ("push", "process_cpu_ns", 2),
            ("push", "latency_ns_p99.9", 2),
            ("push", "latency_ns_max", 2),
            ("enqueue 1t", "cpu_ns", 2),
            ("enqueue 2t", "cpu_ns", 2),
            ("all-in 1t", "cpu_ns", 2),
            ("all-in 2t", "ops_per_s", 2),
            ("all-in 2t", "peak_rss_bytes", 2),
            ("at rest", "wakeups", 1),
            ("at rest", "timers", 1),
        ] {
            let row = report.find(subject.name, case, metric);
            let n_of_row = row.map(|row| row.n);
            assert_eq!(n_of_row, Some(n), "{}, {case}, {metric}", subject.name);
        }
        let drop = report.find(subject.name, "drop 1t", "cpu_ns");
        assert_eq!(drop.is_some(), subject.owning.is_some(), "{}", subject.name);
    }
}

#[test]
fn bench_mixed_reports_reads_and_updates() {
    for (readers, read, update) in [("1", "read", "update"), ("2", "read 2r", "update 2r")] {
        let report = report(&run(&[
            "bench",
            "mixed",
            "--compare",
            "--json",
            "--rounds",
            "1",
            "--ms",
            "10",
            "--readers",
            readers,
        ]));
        assert_eq!(report.command, "bench mixed");
        let beside = deferral::all().into_iter();
        for subject in beside.filter(|subject| subject.beside.is_some()) {
            for case in [read, update] {
                for metric in ["cpu_ns", "ops_per_s"] {
                    let row = report.find(subject.name, case, metric);
                    assert!(row.is_some(), "{}, {case}, {metric}", subject.name);
                }
            }
        }
    }
}

#[test]
fn bench_pressure_reports_the_first_and_the_last() {
    let report = report(&run(&[
        "bench",
        "pressure",
        "--json",
        "--rounds",
        "2",
        "--objects",
        "50",
    ]));
    assert_eq!(report.command, "bench pressure");
    for case in ["held by 1", "held by 8"] {
        for metric in ["first_free_us", "last_free_us"] {
            let row = report.find("quiescent", case, metric);
            assert_eq!(row.map(|row| row.n), Some(2), "{case}, {metric}");
        }
    }
    let output = run(&["bench", "pressure", "--rounds", "1"]);
    let said = text(&output.stdout);
    assert!(
        said.contains("To the last one") && said.contains("held by 8"),
        "{said}"
    );
}

#[test]
fn without_compare_retire_and_mixed_are_ours_alone_in_tables() {
    for (arguments, words) in [
        (
            &["retire", "--objects", "500", "--rest-ms", "1"][..],
            ["push", "all-in 2t", "wake-ups"],
        ),
        (&["mixed", "--ms", "10"], ["read", "update", "MiB"]),
    ] {
        let arguments: Vec<&str> = [&["bench"], arguments, &["--rounds", "1"]].concat();
        let output = run(&arguments);
        assert!(output.status.success(), "{output:?}");
        let said = text(&output.stdout);
        for words in words {
            assert!(said.contains(words), "no `{words}` in {said}");
        }
        assert!(said.contains("quiescent") && !said.contains("seize"));
    }
}

#[test]
fn a_measuring_process_that_is_asked_nonsense_says_so() {
    for (ask, words) in [
        ("", "not a question"),
        (
            r#"{"retire":{"subject":"unknown","case":"push","objects":1,"rest_ms":1}}"#,
            "unknown",
        ),
        (
            r#"{"mixed":{"subject":"unknown","readers":1,"ms":1}}"#,
            "unknown",
        ),
    ] {
        let output = run(&["internal", "measure", ask]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let said = text(&output.stdout);
        assert!(said.contains("failed") && said.contains(words), "{said}");
    }
}
