//! `quiescent bench domain` as a user or a script runs it, in a tiny run. No size of a figure is asserted,
//! except of counters.

use crate::common::{nonsense, report, run, text};
use quiescent_bench::cases::domain;
use quiescent_bench::measure::once;
use quiescent_report::text::unfolded;

/// The smallest run.
const TINY: [&str; 10] = [
    "bench",
    "domain",
    "--rounds",
    "1",
    "--calls",
    "10",
    "--domains",
    "20",
    "--rest-ms",
    "10",
];

#[test]
fn nonsense_is_a_usage_error_with_a_remedy() {
    nonsense(&[
        (
            &["bench", "domain", "--domains", "0"][..],
            "give 1 to 100000",
        ),
        (
            &["bench", "domain", "--domains", "100001"],
            "1000 for the targets",
        ),
        (&["bench", "domain", "--threads", "0"], "give 1 to 1024"),
        (&["bench", "domain", "--rounds", "-1"], "give 1 to"),
        (&["bench", "domain", "--calls", "many"], "give 1 to"),
        (&["bench", "domain", "--rest-ms", "0"], "give 1 to 600000"),
    ]);
}

#[test]
fn sections_isolation_and_rest_are_reported() {
    let output = run(&[&TINY[..], &["--compare", "--json", "--seed", "3"]].concat());
    let report = report(&output);
    assert!(output.stderr.is_empty(), "no progress bar here: {output:?}");
    assert_eq!((report.command.as_str(), report.seed), ("bench domain", 3));
    for subject in domain::subjects_of(true) {
        for case in ["empty", "nested", "load"] {
            let row = report.find(subject.name, case, "cpu_ns");
            assert!(row.is_some(), "{}, {case}", subject.name);
        }
    }
    let ours = |case: &str, metric: &str| {
        let row = report.find("quiescent-domain", case, metric);
        row.unwrap_or_else(|| panic!("no {case}, {metric}")).max
    };
    for metric in ["latency_us", "latency_us_ratio"] {
        ours("sole thread", metric);
        ours("other asleep", metric);
    }
    ours("push", "cpu_ns");
    // Counters, which do not depend on the load of the machine.
    for metric in ["sleeps", "reader_wakeups", "left"] {
        assert_eq!(ours("reader stalled", metric), 0.0, "{metric}");
    }
    assert!(ours("reader stalled", "held_up") > 0.0, "there was a stall");
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
fn tables_state_the_targets() {
    let output = run(&TINY);
    assert_eq!(
        output.status.code(),
        Some(0),
        "a target missed is no failure: {output:?}"
    );
    let said = unfolded(&text(&output.stdout));
    for words in [
        "two domains by turns",
        "While a reader stays in a section of another domain",
        "Due in so many domains at the same time",
        "20 at rest, used at once",
        "at most 2x the process's domain",
        "reader stalled in another domain: 0 sleeps",
    ] {
        assert!(said.contains(words), "no `{words}` in {said}");
    }
    assert!(!said.contains("seize") && !said.contains('\x1b'), "{said}");
    let children = once::WORDS.join(" ");
    assert!(!said.contains(&children), "{said}");
}
