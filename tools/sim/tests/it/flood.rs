//! More callbacks than a CPU can invoke on the side: its programs go on all the same. And more waiters than
//! the grace-period thread wakes itself.

use std::cell::Cell;
use std::rc::Rc;

use crate::common::{List, MS, call};
use quiescent_sim::{Machine, Op, Options, Work};

/// Computes, and counts how often it did so for 10 µs.
struct Counts(Rc<Cell<u64>>);

impl Work for Counts {
    fn next(&mut self, _: u64) -> Op {
        self.0.set(self.0.get() + 1);
        Op::Compute(10_000)
    }
}

/// A machine whose CPU 1 has a flood of callbacks and a program that computes; what that has had of the time
/// until the flood is over, in permille.
fn flood(callbacks: usize) -> (u64, Machine) {
    let mut machine = Machine::new(Options::kernel_6_12(4, 1000));
    machine.func("callback");
    let chunks = Rc::new(Cell::new(0));
    machine.spawn("computes", 1, 0, Counts(chunks.clone()));
    machine.spawn("floods", 1, MS, List::new(vec![call(false); callbacks]));
    let mut at = 10 * MS;
    machine.run(at);
    while machine.owed() > 0 {
        at += MS;
        machine.run(at);
        assert!(at < 10_000 * MS, "there is no end to it");
    }
    assert_eq!(machine.too_early(), 0);
    (chunks.get() * 10_000 * 1000 / at, machine)
}

#[test]
fn a_flood_leaves_programs_a_share_of_the_cpu() {
    let (share, machine) = flood(100_000);
    let stats = machine.stats();
    assert_eq!(stats.funcs[0].invoked, 100_000);
    assert!(stats.wakeups_of("ksoftirqd/1") > 0, "it was needed");
    assert_eq!(
        stats.wakeups_of("ksoftirqd/"),
        stats.wakeups_of("ksoftirqd/1")
    );
    assert!((250..950).contains(&share), "{share} of 1000");
}

#[test]
fn a_few_callbacks_need_no_thread() {
    let (share, machine) = flood(50);
    assert_eq!(machine.stats().wakeups_of("ksoftirqd"), 0);
    assert!(share > 900, "{share} of 1000");
}

#[test]
fn tasks_that_compute_take_turns() {
    let mut machine = Machine::new(Options::kernel_6_12(2, 1000));
    let counts: Vec<_> = (0..3).map(|_| Rc::new(Cell::new(0))).collect();
    for count in &counts {
        machine.spawn("computes", 1, 0, Counts(count.clone()));
    }
    machine.run(300 * MS);
    for count in &counts {
        assert!((9_000..11_000).contains(&count.get()), "{}", count.get());
    }
}

#[test]
fn the_sixth_waiter_is_woken_by_a_work_item() {
    for (callers, works) in [(5, false), (40, true)] {
        let mut machine = Machine::new(Options {
            wake_from_gp: true,
            ..Options::kernel_6_12(8, 1000)
        });
        for caller in 0..callers {
            let calls = vec![Op::Synchronize; 10];
            machine.spawn("caller", caller % 8, MS, List::new(calls));
        }
        assert!(machine.run_tasks(1_000 * MS), "a task waits for ever");
        let stats = machine.stats();
        assert_eq!(stats.calls.len() as u32, 10 * callers);
        assert_eq!(stats.wakeups_of("kworker/rcu") > 0, works);
        assert_eq!(machine.too_early(), 0);
        let worst = stats.calls.iter().map(|it| it.end - it.start).max();
        assert!(worst < Some(20 * MS), "{worst:?}");
    }
}
