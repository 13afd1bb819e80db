//! `rcu_barrier`: it waits for all callbacks, also of offloaded and departed CPUs, and for nothing else.

use crate::common::{List, MS, call};
use quiescent_sim::{Machine, Op, Options};

/// A task queues callbacks, then waits for them; when it is over, and the machine then.
fn barrier_after(options: &Options, calls: Vec<Op>) -> (u64, Machine) {
    let mut machine = Machine::new(options.clone());
    machine.func("callback");
    let mut ops = calls;
    ops.push(Op::Barrier);
    machine.spawn("caller", 1, MS, List::new(ops));
    assert!(machine.run_tasks(60_000 * MS), "it waits for ever");
    assert_eq!(machine.too_early(), 0);
    (machine.now() - MS, machine)
}

#[test]
fn with_nothing_queued_it_is_over_at_once() {
    for nocbs in [vec![], vec![0, 1, 2, 3]] {
        let options = Options {
            nocbs,
            ..Options::kernel_6_12(8, 1000)
        };
        let (took, machine) = barrier_after(&options, vec![]);
        assert!(took < MS / 10, "{took}");
        assert!(machine.stats().grace_periods.is_empty());
        assert_eq!(
            (machine.counts()["barriers"], machine.stats().totals.ipis),
            (1, 0)
        );
    }
}

#[test]
fn it_hurries_what_is_lazy() {
    for lazy in [false, true] {
        let options = Options {
            nocbs: (0..8).collect(),
            lazy,
            ..Options::kernel_6_12(8, 1000)
        };
        let calls = vec![call(true), call(true), call(true)];
        let (took, machine) = barrier_after(&options, calls);
        assert!(took < 30 * MS, "and not ten seconds: {took}");
        assert_eq!(machine.stats().funcs[0].invoked, 3);
        assert_eq!(machine.owed(), 0);
    }
}

#[test]
fn it_waits_for_other_cpus_those_that_have_gone_included() {
    for (cpu, nocbs) in [(3, vec![]), (3, vec![3]), (1, vec![3])] {
        let mut machine = Machine::new(Options {
            nocbs,
            ..Options::kernel_6_12(8, 1000)
        });
        machine.func("callback");
        let queues = vec![call(false), call(false), Op::Offline(3)];
        machine.spawn("queues", 3, MS, List::new(queues));
        machine.spawn("caller", cpu, MS + MS / 2, List::new(vec![Op::Barrier]));
        assert!(machine.run_tasks(1_000 * MS), "it waits for ever");
        assert_eq!((machine.too_early(), machine.owed()), (0, 0));
        assert_eq!(machine.stats().funcs[0].invoked, 2);
    }
}

#[test]
fn callers_that_come_while_one_is_under_way_share_the_next() {
    let mut machine = Machine::new(Options::kernel_6_12(8, 1000));
    machine.func("callback");
    for cpu in 0..8 {
        let ops = vec![call(false), Op::Barrier];
        machine.spawn("caller", cpu, MS + u64::from(cpu) * 10_000, List::new(ops));
    }
    assert!(machine.run_tasks(1_000 * MS), "a task waits for ever");
    assert_eq!((machine.counts()["barriers"], machine.too_early()), (2, 0));
}

#[test]
fn a_trace_has_its_steps_in_the_kernels_words() {
    let mut machine = Machine::new(Options::kernel_6_12(2, 1000));
    machine.func("callback");
    machine.keep_trace();
    let ops = vec![call(false), Op::Barrier];
    machine.spawn("queues", 0, MS, List::new(vec![call(false)]));
    machine.spawn("first", 1, MS + MS / 10, List::new(ops));
    machine.spawn("second", 0, MS + MS / 2, List::new(vec![Op::Barrier]));
    machine.spawn("third", 1, MS + MS / 2, List::new(vec![Op::Barrier]));
    assert!(machine.run_tasks(1_000 * MS));
    let mut text = Vec::new();
    machine.write_trace(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("rcu_barrier: rcu_preempt IRQ cpu -1 remaining "));
    let said: Vec<(&str, &str)> = text
        .lines()
        .filter_map(|it| {
            let (place, step) = it.split_once(": rcu_barrier: rcu_preempt ")?;
            Some((place.trim_start().split('-').next()?, step))
        })
        .filter(|it| !it.1.starts_with("IRQ "))
        .collect();
    let wanted = [
        ("first", "Begin cpu -1 remaining 0 # 4"),
        ("first", "Inc1 cpu -1 remaining 2 # 1"),
        ("first", "OnlineQ cpu 0 remaining 3 # 1"),
        ("first", "OnlineQ cpu 1 remaining 4 # 1"),
        ("second", "Begin cpu -1 remaining 0 # 8"),
        ("third", "Begin cpu -1 remaining 0 # 8"),
    ];
    assert_eq!(said[..6], wanted);
    let rest: Vec<&str> = said[6..].iter().map(|it| it.1).collect();
    assert_eq!(
        rest[..2],
        ["CB cpu -1 remaining 1 # 1", "LastCB cpu -1 remaining 0 # 1"]
    );
    for step in [
        "NQ cpu 0 remaining 2 # 5",
        "Inc2 cpu -1 remaining 0 # 1",
        "Inc2 cpu -1 remaining 0 # 5",
        "EarlyExit cpu -1 remaining 0 # 8",
    ] {
        assert!(rest.contains(&step), "{step}: {rest:?}");
    }
}
