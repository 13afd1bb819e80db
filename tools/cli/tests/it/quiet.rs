//! `bench idle`, `trickle`, `flood`, `stall`, `hold` and `barrier` as a user or a script runs them, in tiny
//! runs.
//!
//! No test asserts a time or the size of a figure: the commands measure these, their tests do not.

use crate::common::{quiescent, report, run, text};
use quiescent_bench::cases::hold;
use quiescent_bench::deferral::swap::Content;
use quiescent_bench::deferral::{self, Deferring};
use quiescent_bench::measure::once;
use quiescent_report::{OURS, Report};
use std::io::Read;
use std::process::Stdio;

fn bench(arguments: &[&str]) -> Report {
    let arguments = [&["bench"], arguments, &["--json", "--seed", "7"]].concat();
    let output = run(&arguments);
    let report = report(&output);
    assert_eq!(report.command, arguments[..2].join(" "));
    assert_eq!(report.seed, 7);
    assert!(output.stderr.is_empty(), "no progress bar here: {output:?}");
    report
}

#[track_caller]
fn has(report: &Report, subject: &Deferring, case: &str, metrics: &[&str]) {
    for metric in metrics {
        let row = report.find(subject.name, case, metric);
        assert!(row.is_some(), "{}, {case}, {metric}", subject.name);
    }
}

