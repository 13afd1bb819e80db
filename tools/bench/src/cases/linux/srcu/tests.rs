use super::*;
use crate::cases::fixture::nonsense;
use crate::cases::linux::sections::tiny;
use quiescent_report::OURS;

#[test]
fn a_row_for_every_subject_and_case() {
    let control = Control::none();
    let subjects = held::of_srcu(true);
    let mut rows = pairs(&subjects, &tiny(), control).unwrap();
    rows.extend(handed(&subjects, &tiny(), control).unwrap());
    let has = |name: &str, case: &str| {
        let row = rows
            .iter()
            .find(|row| row.subject == name && row.case == case);
        row.is_some_and(|row| row.n == 2)
    };
    for holding in held::holding().iter().skip(1) {
        for case in READ.map(ReadCase::name).into_iter().chain([AWAITED]) {
            assert!(has(holding.name, case), "{} {case}", holding.name);
        }
        assert_eq!(has(holding.name, HANDED), holding.handed.is_some());
    }
    assert!(!has(OURS, HANDED), "a `Guard` stays on its thread");
}

#[test]
fn a_stopped_run_has_no_rows() {
    let control = Control::cancelled();
    let subjects = held::of_srcu(false);
    assert!(pairs(&subjects, &tiny(), control).unwrap().is_empty());
    assert!(handed(&subjects, &tiny(), control).unwrap().is_empty());
}

#[test]
fn counts_out_of_range_are_refused_before_anything_is_measured() {
    for (rounds, threads) in [(0, 1), (1, 0), (1, usize::MAX)] {
        let mut options = tiny();
        (options.read.rounds, options.read.threads) = (rounds, threads);
        nonsense(|control| run(&options, control));
    }
}

#[test]
fn ratios_are_of_the_same_case_and_metric_and_judged() {
    let mut report = Report::new("bench srcu", 1);
    for (subject, case, metric, value) in [
        (OURS, "empty", read::METRIC, 2.0),
        (SRCU, "empty", read::METRIC, 5.0),
        (SRCU, HANDED, read::METRIC, 5.0),
        (OURS, "nested", read::METRIC, 0.0),
        (SRCU, "nested", read::METRIC, 1.0),
        (OURS, "sole thread", LATENCY, 1.0),
        (SRCU, "sole thread", LATENCY, 4.0),
        (OURS, "empty", instructions::METRIC, 10.0),
        (SRCU, "empty", instructions::METRIC, 20.0),
    ] {
        let row = Row::single(subject, case, metric, "x", value);
        report.rows.extend(row);
    }
    let rows = ratios(&report, &[SRCU]);
    let found: Vec<_> = rows
        .iter()
        .map(|row| (row.case.as_str(), row.metric.as_str(), row.median))
        .collect();
    assert_eq!(
        found,
        [
            ("empty", "cpu_ns_ratio", 2.5),
            ("sole thread", "latency_us_ratio", 4.0),
            ("empty", "instructions_ratio", 2.0)
        ]
    );
    report.rows.extend(rows);
    let text = text(&report);
    assert!(
        text.contains("empty, cpu_ns: 2.50 times (at most 3): ok"),
        "{text}"
    );
    assert!(
        text.contains("sole thread, latency_us: 4.00 times (at most 2): MISSED"),
        "{text}"
    );
}
