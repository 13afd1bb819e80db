//! `bench arc` as a user runs it. No test asserts a time.

use crate::common::{nonsense, report, run};

#[test]
fn nonsense_is_a_usage_error_with_a_remedy() {
    nonsense(&[
        (&["bench", "arc", "--threads", "0"][..], "give 1 to 1024"),
        (&["bench", "arc", "--turns", "0"], "give 1 to"),
        (&["bench", "arc", "--kills", "many"], "invalid"),
    ]);
}

#[test]
fn a_quick_run_has_a_row_for_both_and_every_case() {
    let arguments = "bench arc --compare --json --rounds 1 --turns 1000 --kills 2";
    let report = report(&run(&arguments.split(' ').collect::<Vec<_>>()));
    for (subject, case, metric) in [
        ("quiescent", "pair 1t", "cpu_ns"),
        ("Arc", "pair 2t", "cpu_ns"),
        ("quiescent", "pair 2t", "times_arc"),
        ("quiescent", "pair killed", "cpu_ns"),
        ("quiescent", "kill", "latency_us_p99"),
    ] {
        let row = report.find(subject, case, metric);
        assert!(
            row.is_some_and(|it| it.median > 0.0),
            "{subject} {case} {metric}"
        );
    }
}
