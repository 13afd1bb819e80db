//! `bench retire` and `bench mixed` as a user or a script runs them, with tiny counts.
//!
//! No test asserts a time or the size of a figure: the commands measure these, their tests do not.

use crate::common::{report, run, text};
use quiescent_bench::cases::retire::RetireCase;
use quiescent_bench::deferral;
use quiescent_bench::deferral::swap::{BARE, Content, Place};
use quiescent_report::OURS;

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
    let inside = |content, producers| RetireCase::Section(Place::Inside, content, producers);
    for metric in ["over_budget", "worker_passes", "reports"] {
        let case = inside(Content::Short, 1).name();
        assert!(report.find(OURS, &case, metric).is_some(), "{metric}");
    }
    let without_cache = deferral::all().into_iter();
    for subject in without_cache.filter(|it| !it.name.ends_with("-cache")) {
        for (case, metric, n) in [
            (RetireCase::Push, "cpu_ns", 2),
            (RetireCase::Push, "process_cpu_ns", 2),
            (RetireCase::Push, "latency_ns_p99.9", 2),
            (RetireCase::Push, "latency_ns_max", 2),
            (RetireCase::Enqueue(1), "cpu_ns", 2),
            (RetireCase::Enqueue(2), "cpu_ns", 2),
            (RetireCase::AllIn(1), "cpu_ns", 2),
            (RetireCase::AllIn(1), "above_malloc_free_ns", 2),
            (RetireCase::AllIn(2), "ops_per_s", 2),
            (RetireCase::AllIn(2), "peak_rss_bytes", 2),
            (RetireCase::AllIn(2), "above_empty_bytes", 2),
            (RetireCase::Empty(1), "peak_rss_bytes", 2),
            (RetireCase::Drop, "cpu_ns", 2),
            (RetireCase::Call, "cpu_ns", 2),
            (RetireCase::Swap(Content::Long), "cpu_ns", 2),
            (RetireCase::Swap(Content::Config), "above_malloc_free_ns", 2),
            (inside(Content::Block, 1), "cpu_ns", 2),
            (inside(Content::Dropped, 1), "inside_ratio", 2),
            (inside(Content::Dropped, 2), "backlog", 2),
            (inside(Content::Short, 1), "above_malloc_free_ns", 2),
            (RetireCase::AtRest, "wakeups", 1),
            (RetireCase::AtRest, "timers", 1),
        ] {
            let row = report.find(subject.name, &case.name(), metric);
            let n_of_row = row.map(|row| row.n);
            let wanted = case.is_for(&subject).then_some(n);
            let case = case.name();
            assert_eq!(n_of_row, wanted, "{}, {case}, {metric}", subject.name);
        }
    }
    let bare = report.find(BARE, "config 1t", "cpu_ns");
    assert!(
        bare.is_some(),
        "what building and dropping costs is beside it"
    );
}

#[test]
fn bench_mixed_reports_reads_and_updates_at_every_rate() {
    for (readers, of) in [("1", ""), ("2", " 2r")] {
        let report = report(&run(&[
            "bench",
            "mixed",
            "--compare",
            "--json",
            "--rounds",
            "1",
            "--ms",
            "10",
            "--rates",
            "1000,20000",
            "--readers",
            readers,
        ]));
        assert_eq!(report.command, "bench mixed");
        let beside = deferral::all().into_iter();
        for subject in beside.filter(|it| it.beside(Content::Block).is_some()) {
            for (case, metric) in [
                ("read", "cpu_ns"),
                ("read", "ops_per_s"),
                ("read 0/s", "cpu_ns"),
                ("read 20k/s", "cpu_ns_ratio"),
                ("update 1k/s", "ops_per_s"),
                ("update", "cpu_ns"),
                ("update", "ops_per_s"),
            ] {
                let case = format!("{case}{of}");
                let row = report.find(subject.name, &case, metric);
                assert!(row.is_some(), "{}, {case}, {metric}", subject.name);
            }
            let config = report.find(subject.name, &format!("read config{of}"), "cpu_ns");
            let has_one = subject.beside(Content::Config).is_some();
            assert_eq!(config.is_some(), has_one, "{}", subject.name);
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
            r#"{"bench":"retire","subject":"unknown","case":"push","numbers":{"objects":[1]}}"#,
            "unknown",
        ),
        (
            r#"{"bench":"mixed","subject":"unknown","case":"block","numbers":{}}"#,
            "unknown",
        ),
    ] {
        let output = run(&["internal", "measure", ask]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let said = text(&output.stdout);
        assert!(said.contains("Err") && said.contains(words), "{said}");
    }
}
