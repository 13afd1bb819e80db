//! The oracle: readers of several kinds, threads that start and end, updaters that wait in several ways. No
//! reader ever reads what could have been freed.

use crate::common::oracle::{ENOUGH, Plan, SECTIONS, litmus};
use crate::common::{in_both_modes, until};
use quiescent::statistics;

fn carry_out(plan: Plan) {
    in_both_modes(|| run(plan));
}

fn run(plan: Plan) {
    let sections = plan.run();
    until("all threads are gone", || statistics().registered == 0);
    let after = statistics();
    println!("{plan:?}: {sections} sections, {after:?}");
    assert!(sections >= SECTIONS, "{sections} sections say nothing");
    assert!(after.grace_periods >= ENOUGH);
    assert_eq!(
        (after.stalls, after.unregistered_sections, after.leaked),
        (0, 0, 0)
    );
    assert!(!after.busy);
}

#[test]
fn readers_that_stay() {
    carry_out(Plan {
        churners: 0,
        ..Plan::new(3000)
    });
}

#[test]
fn readers_that_come_and_go() {
    carry_out(Plan {
        readers: 1,
        churners: 3,
        ..Plan::new(2000)
    });
}

#[test]
fn one_updater_beside_many_readers() {
    let plan = Plan {
        readers: 12,
        churners: 2,
        updaters: 1,
        updates: 1000,
    };
    carry_out(plan);
}

#[test]
fn many_updaters() {
    let plan = Plan {
        readers: 2,
        churners: 1,
        updaters: 8,
        updates: 500,
    };
    carry_out(plan);
}

#[test]
fn one_reader_against_one_updater() {
    let body = || {
        litmus(200_000);
        assert_eq!((statistics().stalls, statistics().leaked), (0, 0));
    };
    in_both_modes(body);
}
