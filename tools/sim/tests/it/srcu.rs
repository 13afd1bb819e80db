//! SRCU: sections that sleep and end on another CPU; a grace period waits for those that are older than it,
//! and for no others.

use crate::common::{List, MS};
use quiescent_sim::chance::Chance;
use quiescent_sim::{Machine, Op, Options, SrcuOp, Stats, Workload, report};

const LOCK: Op = Op::Srcu(SrcuOp::Lock);
const UNLOCK: Op = Op::Srcu(SrcuOp::Unlock);
const SYNC: Op = Op::Srcu(SrcuOp::Synchronize);

fn machine() -> Machine {
    let mut machine = Machine::new(Options::kernel_6_12(8, 1000));
    machine.func("callback");
    machine
}

/// A task that sleeps in a section, from then until then.
fn reader(machine: &mut Machine, name: &str, cpu: u32, from: u64, until: u64) {
    let ops = vec![LOCK, Op::SleepUntil(until), UNLOCK];
    machine.spawn(name, cpu, from, List::new(ops));
}

fn srcu_of(stats: &Stats) -> &quiescent_sim::SrcuStats {
    stats.srcu.as_ref().expect("the domain was used")
}

#[test]
fn a_call_waits_for_a_section_that_sleeps_and_ends_elsewhere() {
    let mut machine = machine();
    reader(&mut machine, "reader", 3, MS, 50 * MS);
    machine.roam(vec![5], Chance::new(1));
    machine.spawn("caller", 1, 10 * MS, List::new(vec![SYNC]));
    assert!(machine.run_tasks(1_000 * MS), "{:?}", machine.pending());
    let stats = machine.stats();
    let srcu = srcu_of(&stats);
    let (start, end) = srcu.calls[0];
    assert!(
        start >= 10 * MS && (50 * MS..51 * MS).contains(&end),
        "{end}"
    );
    assert_eq!((srcu.reader_wakeups, srcu.turns), (1, 1), "{srcu:?}");
    // It took a look at the start, one after a while, and the last ones when the section had ended.
    assert_eq!(stats.wakeups_of("kworker/srcu"), 2);
    assert_eq!((machine.too_early(), stats.grace_periods.len()), (0, 0));
}

#[test]
fn it_does_not_wait_for_sections_that_are_newer() {
    let mut machine = machine();
    reader(&mut machine, "old", 3, MS, 20 * MS);
    machine.spawn("caller", 1, 10 * MS, List::new(vec![SYNC]));
    reader(&mut machine, "new", 5, 11 * MS, 500 * MS);
    machine.run(100 * MS);
    let stats = machine.stats();
    let (_, end) = srcu_of(&stats).calls[0];
    assert!((20 * MS..21 * MS).contains(&end), "{end}");
    assert_eq!(machine.too_early(), 0);
    // The next one waits for the newer section, which has joined the other count.
    machine.spawn("again", 2, 110 * MS, List::new(vec![SYNC]));
    assert!(machine.run_tasks(1_000 * MS));
    let stats = machine.stats();
    assert!(srcu_of(&stats).calls[1].1 >= 500 * MS);
}

#[test]
fn without_sections_it_is_over_at_once_and_newcomers_stay_where_they_are() {
    let mut machine = machine();
    machine.spawn("caller", 1, MS, List::new(vec![SYNC, SYNC]));
    assert!(machine.run_tasks(1_000 * MS));
    let stats = machine.stats();
    let srcu = srcu_of(&stats);
    assert!(
        srcu.calls.iter().all(|it| it.1 - it.0 < MS / 10),
        "{srcu:?}"
    );
    assert_eq!((srcu.turns, srcu.grace_periods.len()), (0, 2));
}

#[test]
fn plain_grace_periods_do_not_wait_for_it() {
    let mut machine = machine();
    reader(&mut machine, "reader", 3, MS, 900 * MS);
    machine.spawn("caller", 1, 10 * MS, List::new(vec![Op::Synchronize]));
    machine.run(100 * MS);
    assert_eq!(machine.stats().calls.len(), 1);
}

#[test]
fn callbacks_wait_for_the_sections_before_them() {
    let mut machine = machine();
    reader(&mut machine, "reader", 3, MS, 50 * MS);
    let calls = (0..100).map(|_| Op::Srcu(SrcuOp::Call(0)));
    machine.spawn("caller", 1, 10 * MS, List::new(calls.collect()));
    machine.run(49 * MS);
    assert_eq!(machine.owed(), 100);
    assert!(
        machine
            .pending()
            .iter()
            .any(|it| it.contains("100 callbacks"))
    );
    machine.run(60 * MS);
    let stats = machine.stats();
    let delays = &stats.funcs[0].delays;
    assert!(delays.len() == 100 && delays.iter().all(|&it| it >= 39 * MS));
    assert_eq!((machine.owed(), machine.too_early()), (0, 0));
    assert!(machine.is_quiet());
}

/// The figure of this name, of a run of the workload.
fn figure(sets: &[(&str, &str)], metric: &str) -> f64 {
    let plan = Workload::named("srcu").unwrap().plan(sets).unwrap();
    let stats = plan.run(|| false).expect("no caller stops the plan");
    assert_eq!(stats.early, 0);
    let figures = report::figures(&[stats]);
    let found = figures.iter().find(|it| it.metric == metric);
    found.unwrap_or_else(|| panic!("no {metric}")).values[0]
}

#[test]
fn the_workload_waits_as_long_as_its_sections() {
    let latency = |inside| figure(&[("inside", inside)], "srcu_latency_us_mean");
    let (short, long) = (latency("1ms"), latency("20ms"));
    assert!(short > 500.0 && short < 10_000.0, "{short}");
    assert!(long > 8.0 * short, "{short} {long}");
    let none = figure(&[("readers", "0")], "srcu_latency_us_max");
    assert!(none < 100.0, "{none}");
}

#[test]
fn callers_share_grace_periods() {
    let per_call = |updaters| {
        let sets = [("updaters", updaters), ("pause", "1ms")];
        figure(&sets, "srcu_calls") / figure(&sets, "srcu_grace_periods")
    };
    let (one, many) = (per_call("1"), per_call("32"));
    assert!(one <= 1.0 && many > 5.0, "{one} {many}");
}
