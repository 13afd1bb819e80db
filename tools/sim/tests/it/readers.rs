//! Readers: sections that last, sections that are preempted, and which CPUs are asked to hurry.

use crate::common::{List, MS};
use quiescent_sim::{Machine, Op, Options, Steps};

fn reads_for(ns: u64) -> List {
    List::new(vec![Op::Lock, Op::Compute(ns), Op::Unlock])
}

/// When a call that begins after a millisecond returns on a machine on which `reader` began before it.
fn returns(options: &Options, reader: List, with: Op, others: Vec<(u32, u64, List)>) -> u64 {
    let mut machine = Machine::new(options.clone());
    machine.spawn("reader", 2, 0, reader);
    for (cpu, start, work) in others {
        machine.spawn("other", cpu, start, work);
    }
    machine.spawn("caller", 1, MS, List::new(vec![with]));
    assert!(machine.run_tasks(20_000 * MS), "a task waits for ever");
    assert_eq!(machine.too_early(), 0);
    machine.stats().calls[0].end
}

#[test]
fn a_waiter_waits_for_the_section_and_little_more() {
    let options = Options::kernel_6_12(4, 1000);
    for (kind, slack) in [(Op::Synchronize, 12 * MS), (Op::SynchronizeExpedited, MS)] {
        for long in [20, 200, 500] {
            let end = returns(&options, reads_for(long * MS), kind.clone(), vec![]);
            // Ticks take a share of the CPU: the section lasts a little longer.
            let section = long * MS..long * MS + slack + long * MS / 100;
            assert!(section.contains(&end), "{kind:?}: {end} after {long} ms");
        }
    }
}

#[test]
fn a_preempted_reader_is_waited_for_although_its_cpu_idles() {
    // It sleeps in its section: its CPU has nothing to do, and is seen idle by every scan.
    let sleeps = |until| List::new(vec![Op::Lock, Op::SleepUntil(until), Op::Unlock]);
    let options = Options::kernel_6_12(4, 1000);
    for (kind, slack) in [(Op::Synchronize, 12 * MS), (Op::SynchronizeExpedited, MS)] {
        let end = returns(&options, sleeps(60 * MS), kind.clone(), vec![]);
        assert!((60 * MS..60 * MS + slack).contains(&end), "{kind:?}: {end}");
    }
}

#[test]
fn a_reader_that_loses_its_cpu_to_another_task_is_waited_for() {
    // The other one takes the CPU in the middle of the section, and keeps it.
    let hog = || vec![(2, 5 * MS, List::new(vec![Op::Compute(40 * MS)]))];
    let options = Options::kernel_6_12(4, 1000);
    for kind in [Op::Synchronize, Op::SynchronizeExpedited] {
        let end = returns(&options, reads_for(10 * MS), kind.clone(), hog());
        assert!(end > 10 * MS, "{kind:?}: {end}");
        let mut machine = Machine::new(options.clone());
        machine.spawn("reader", 2, 0, reads_for(10 * MS));
        machine.spawn("other", 2, 5 * MS, List::new(vec![Op::Compute(40 * MS)]));
        assert!(machine.run_tasks(3_000 * MS));
        assert!(machine.counts()["preempted_readers"] >= 1, "it was");
    }
}

#[test]
fn short_sections_delay_no_grace_period() {
    let mut machine = Machine::new(Options::kernel_6_12(4, 1000));
    let ops: Vec<Op> = (0..10_000)
        .flat_map(|_| [Op::Lock, Op::Compute(5_000), Op::Unlock, Op::Compute(5_000)])
        .collect();
    machine.spawn("reader", 2, 0, List::new(ops));
    machine.spawn("caller", 1, MS, Steps::caller(5, 0));
    assert!(machine.run_tasks(200 * MS));
    let stats = machine.stats();
    assert!(stats.calls.iter().all(|it| it.end - it.start < 16 * MS));
    assert_eq!(stats.calls.len(), 5);
}

#[test]
fn a_holdout_is_asked_to_hurry_and_then_its_cpu_is_free() {
    // No other task wants the CPU. A tick after 100 ms makes it reschedule, which queues the reader; the end
    // of the section is then known at once, and not only to the next scan.
    let options = Options {
        first_fqs: Some(50),
        next_fqs: Some(50),
        wake_from_gp: true,
        ..Options::kernel_6_12(4, 1000)
    };
    let ends = |long: u64| {
        let end = returns(&options, reads_for(long * MS), Op::Synchronize, vec![]);
        end - long * MS
    };
    assert!(ends(20) > 20 * MS, "the first scan after it: {}", ends(20));
    for long in [310, 330, 12_010] {
        assert!(ends(long) < MS + long * MS / 100, "{}", ends(long));
    }
}
