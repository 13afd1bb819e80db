//! Kernel versions: what each of their mechanisms does to a machine.

use crate::common::{List, MS};
use quiescent_sim::{Machine, Op, Options, Queued, Smp, Stats, Steps, settings};

fn options(cpus: u32, sets: &[(&str, &str)]) -> Options {
    let mut options = Options::kernel_6_12(cpus, 1000);
    settings::apply(&mut options, sets).expect("a machine");
    options
}

/// Ticks that a call takes on an idle machine, caller and grace-period thread on different CPUs.
fn ticks(kernel: &str, cpus: u32) -> f64 {
    let options = options(cpus, &[("kernel", kernel)]);
    let mut machine = Machine::new(options.clone());
    machine.spawn("caller", 1, 500_000, Steps::caller(50, 0));
    assert!(machine.run_tasks(10_000 * MS), "the caller waits for ever");
    let stats = machine.stats();
    let later = &stats.calls[1..];
    let total: u64 = later.iter().map(|call| call.end - call.start).sum();
    total as f64 / later.len() as f64 / options.jiffy_ns() as f64
}

#[test]
fn a_call_takes_the_waits_of_the_version_s_mechanisms() {
    // Waits of 3 + 1 ticks, and two more where a callback wakes the caller.
    for (kernel, small, large) in [
        ("6.1", 4.0 + 2.0, 4.0 + 2.0), // the thread's CPU takes its timer in its own tick
        ("6.12", 8.0 + 2.0, 8.0 + 2.0), // the caller's CPU takes it: two waits
        ("6.17", 4.0, 8.0 + 2.0),      // no callback up to 16 CPUs
        ("7.0", 4.0, 4.0 + 2.0),       // the thread's CPU is reported early: one wait
        ("7.2", 4.0, 4.0),             // no callback on any machine
    ] {
        for (cpus, expected) in [(8, small), (32, large)] {
            let ticks = ticks(kernel, cpus);
            assert!(
                (ticks - expected).abs() < 0.05,
                "{kernel}, {cpus} CPUs: {ticks}"
            );
        }
    }
}

/// So many callers at once, each with so many calls, on a machine of this latch.
fn many_at_once(callers: u32, calls: usize, latch: &str) -> (Machine, Stats) {
    let sets = [("kernel", "7.2"), ("wake_from_gp_latch", latch)];
    let mut machine = Machine::new(options(8, &sets));
    for caller in 0..callers {
        let calls = vec![Op::Synchronize; calls];
        machine.spawn("caller", caller % 8, MS, List::new(calls));
    }
    assert!(machine.run_tasks(1_000 * MS), "a task waits for ever");
    let stats = machine.stats();
    assert_eq!(stats.calls.len(), calls * callers as usize);
    machine.run(1_500 * MS);
    assert_eq!((machine.too_early(), machine.owed()), (0, 0));
    assert!(machine.is_quiet(), "{:?}", machine.pending());
    (machine, stats)
}

fn callbacks(stats: &Stats) -> u64 {
    stats.funcs.iter().map(|it| it.queued).sum()
}

#[test]
fn the_caller_after_the_64th_waits_for_a_callback_and_a_later_one_does_not() {
    for (callers, sent_away) in [(64, 0), (65, 1), (90, 26)] {
        let (mut machine, stats) = many_at_once(callers, 1, "64");
        assert_eq!(
            (machine.counts()["latched"], callbacks(&stats)),
            (sent_away, sent_away)
        );
        let late = vec![Op::Synchronize; 10];
        machine.spawn("late", 1, 2_000 * MS, List::new(late));
        assert!(machine.run_tasks(3_000 * MS), "it waits for ever");
        assert_eq!(
            machine.counts()["latched"],
            sent_away,
            "all had been woken before"
        );
    }
}

#[test]
fn a_flood_that_goes_on_is_sent_away_until_none_is_left() {
    for (latch, sent_away) in [("none", 0..=0), ("100000", 0..=0), ("64", 200..=1000)] {
        let (machine, stats) = many_at_once(200, 5, latch);
        assert!(
            sent_away.contains(&machine.counts()["latched"]),
            "{latch}: {}",
            machine.counts()["latched"]
        );
        assert_eq!(machine.counts()["latched"], callbacks(&stats));
    }
}

#[test]
fn only_kernels_before_7_0_wake_rcuog_for_a_flood() {
    let defers = |kernel: &str| {
        let sets = [("kernel", kernel), ("rcu", "offload"), ("smp", "parallel")];
        let options = options(4, &sets);
        assert_eq!(options.smp, Smp::Parallel);
        let mut machine = Machine::new(options);
        machine.func("callback");
        machine.keep_trace();
        let call = Op::Call(Queued::of(0).lazy(false));
        machine.spawn("floods", 1, MS, List::new(vec![call; 40_000]));
        assert!(machine.run_tasks(1_000 * MS));
        machine.run(2_000 * MS);
        assert_eq!((machine.owed(), machine.too_early()), (0, 0));
        let mut trace = Vec::new();
        machine.write_trace(&mut trace).expect("memory");
        String::from_utf8(trace)
            .expect("text")
            .matches("WakeOvfIsDeferred")
            .count()
    };
    assert!(defers("6.17") > 0);
    assert_eq!(defers("7.0"), 0);
}
