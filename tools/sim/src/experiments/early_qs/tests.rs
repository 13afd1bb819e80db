use super::*;

/// What the notes say about calls that took two waits, in per cent.
fn two_waits(outcome: &Outcome, early_qs: &str) -> f64 {
    let head = format!("early_qs={early_qs}: ");
    let note = outcome.notes.iter().find_map(|it| it.strip_prefix(&head));
    let share = note.and_then(|it| it.split_once(" %")).expect("it says so");
    share.0.parse().expect("a number")
}

#[test]
fn both_regimes_come_from_the_placement_and_the_means_are_the_published_ones() {
    for seed in [1, 2, 3] {
        let outcome = v2(seed);
        for it in &outcome.comparisons {
            let tail = it.metric.starts_with("longest");
            assert!(it.is_near() || tail, "seed {seed}: {it:?}");
        }
        let model = |case: &str| {
            let mut all = outcome.comparisons.iter();
            let found = all.find(|it| it.case == case && it.metric == LATENCY_MS.0);
            found.unwrap_or_else(|| panic!("no {case}")).model
        };
        let [same, other] = ["one CPU", "different CPUs"]
            .map(|place| model(&format!("early-qs-v2 early_qs=off, both on {place}")));
        assert!(same < 6.1 && other > 9.9, "{same} {other}");
        assert!(two_waits(&outcome, "off") > 80.0);
        assert!(
            two_waits(&outcome, "init") < 2.0,
            "the first call, or where it is moved"
        );
    }
}

#[test]
fn a_thread_that_is_moved_to_the_callers_cpu_saves_a_wait() {
    // Of many moves one of 32 leads there.
    let options = Options {
        moves: Some(20_000_000),
        ..Options::kernel_6_12(32, 1000)
    };
    let latencies = CallTimes::of(&options, 5, 2000, Others::Silent);
    let two = latencies.share_above(8.0);
    assert!((0.9..0.995).contains(&two), "{two}");
}

#[test]
fn the_first_call_is_the_long_one_and_the_report_shortens_it() {
    for seed in [1, 3, 4] {
        let outcome = v2(seed);
        let longest = |case: &str| {
            let mut all = outcome.comparisons.iter();
            let found = all.find(|it| it.case == case && it.metric == LONGEST_MS.0);
            // Assumed with the table in view, so neither met nor missed.
            assert_eq!(found.unwrap().holds(), None);
            found.unwrap().model
        };
        let before = longest("early-qs-v2 early_qs=off");
        let after = longest("early-qs-v2 early_qs=init");
        assert!(before > 18.0 && after < 0.7 * before, "{before} {after}");
    }
}

#[test]
fn second_waits_are_rare_before_and_rarer_after() {
    for seed in [1, 2, 3] {
        let outcome = rfc(seed);
        let means = outcome.comparisons.iter();
        for it in means.filter(|it| it.metric == LATENCY_MS.0) {
            assert!(it.is_near(), "seed {seed}: {it:?}");
        }
        let fewer = outcome.shown.last().unwrap();
        assert_eq!(fewer.holds(), Some(true), "{fewer:?}");
        assert!((0.1..5.0).contains(&two_waits(&outcome, "off")));
    }
}
