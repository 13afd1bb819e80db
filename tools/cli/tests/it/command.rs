//! The command as a user or a script runs it: exit codes, the JSON form, Ctrl-C, closed pipes.
//!
//! No test asserts a time or the size of a figure: the command measures these, its tests do not.

use crate::common::{nonsense, quiescent, report, run, text};
use quiescent_bench::subjects::{self, ReadCase};
use quiescent_report::Report;
use std::io::Read;
use std::process::Stdio;

#[test]
fn nonsense_is_a_usage_error_with_a_remedy() {
    nonsense(&[
        (&["bench", "read", "--threads", "0"][..], "give 1 to 1024"),
        (
            &["bench", "read", "--threads", "1000000000000"],
            "give 1 to 1024",
        ),
        (&["bench", "read", "--threads", "-3"], "give 1 to 1024"),
        (&["bench", "read", "--rounds", "0"], "give 1 to"),
        (&["bench", "sync", "--rounds", "0"], "give 1 to"),
        (
            &["bench", "sync", "--calls", "9999999999999999999999"],
            "give 1 to",
        ),
        (&["bench", "read", "--no-such-option"], "--help"),
        (&["bench", "retire", "--objects", "0"], "give 1 to"),
        (
            &["bench", "retire", "--rest-ms", "99999999999"],
            "give 1 to 600000",
        ),
        (&["bench", "mixed", "--ms", "0"], "give 1 to"),
        (&["bench", "mixed", "--readers", "-1"], "give 1 to 1024"),
        (&["bench", "mixed", "--rates", "1000,0"], "with commas"),
        (
            &["bench", "pressure", "--objects", "2000"],
            "give 1 to 1000",
        ),
        (&["bench", "write"], "--help"),
        (&["bench", "scale", "--threads", "1,0"], "give 1 to 65000"),
        (
            &["bench", "scale", "--threads", "99999999"],
            "give 1 to 65000",
        ),
        (&["bench", "scale", "--threads", "1,many"], "with commas"),
        (&["bench", "scale", "--threads", "-5"], "give 1 to 65000"),
        (&["bench", "scale", "--rounds", "0"], "give 1 to"),
        (&["bench", "scale", "--calls", "0"], "give 1 to"),
        (&["reproduce", "--seed", "x"], "--help"),
        (&["completions", "no-such-shell"], "bash"),
        (
            &[
                "internal",
                "loop",
                "--subject",
                "unknown",
                "--case",
                "empty",
                "--turns",
                "1",
            ],
            "unknown",
        ),
        (
            &["internal", "instructions", "--subject", "unknown"],
            "possible values",
        ),
        (&[], "Usage"),
    ]);
}

#[test]
fn bench_read_reports_every_subject_and_case() {
    let output = run(&[
        "bench",
        "read",
        "--compare",
        "--json",
        "--rounds",
        "2",
        "--seed",
        "9",
    ]);
    let report = report(&output);
    assert_eq!((report.command.as_str(), report.seed), ("bench read", 9));
    assert_eq!(report.options["rounds"], 2);
    for subject in subjects::all() {
        for case in ReadCase::ALL {
            let row = report.find(subject.name, case.name(), "cpu_ns");
            assert_eq!(
                row.is_some(),
                subject.loops.of(case).is_some(),
                "{} {}",
                subject.name,
                case.name()
            );
            assert!(row.is_none_or(|row| (row.n, row.unit.as_str()) == (2, "ns/pair")));
        }
        let handed = report.find(subject.name, "ended elsewhere", "cpu_ns");
        assert_eq!(
            handed.is_some(),
            subject.handed.is_some(),
            "{}",
            subject.name
        );
    }
    for absent in subjects::absent() {
        assert_eq!(report.host.more["absent_peers"][absent.name], absent.remedy);
    }
    assert!(
        output.stderr.is_empty(),
        "no progress bar where there is no terminal"
    );
}

#[test]
fn without_compare_only_ours() {
    let report = report(&run(&[
        "bench",
        "read",
        "--json",
        "--rounds",
        "1",
        "--threads",
        "3",
    ]));
    assert!(
        report
            .rows
            .iter()
            .all(|row| row.subject.starts_with("quiescent"))
    );
    assert_eq!(report.options["threads"], 3);
}