#[test]
fn nonsense_is_a_usage_error_with_a_remedy() {
    for (arguments, remedy) in [
        (&["idle", "--seconds", "0"][..], "give 0.001 to"),
        (&["idle", "--seconds", "soon"], "give 0.001 to"),
        (&["trickle", "--rate", "ten"], "give 0 to 100000"),
        (&["trickle", "--rate", "10,-1"], "give 0 to 100000"),
        (&["trickle", "--rate", ""], "give 0 to 100000"),
        (
            &["trickle", "--rate", "100000", "--seconds", "3600"],
            "give at most",
        ),
        (&["trickle", "--wait", "-2"], "give 0.001 to"),
        (&["flood", "--producers", "0"], "give 1 to 1024"),
        (&["flood", "--rounds", "0"], "give 1 to"),
        (&["stall", "--objects", "0"], "give 1 to"),
        (&["hold", "--seconds", "0"], "give 0.001 to"),
        (&["barrier", "--calls", "0"], "give 1 to"),
        (&["barrier", "--threads", "9999"], "give 1 to 1024"),
        (&["pressure", "--no-such-option"], "--help"),
    ] {
        let output = run(&[&["bench"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        let said = text(&output.stderr);
        assert!(said.contains(remedy), "{arguments:?} says {said}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn idle_watches_every_subject_in_both_cases() {
    let report = bench(&["idle", "--compare", "--seconds", "0.01"]);
    for subject in deferral::all() {
        for case in ["nothing queued", "drained"] {
            has(&report, &subject, case, &["wakeups", "timers", "threads"]);
        }
    }
    let ours = &deferral::selected(false)[0];
    has(
        &report,
        ours,
        "drained",
        &["fences", "scans", "grace_periods"],
    );
}

#[test]
fn a_trickle_of_every_subject_and_verb() {
    // Too short for a lazy object to be freed: those that are left are counted, and the run ends.
    let arguments = [
        "trickle",
        "--compare",
        "--rate",
        "100,0,10",
        "--seconds",
        "0.2",
        "--wait",
        "0.01",
    ];
    let report = bench(&arguments);
    assert_eq!(report.options["rates"], serde_json::json!([100, 0, 10]));
    let with = deferral::all().into_iter();
    for subject in with.filter(|it| !it.verbs.is_empty()) {
        has(
            &report,
            &subject,
            "retire 0/s",
            &["wakeups_per_s", "threads"],
        );
        for case in [
            "retire 10/s",
            "retire 10/s, exits",
            "retire 100/s",
            "retire 100/s, exits",
        ] {
            let metrics = [
                "wakeups_per_s",
                "cpu_ns",
                "never_run",
                "backlog",
                "held_bytes",
                "latency_us_p99.9",
            ];
            has(&report, &subject, case, &metrics);
        }
    }
    let ours = &deferral::selected(false)[0];
    for case in ["defer 100/s", "defer_hurry 10/s"] {
        has(
            &report,
            ours,
            case,
            &["wakeups_per_s", "never_run", "fences", "latency_us"],
        );
    }
    let by_thread = |row: &&quiescent_report::Row| row.case.starts_with("defer 100/s, thread ");
    assert!(report.rows.iter().any(|row| by_thread(&row)), "{report:?}");
}

#[test]
fn a_flood_beside_a_reader() {
    let report = bench(&[
        "flood",
        "--compare",
        "--seconds",
        "0.02",
        "--producers",
        "3",
    ]);
    let beside = deferral::all().into_iter();
    for subject in beside.filter(|it| it.beside(Content::Block).is_some() && !it.verbs.is_empty()) {
        let metrics = [
            "ops_per_s",
            "cpu_ns",
            "backlog",
            "held_bytes",
            "peak_rss_bytes",
        ];
        has(&report, &subject, "retire 3p", &metrics);
    }
    has(
        &report,
        &deferral::selected(false)[0],
        "defer 3p",
        &["ops_per_s"],
    );
}

#[test]
fn a_stalled_reader_of_every_subject_and_verb() {
    let report = bench(&[
        "stall",
        "--compare",
        "--seconds",
        "0.05",
        "--objects",
        "1000",
    ]);
    for (subject, verb) in deferral::massed(&deferral::all()) {
        let metrics = [
            "start_rss_bytes",
            "stalled_rss_bytes",
            "end_rss_bytes",
            "freed",
            "blocked",
            "named",
        ];
        has(&report, &subject, verb.name, &metrics);
    }
}

#[test]
fn what_is_held_of_large_values() {
    let report = bench(&["hold", "--compare", "--seconds", "0.02"]);
    let with = deferral::all().into_iter().chain([deferral::malloc_free()]);
    for subject in with.filter(|it| it.name == OURS || hold::PEERS.contains(&it.name)) {
        for row in hold::ROWS {
            let metrics = ["peak_rss_bytes", "held", "cpu_us"];
            has(&report, &subject, &row.name(), &metrics);
        }
    }
    let ours = &deferral::selected(false)[0];
    let reader = "32 B 1000/s beside a reader";
    has(&report, ours, reader, &["grace_periods", "wakeups"]);
}

#[test]
fn a_barrier_over_empty_and_full_queues() {
    let arguments = [
        "barrier",
        "--compare",
        "--rounds",
        "2",
        "--calls",
        "3",
        "--objects",
        "100",
        "--threads",
        "2",
    ];
    let report = bench(&arguments);
    let with = deferral::all().into_iter();
    for subject in with.filter(|subject| subject.barrier.is_some()) {
        let cases = ["empty", "100 by retire"].into_iter();
        for case in cases.filter(|it| *it == "empty" || !subject.verbs.is_empty()) {
            has(
                &report,
                &subject,
                case,
                &["latency_us", "latency_us_p99", "latency_us_max"],
            );
        }
    }
}

#[test]
fn tables_for_people() {
    for (arguments, words) in [
        (
            &["idle", "--seconds", "0.01"][..],
            ["Nothing was ever queued", "timers", "yes"],
        ),
        (
            &[
                "trickle",
                "--rate",
                "50",
                "--seconds",
                "0.1",
                "--wait",
                "0.01",
            ],
            ["Wake-ups a second", "retire 50/s", "defer_hurry 50/s"],
        ),
        (
            &["flood", "--seconds", "0.02"],
            ["blocks/s", "retire 2p", "held at most 1.2 x 64 MiB"],
        ),
        (
            &["stall", "--seconds", "0.05", "--objects", "100"],
            ["resident memory", "defer", "is named"],
        ),
        (
            &["hold", "--seconds", "0.02"],
            ["no weight declared", "64 KiB 1000/s", "peak memory at most"],
        ),
        (
            &[
                "barrier",
                "--rounds",
                "1",
                "--calls",
                "2",
                "--objects",
                "10",
            ],
            ["by 4 threads", "empty", "10 by retire"],
        ),
    ] {
        let output = run(&[&["bench"], arguments].concat());
        assert!(output.status.success(), "{output:?}");
        let said = unfolded(&text(&output.stdout));
        for words in words {
            assert!(said.contains(words), "no `{words}` in {said}");
        }
        assert!(
            said.contains("quiescent") && !said.contains("seize"),
            "{said}"
        );
    }
}

#[test]
fn a_measuring_process_that_is_asked_nonsense_says_so() {
    for (ask, words) in [
        (
            r#"{"bench":"trickle","subject":"unknown","case":"retire","numbers":{}}"#,
            "unknown",
        ),
        (
            r#"{"bench":"stall","subject":"quiescent","case":"sell","numbers":{}}"#,
            "there are: retire, ",
        ),
        (
            r#"{"bench":"flood","subject":"quiescent"}"#,
            "not a question",
        ),
        (
            r#"{"bench":"read","subject":"quiescent","case":"empty","numbers":{}}"#,
            "asks no process",
        ),
    ] {
        let output = run(&[once::WORDS[0], once::WORDS[1], ask]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let said = text(&output.stdout);
        assert!(said.contains("Err") && said.contains(words), "{said}");
    }
}

#[test]
fn ctrl_c_prints_what_was_measured() {
    let mut child = quiescent()
        .args([
            "bench",
            "trickle",
            "--json",
            "--rate",
            "1",
            "--seconds",
            "3000",
        ])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    assert!(
        crate::common::catches_ctrl_c(&mut child),
        "it ended by itself"
    );
    crate::common::ctrl_c(&child);
    let mut said = String::new();
    let mut output = child.stdout.take().unwrap();
    output.read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(Report::from_json(&said).unwrap().rows.is_empty());
}

/// Rows of a table in one line each: words that went on below stand before the row's figures again.
fn unfolded(text: &str) -> String {
    let mut rows: Vec<String> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("  "), rows.last_mut()) {
            (Some(more), Some(row)) if !row.is_empty() => {
                let figures = row.find("  ").unwrap_or(row.len());
                row.insert_str(figures, &format!(" {more}"));
            }
            _ => rows.push(line.to_owned()),
        }
    }
    rows.join("\n")
}
