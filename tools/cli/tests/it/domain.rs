//! Domains of the program's own, and readers that may sleep, in the measurements of `quiescent bench`. No
//! size of a figure is asserted, except of counters.

use crate::common::{nonsense, report, run};

const DOMAIN: &str = "quiescent-domain";

#[test]
fn nonsense_is_a_usage_error_with_a_remedy() {
    nonsense(&[
        (&["bench", "idle", "--domains", "0"][..], "give 1 to 100000"),
        (
            &["bench", "idle", "--domains", "100001"],
            "1000 for the targets",
        ),
    ]);
}

#[test]
fn domains_at_rest_and_due_together_are_reported() {
    let report = report(&run(&[
        "bench",
        "idle",
        "--seconds",
        "0.01",
        "--domains",
        "20",
        "--json",
    ]));
    let ours = |case: &str, metric: &str| {
        let row = report.find(DOMAIN, case, metric);
        row.unwrap_or_else(|| panic!("no {case}, {metric}")).max
    };
    // Counters, which do not depend on the load of the machine.
    for domains in [1, 10, 100] {
        let case = format!("due together, {domains}");
        assert!(ours(&case, "grace_periods") >= f64::from(domains));
    }
    for case in ["20 at rest", "20 at rest, used at once"] {
        assert_eq!(ours(case, "not_at_rest"), 0.0, "{case}");
        assert_eq!(ours(case, "queued"), 0.0, "{case}");
        ours(case, "wakeups");
    }
    let targets = report.options["targets"].as_array().unwrap();
    let is_whole = |it: &serde_json::Value| it["what"].is_string() && it["bound"].is_number();
    assert!(
        targets.len() >= 8 && targets.iter().all(is_whole),
        "{targets:?}"
    );
}

#[test]
fn a_stall_in_another_domain_and_the_push_are_reported() {
    let stall = report(&run(&[
        "bench",
        "stall",
        "--seconds",
        "0.05",
        "--objects",
        "100",
        "--json",
    ]));
    let find = |subject, metric| {
        stall
            .find(subject, "reader stalled", metric)
            .map(|row| row.max)
    };
    for metric in ["sleeps", "reader_wakeups", "left"] {
        assert_eq!(find(DOMAIN, metric), Some(0.0), "{metric}");
    }
    assert!(find(DOMAIN, "held_up").unwrap() > 0.0, "there was a stall");
    assert!(find("quiescent", "latency_us").is_some() && find(DOMAIN, "delay_us").is_some());
    let words = [
        "bench",
        "retire",
        "--rounds",
        "1",
        "--objects",
        "500",
        "--rest-ms",
        "1",
        "--json",
    ];
    let retire = report(&run(&words));
    for metric in ["cpu_ns", "cpu_ns_ratio"] {
        assert!(retire.find(DOMAIN, "push", metric).is_some(), "{metric}");
    }
}
