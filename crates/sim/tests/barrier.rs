//! `rcu_barrier`: it waits for callbacks, whoever looks after them, and for nothing else.

#[path = "common/mod.rs"]
mod common;

use common::{List, MS, call};
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
        assert_eq!((machine.barriers(), machine.stats().totals.ipis), (1, 0));
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
    assert!(machine.run_tasks(1_000 * MS), "somebody waits for ever");
    assert_eq!((machine.barriers(), machine.too_early()), (2, 0));
}
