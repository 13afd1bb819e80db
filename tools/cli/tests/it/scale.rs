//! `quiescent bench scale`: its rows and tables. No size of a figure is asserted, except of counters.

use crate::common::{report, run, text};
use quiescent_bench::subjects;

#[test]
fn every_subject_and_number_of_threads_has_its_rows() {
    let report = report(&run(&[
        "bench",
        "scale",
        "--threads",
        "1,3,70",
        "--rounds",
        "2",
        "--calls",
        "5",
        "--compare",
        "--json",
    ]));
    assert_eq!(report.command, "bench scale");
    assert_eq!(report.options["threads"], serde_json::json!([1, 3, 70]));
    for (case, threads) in [("1 thread", 1.0), ("3 threads", 3.0), ("70 threads", 70.0)] {
        for subject in subjects::all().iter().filter(|s| s.waiting.is_some()) {
            let row = |metric| report.find(subject.name, case, metric);
            let there = row("threads").unwrap();
            assert_eq!((there.n, there.min, there.max), (2, threads, threads));
            for metric in ["latency_us", "latency_us_p99", "cpu_ns"] {
                assert!(row(metric).is_some(), "{} {case} {metric}", subject.name);
            }
            for metric in ["register_cpu_ns", "exit_cpu_ns"] {
                assert_eq!(
                    row(metric).is_some(),
                    threads > 1.0,
                    "{} {case}",
                    subject.name
                );
            }
        }
        let ours = |metric| report.find("quiescent", case, metric).unwrap().median;
        // Seventy threads are in two groups of 64; each grace period scans once.
        assert_eq!(ours("leaves"), if threads > 62.0 { 2.0 } else { 1.0 });
        assert_eq!(ours("scans"), 1.0);
        assert_eq!(ours("fences"), if threads > 1.0 { 1.0 } else { 0.0 });
    }
}

#[test]
fn tables_for_people() {
    let output = run(&[
        "bench",
        "scale",
        "--threads",
        "1,5",
        "--rounds",
        "1",
        "--calls",
        "3",
    ]);
    assert!(output.status.success(), "{output:?}");
    let said = text(&output.stdout);
    for words in [
        "Latency of a grace period",
        "5 threads",
        "Exit, CPU ns",
        "Registration",
        "quiescent",
    ] {
        assert!(said.contains(words), "no `{words}` in {said}");
    }
    assert!(
        !said.contains("liburcu"),
        "no others were requested: {said}"
    );
}
