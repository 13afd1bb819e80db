//! CPUs that go offline and come back: no callback of theirs is lost, and no grace period waits for them.

use crate::common::{List, MS, call};
use quiescent_sim::{Hog, Machine, Op, Options, Steps};

#[test]
fn callbacks_of_a_cpu_that_goes_are_invoked_elsewhere() {
    for (nocbs, lazy, most) in [
        (vec![], false, 40),
        (vec![2], false, 40),
        (vec![2], true, 11_000),
    ] {
        let mut machine = Machine::new(Options {
            nocbs,
            lazy,
            lazy_flush_ms: 10_000,
            ..Options::kernel_6_12(4, 1000)
        });
        machine.func("callback");
        let calls = vec![call(true), call(false), call(true), Op::Offline(2)];
        machine.spawn("dies", 2, MS, List::new(calls));
        machine.run(10 * MS);
        assert!(!machine.is_online(2) && machine.counts()["departures"] == 1);
        machine.run(most * MS);
        let func = machine.stats().funcs.swap_remove(0);
        assert_eq!((func.queued, func.invoked), (3, 3), "{most}");
    }
}

#[test]
fn grace_periods_go_on_without_the_cpu_of_their_thread() {
    let mut machine = Machine::new(Options::kernel_6_12(4, 1000));
    machine.spawn("caller", 1, 0, Steps::caller(100, 0));
    for (at, cpu, online) in [(105, 0, false), (305, 1, false), (505, 0, true)] {
        machine.plug(at * MS, cpu, online);
    }
    assert!(machine.run_tasks(3_000 * MS), "a task waits for ever");
    assert_eq!(machine.counts()["departures"], 2);
    let worst = machine
        .stats()
        .calls
        .iter()
        .map(|it| it.end - it.start)
        .max();
    assert!(worst < Some(20 * MS), "{worst:?}");
    assert!(machine.is_online(0) && !machine.is_online(1));
}

#[test]
fn a_reader_is_waited_for_although_its_cpu_has_gone() {
    for kind in [Op::Synchronize, Op::SynchronizeExpedited] {
        let mut machine = Machine::new(Options::kernel_6_12(4, 1000));
        let reads = vec![Op::Lock, Op::Compute(50 * MS), Op::Unlock];
        machine.spawn("reader", 2, 0, List::new(reads));
        machine.plug(5 * MS, 2, false);
        machine.spawn("caller", 1, 10 * MS, List::new(vec![kind]));
        assert!(machine.run_tasks(1_000 * MS), "a task waits for ever");
        assert_eq!(machine.too_early(), 0);
        let end = machine.stats().calls[0].end;
        assert!((50 * MS..70 * MS).contains(&end), "{end}");
    }
}

#[test]
fn the_last_cpu_stays() {
    let mut machine = Machine::new(Options::kernel_6_12(3, 1000));
    machine.spawn("hog", 1, 0, Hog);
    for cpu in 0..3 {
        machine.plug(10 * MS, cpu, false);
    }
    machine.run(100 * MS);
    assert_eq!((0..3).filter(|&cpu| machine.is_online(cpu)).count(), 1);
    machine.spawn("caller", 0, 110 * MS, Steps::caller(3, 0));
    machine.run(300 * MS);
    assert_eq!(machine.stats().calls.len(), 3, "wherever that runs");
}