#[test]
fn bench_sync_reports_latency_and_fences() {
    let arguments = [
        "bench",
        "sync",
        "--compare",
        "--json",
        "--rounds",
        "2",
        "--calls",
        "20",
    ];
    let report = report(&run(&arguments));
    for subject in subjects::all() {
        for case in ["sole thread", "other asleep"] {
            let latency = report.find(subject.name, case, "latency_us");
            assert_eq!(
                latency.is_some(),
                subject.waiting.is_some(),
                "{} {case}",
                subject.name
            );
            assert_eq!(
                report.find(subject.name, case, "latency_us_p99").is_some(),
                subject.waiting.is_some()
            );
        }
    }
    let ratio = |case| report.find("quiescent-srcu", case, "latency_us_ratio");
    assert!(ratio("sole thread").is_some() && ratio("other asleep").is_some());
    // Where fences can be counted at all: no other thread has read in the `Srcu`, so none is needed.
    if let Some(row) = report.find("quiescent-srcu", "sole thread", "fences") {
        assert_eq!(row.median, 0.0);
    }
    // A library that is known to fence must show some.
    if let Some(row) = report.find("liburcu-memb", "other asleep", "fences") {
        assert_eq!(row.median, 2.0);
    }
}

#[test]
fn tables_name_the_machine_and_the_subjects() {
    let output = run(&["bench", "read", "--rounds", "1"]);
    assert!(output.status.success(), "{output:?}");
    let said = text(&output.stdout);
    for words in ["CPUs", "Linux", "CPU ns a pair", "quiescent", "nested"] {
        assert!(said.contains(words), "no `{words}` in {said}");
    }
    assert!(
        !said.contains('\x1b'),
        "no colours where there is no terminal"
    );
}

#[test]
fn completions_and_manual() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = run(&["completions", shell]);
        assert!(output.status.success());
        assert!(text(&output.stdout).contains("reproduce"), "{shell}");
    }
    let output = run(&["man"]);
    assert!(output.status.success());
    let page = text(&output.stdout);
    assert!(
        page.contains(".TH quiescent") && page.contains("reproduce"),
        "{page}"
    );
    assert!(!page.contains("internal"), "hidden commands stay hidden");
    let output = run(&["man", "bench", "sync"]);
    assert!(
        text(&output.stdout).contains("quiescent-bench-sync"),
        "{output:?}"
    );
    let output = run(&["man", "bench", "write"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("read, retire, mixed, map, arc, sync, pressure, scale"),
        "{output:?}"
    );
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = quiescent()
        .args(["bench", "read", "--rounds", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
}

#[test]
fn a_missing_valgrind_comes_with_its_remedy() {
    let output = quiescent()
        .args(["internal", "instructions", "--json"])
        .env("PATH", "/nowhere")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(
        text(&output.stderr).contains("apt-get install valgrind"),
        "{output:?}"
    );
}

/// Refuses new threads, as a machine does that has none left.
fn refuse_threads(command: &mut std::process::Command) {
    crate::common::refuse(command, &[libc::SYS_clone3, libc::SYS_clone], libc::EAGAIN);
}

#[test]
fn refused_threads_are_an_error_not_a_hang() {
    let mut command = quiescent();
    command.args(["bench", "read", "--threads", "8", "--rounds", "1"]);
    refuse_threads(&mut command);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = text(&output.stderr);
    assert!(
        said.contains("cannot start thread 1 of 8") && said.contains("--threads"),
        "{said}"
    );
}

#[test]
fn refused_threads_are_said_in_the_case_of_bench_scale() {
    use quiescent_bench::measure::once::Said;
    let mut command = quiescent();
    let ask = concat!(
        r#"{"bench":"scale","subject":"quiescent","case":"50 threads","#,
        r#""numbers":{"threads":[50],"calls":[2]}}"#
    );
    command.args(["internal", "measure", ask]);
    refuse_threads(&mut command);
    let output = command.output().unwrap();
    let said: Said = serde_json::from_slice(&output.stdout).unwrap();
    let Ok(figures) = said else {
        panic!("{said:?}");
    };
    for metric in ["threads", "latency_us", "cpu_ns"] {
        let figure = figures.iter().find(|figure| figure.metric == metric);
        let case = &figure.unwrap().case;
        assert!(case.starts_with("50 threads (reached 1: "), "{case}");
    }
}

#[test]
fn ctrl_c_prints_what_was_measured() {
    for arguments in [
        ["bench", "read", "--compare", "--json", "--rounds", "100000"],
        ["bench", "sync", "--compare", "--json", "--rounds", "100000"],
        [
            "bench",
            "retire",
            "--compare",
            "--json",
            "--rounds",
            "100000",
        ],
        [
            "bench",
            "mixed",
            "--compare",
            "--json",
            "--rounds",
            "100000",
        ],
        [
            "bench",
            "scale",
            "--compare",
            "--json",
            "--rounds",
            "100000",
        ],
    ] {
        let mut child = quiescent()
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        assert!(
            crate::common::catches_ctrl_c(&mut child),
            "{arguments:?} ended by itself"
        );
        crate::common::ctrl_c(&child);
        let mut said = String::new();
        child
            .stdout
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130));
        Report::from_json(&said).unwrap();
    }
}
