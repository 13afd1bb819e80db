//! Exhaustive search of small configurations: every interleaving of readers (preempted ones too), requests
//! (expedited ones too), arrivals, departures and the driver's single steps, within bounds, under the rules
//! in `src/search/oracle.rs`.
//!
//! * `cargo test -p quiescent-harness --test search -- --nocapture` prints what was searched.
//! * `… -- --ignored` searches larger bounds: minutes, and some gigabytes of memory.
//!
//! The search does not model weak memory: each action is visible to all threads at once. The store-buffer
//! explorer and loom check the fences.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use quiescent_harness::explore::Searched;
use quiescent_harness::search::actions::Action;
use quiescent_harness::search::bounds::Bounds;
use quiescent_harness::search::explore::{Report, explore, walk};
use quiescent_harness::search::marks::{Mark, Marks, Pad};
use quiescent_harness::search::model::State;
use quiescent_harness::search::table;

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use quiescent_kernel::EarlyQs;

/// Searches all configurations, as many at once as there are processors; returns the union of the marks
/// reached.
fn search(list: &[Bounds]) -> Marks {
    println!(
        "{:>9} {:>10} {:>5} {:>8} {:>5}  bounds",
        "states", "transitions", "depth", "settled", "marks"
    );
    let mut reached = Marks::default();
    for (bounds, report) in list.iter().zip(explored(list)) {
        let Report {
            searched,
            settled,
            marks,
        } = report;
        let Searched {
            states,
            transitions,
            depth,
        } = searched;
        println!(
            "{states:>9} {transitions:>11} {depth:>5} {settled:>8} {:>5}  {bounds}",
            marks.len()
        );
        assert!(settled > 0, "no state was driven to the end in {bounds}");
        reached = reached.union(marks);
    }
    println!("reached {} marks: {reached}\n", reached.len());
    reached
}

/// The reports in the order of the list. Panics at the first violation, with its text.
fn explored(list: &[Bounds]) -> Vec<Report> {
    let next = AtomicUsize::new(0);
    let reports = Mutex::new(Vec::new());
    let work = || {
        while let index = next.fetch_add(1, Ordering::Relaxed)
            && let Some(bounds) = list.get(index)
        {
            let report = explore(bounds);
            if report.is_err() {
                next.store(list.len(), Ordering::Relaxed); // no further configuration is searched
            }
            reports
                .lock()
                .expect("no search panics")
                .push((index, report));
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let mut reports = reports.into_inner().expect("no search panicked");
    reports.sort_by_key(|(index, _)| *index);
    let wrong = |violation| -> Report { panic!("{violation}") };
    let reports = reports.into_iter().map(|(_, report)| report);
    reports.map(|report| report.unwrap_or_else(wrong)).collect()
}

#[test]
fn every_interleaving_within_small_bounds_is_right() {
    let mut reached = Marks::default();
    for early_qs in [EarlyQs::Off, EarlyQs::Scan, EarlyQs::Init] {
        let marks = search(&table::normal(early_qs));
        let early = marks.has(Mark::EarlyReport);
        assert_eq!(
            early,
            early_qs != EarlyQs::Off,
            "an early report with early_qs {early_qs:?}"
        );
        reached = reached.union(marks);
    }
    reached = reached.union(search(&table::preempted()));
    reached = reached.union(search(&table::expedited()));
    let missing = Marks::of(Mark::ALL).without(reached);
    assert!(missing.is_empty(), "the search never reached: {missing}");
}

#[test]
#[ignore = "minutes, and some gigabytes of memory"]
fn every_interleaving_within_larger_bounds_is_right() {
    let reached = search(&table::deep());
    assert!(reached.has(Mark::CreditChanged) && reached.has(Mark::ExpAgain));
}

/// Larger machines are not searched completely: random paths are taken.
#[test]
fn random_walks_over_larger_machines_are_right() {
    let bytes = proptest::collection::vec(proptest::num::u8::ANY, 500..3000);
    for bounds in table::walks() {
        // The paths are the same each time, so that the test does not fail by chance. A violation is shrunk.
        let config = Config {
            cases: 96,
            failure_persistence: None,
            ..Config::default()
        };
        let mut runner =
            TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
        let reached = std::cell::Cell::new(Marks::default());
        let walked = runner.run(&bytes, |bytes| {
            let marks = walk(&bounds, &bytes).map_err(TestCaseError::fail)?;
            reached.set(reached.get().union(marks));
            Ok(())
        });
        if let Err(failure) = walked {
            panic!("{failure}");
        }
        assert!(
            reached.get().len() > 20,
            "few marks were reached in {bounds}: {}",
            reached.get()
        );
    }
}

/// Hosts with a planted defect are caught, each by the rule that is meant to find it.
#[test]
fn planted_defects_of_a_host_are_found() {
    for (bounds, rule) in table::broken() {
        let violation = explore(&bounds).err();
        let violation = violation.unwrap_or_else(|| panic!("not found: {bounds:?}"));
        assert!(
            violation.starts_with(rule),
            "{:?} by another rule: {violation}",
            bounds.broken
        );
    }
}

/// Found by `ci/fuzz`: rule b reported that all CPUs sleep, although a preempted task had no CPU left to
/// continue on.
#[test]
fn the_last_cpu_stays_for_a_preempted_task() {
    let may_depart_after = |absent, actions: &[Action]| {
        let bounds = Bounds {
            absent,
            ..Bounds::SMALL.but("preempts 1 departures 1")
        };
        let mut state = State::new(&bounds);
        for &action in actions {
            let applied = state.apply(action, &bounds, &Pad::default());
            applied.expect("no rule is broken");
        }
        state.actions(&bounds).all.contains(&Action::Depart(1))
    };
    let preempted = [Action::Enter(1), Action::Preempt(1)];
    let over = [Action::Resume(0, 1), Action::Exit(1)];
    assert!(!may_depart_after(0b1, &preempted));
    assert!(may_depart_after(0b1, &[preempted, over].concat()));
    assert!(may_depart_after(0, &preempted), "there is another CPU");
}
