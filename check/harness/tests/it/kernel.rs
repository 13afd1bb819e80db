//! A kernel's grace period in the test host: scans, waits, the early report, hotplug, the trace.

use quiescent_harness::host::TestHost;
use quiescent_kernel::geometry::GeometryParams;
use quiescent_kernel::{Config, EarlyQs, Next, Phase};

const HZ: u32 = 1000;
/// The first and the later waits at 1000 ticks a second.
const WAIT: u64 = 3;

/// Drives one grace period; returns the number of scans and of ticks.
fn one_gp(host: &mut TestHost) -> (u64, u64) {
    let (scans, start) = (host.engine().counts().scans, host.now().jiffies);
    let ticket = host.wait_for_gp(0);
    host.drive(ticket, 1000);
    assert!(host.satisfied(ticket), "{:?}", host.engine().phase());
    (
        host.engine().counts().scans - scans,
        host.now().jiffies - start,
    )
}

#[test]
fn an_idle_machine_needs_two_waits_without_the_early_report_and_one_with() {
    for (early_qs, scans) in [(EarlyQs::Off, 2), (EarlyQs::Scan, 1), (EarlyQs::Init, 1)] {
        let mut host = TestHost::kernel(8, HZ, early_qs);
        assert_eq!(one_gp(&mut host), (scans, scans * WAIT), "{early_qs:?}");
        assert_eq!(
            one_gp(&mut host),
            (scans, scans * WAIT),
            "{early_qs:?}, again"
        );
    }
}

#[test]
fn a_tick_on_the_scanning_cpu_saves_the_second_wait() {
    let mut host = TestHost::kernel(8, HZ, EarlyQs::Off);
    host.set_ticking(0, true);
    assert_eq!(one_gp(&mut host), (1, WAIT));
}

#[test]
fn a_single_cpu_with_init_does_not_wait_at_all() {
    for (early_qs, want) in [
        (EarlyQs::Off, (2, 2 * WAIT)),
        (EarlyQs::Scan, (1, WAIT)),
        (EarlyQs::Init, (0, 0)),
    ] {
        let mut host = TestHost::kernel(1, HZ, early_qs);
        assert_eq!(one_gp(&mut host), want, "{early_qs:?}");
    }
}

#[test]
fn the_early_report_is_the_cpu_the_thread_runs_on() {
    let mut host = TestHost::kernel(4, HZ, EarlyQs::Init);
    host.kthread_on(2);
    let ticket = host.wait_for_gp(0);
    host.drive(ticket, 1);
    assert!(host.run_until(Phase::Wait, 50));
    assert_eq!(host.engine().holdouts().collect::<Vec<_>>(), [0, 1, 3]);
}

#[test]
fn a_stray_wake_keeps_the_deadline() {
    let mut host = TestHost::kernel(2, HZ, EarlyQs::Off);
    let ticket = host.wait_for_gp(0);
    host.drive(ticket, 1);
    assert!(host.run_until(Phase::Wait, 50));
    assert_eq!(host.asked(), Some(Next::Sleep(WAIT)));
    host.pass_tick();
    let scans = host.engine().counts().scans;
    host.stray_wake();
    assert_eq!(
        host.step(),
        Next::Sleep(WAIT - 1),
        "what is left of the wait"
    );
    assert_eq!(host.engine().counts().scans, scans);
    let _ = host.step();
    assert_eq!(host.engine().phase(), Phase::Scan(0));
    assert_eq!(host.now().jiffies, WAIT);
}

#[test]
fn no_first_wait_at_all_if_so_configured() {
    let config = Config {
        first_fqs: 0,
        next_fqs: 7,
        ..Config::kernel_6_12(2, HZ)
    };
    let mut host = TestHost::kernel_with(2, config);
    assert_eq!(
        one_gp(&mut host),
        (2, 7),
        "the second wait has its own length"
    );
    host.kthread_on(1);
    host.enter(0);
    let ticket = host.wait_for_gp(1);
    host.drive(ticket, 200);
    assert!(!host.satisfied(ticket) && host.now().jiffies > 7);
    host.exit(0);
    host.drive(ticket, 50);
    assert!(host.satisfied(ticket));
}

#[test]
fn a_later_wait_of_zero_ticks_is_one() {
    let config = Config {
        first_fqs: 2,
        next_fqs: 0,
        ..Config::kernel_6_12(1, HZ)
    };
    let mut host = TestHost::kernel_with(1, config);
    assert_eq!(one_gp(&mut host), (2, 3));
}

/// The order and the words of a kernel's trace, as in recorded traces. Missing are the records of the CPUs
/// themselves (cpustart, cpuend).
#[test]
fn the_trace_of_one_grace_period_reads_like_the_kernels() {
    let mut host = TestHost::kernel(2, HZ, EarlyQs::Off);
    one_gp(&mut host);
    assert_eq!(host.step(), Next::Done);
    host.take_trace();
    one_gp(&mut host);
    let _ = host.step();
    let want = "\
rcu_sr_normal: rcu_preempt rhp=0x0000000000000001 event=request
rcu_future_grace_period: rcu_preempt -1196 -1192 0 0 1 Startleaf
rcu_future_grace_period: rcu_preempt -1196 -1192 0 0 1 Startedroot
rcu_grace_period: rcu_preempt -1196 newreq
rcu_grace_period: rcu_preempt -1195 start
rcu_grace_period_init: rcu_preempt -1195 0 0 1 3
rcu_grace_period: rcu_preempt -1195 fqswait
rcu_grace_period: rcu_preempt -1195 fqsstart
rcu_fqs: rcu_preempt -1195 1 dti
rcu_quiescent_state_report: rcu_preempt -1195 2>1 0 0 1 0
rcu_grace_period: rcu_preempt -1195 fqsend
rcu_grace_period: rcu_preempt -1195 fqswait
rcu_grace_period: rcu_preempt -1195 fqsstart
rcu_fqs: rcu_preempt -1195 0 dti
rcu_quiescent_state_report: rcu_preempt -1195 1>0 0 0 1 0
rcu_grace_period: rcu_preempt -1195 fqsend
rcu_grace_period: rcu_preempt -1195 fqswait
rcu_future_grace_period: rcu_preempt -1192 -1192 0 0 1 Cleanup
rcu_grace_period: rcu_preempt -1195 end
rcu_sr_normal: rcu_preempt rhp=0x0000000000000002 event=complete
rcu_grace_period: rcu_preempt -1192 reqwait";
    assert_eq!(host.take_trace().join("\n"), want);
}

#[test]
fn the_early_report_comes_after_initialisation_and_before_the_wait() {
    let mut host = TestHost::kernel(2, HZ, EarlyQs::Init);
    one_gp(&mut host);
    host.take_trace();
    one_gp(&mut host);
    let trace = host.take_trace();
    let at = |text: &str| {
        trace
            .iter()
            .position(|line| line.contains(text))
            .expect(text)
    };
    let report = at("rcu_quiescent_state_report: rcu_preempt -1195 1>2 0 0 1 0");
    assert!(
        at("rcu_grace_period_init") < report && report < at("fqswait"),
        "{trace:#?}"
    );
}

#[test]
fn a_newer_reader_does_not_hold_a_grace_period_and_an_older_one_does() {
    let mut host = TestHost::kernel(4, HZ, EarlyQs::Init);
    host.enter(1);
    let ticket = host.wait_for_gp(0);
    host.drive(ticket, 1);
    assert!(host.run_until(Phase::Wait, 50));
    host.enter(2);
    host.drive(ticket, 200);
    assert_eq!(
        host.engine().holdouts().collect::<Vec<_>>(),
        [1, 2],
        "2 was awake at the snapshot"
    );
    host.exit(1);
    host.exit(2);
    host.enter(2);
    host.drive(ticket, 200);
    assert!(host.satisfied(ticket), "the CPU's counter has changed");
}

#[test]
fn a_report_noted_under_an_older_grace_period_does_not_count() {
    let mut host = TestHost::kernel(2, HZ, EarlyQs::Init);
    let first = host.wait_for_gp(0);
    host.drive(first, 1);
    assert!(host.run_until(Phase::Wait, 50));
    host.set_ticking(1, true); // awake: no scan finds it idle
    host.note(1);
    host.set_ticking(1, false);
    host.drive(first, 200);
    assert!(host.satisfied(first));
    host.enter(1);
    let second = host.wait_for_gp(0);
    host.drive(second, 100);
    host.report(1);
    assert_eq!(host.engine().holdouts().collect::<Vec<_>>(), [1]);
    host.exit(1);
    host.drive(second, 100);
    assert!(host.satisfied(second));
}

#[test]
fn the_last_report_ends_the_wait_at_once() {
    let mut host = TestHost::kernel(2, HZ, EarlyQs::Init);
    let ticket = host.wait_for_gp(0);
    host.drive(ticket, 1);
    assert!(host.run_until(Phase::Wait, 50));
    host.enter(1);
    host.exit(1);
    host.note(1); // idle again: noted all the same
    host.report(1);
    let scans = host.engine().counts().scans;
    assert_eq!(host.step(), Next::Again);
    assert_eq!(
        (host.engine().phase(), host.engine().counts().scans),
        (Phase::Cleanup(0), scans)
    );
    assert_eq!(host.now().jiffies, 0, "no need to wait for the timer");
}

fn small(fanout: u32, cpus: u32) -> Config {
    let geometry = GeometryParams {
        leaf_fanout: fanout,
        inner_fanout: fanout,
        exact: false,
    };
    Config {
        geometry,
        ..Config::kernel_6_12(cpus, HZ)
    }
}

#[test]
fn a_holdout_anywhere_in_two_three_and_four_levels_is_waited_for() {
    for (cpus, levels) in [(4, 2), (8, 3), (13, 4), (16, 4)] {
        for holdout in 0..cpus {
            let mut host = TestHost::kernel_with(cpus, small(2, cpus));
            let kthread = (holdout + 1) % cpus;
            host.kthread_on(kthread);
            host.enter(holdout);
            let ticket = host.wait_for_gp(kthread);
            host.drive(ticket, 400);
            let tree = host.engine().tree().expect("a grace period is in flight");
            assert_eq!(tree.geometry().levels(), levels);
            let found: Vec<u32> = host.engine().holdouts().collect();
            assert_eq!(found, [holdout], "{cpus} CPUs");
            host.exit(holdout);
            host.drive(ticket, 400);
            assert!(
                host.satisfied(ticket),
                "{cpus} CPUs, {holdout} was the holdout"
            );
        }
    }
}

#[test]
fn an_empty_leaf_leaves_the_tree_and_comes_back() {
    let mut host = TestHost::kernel_with(8, small(2, 8));
    one_gp(&mut host);
    for cpu in [4, 5, 6, 7] {
        host.unregister(cpu);
    }
    host.take_trace();
    one_gp(&mut host);
    let init = |host: &mut TestHost| -> Vec<String> {
        let lines = host.take_trace().into_iter();
        let lines = lines.filter(|line| line.starts_with("rcu_grace_period_init"));
        lines
            .map(|line| {
                line.split_whitespace()
                    .skip(3)
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect()
    };
    // Level, first and last CPU, mask: the root has lost its second child.
    let halved = [
        "0 0 7 1", "1 0 3 3", "1 4 7 0", "2 0 1 3", "2 2 3 3", "2 4 5 0", "2 6 7 0",
    ];
    assert_eq!(init(&mut host), halved);
    assert_eq!(host.register(), 4);
    one_gp(&mut host);
    let back = [
        "0 0 7 3", "1 0 3 3", "1 4 7 1", "2 0 1 3", "2 2 3 3", "2 4 5 1", "2 6 7 0",
    ];
    assert_eq!(init(&mut host), back);
}

#[test]
fn a_cpu_that_leaves_in_any_phase_is_not_waited_for() {
    let phases = [
        Phase::Fence,
        Phase::Hotplug(0),
        Phase::Hotplug(1),
        Phase::Init(0),
        Phase::Init(1),
        Phase::Init(2),
        Phase::Wait,
        Phase::Scan(0),
        Phase::Scan(1),
    ];
    for phase in phases {
        let mut host = TestHost::kernel_with(4, small(2, 4));
        let first = host.wait_for_gp(0);
        host.drive(first, 1000);
        let ticket = host.wait_for_gp(0);
        assert!(host.run_until(phase, 100), "{phase:?}");
        host.unregister(3); // it dies awake: no scan will ever find it idle
        host.drive(ticket, 1000);
        assert!(host.satisfied(ticket), "CPU 3 left in {phase:?}");
        assert_eq!(host.engine().counts().offline_holdouts, 0);
    }
}

#[test]
fn a_cpu_that_leaves_without_a_word_is_complained_about_and_credited() {
    let mut host = TestHost::kernel(2, HZ, EarlyQs::Init);
    host.set_ticking(1, true);
    let ticket = host.wait_for_gp(0);
    host.drive(ticket, 1);
    assert!(host.run_until(Phase::Wait, 50));
    host.vanish(1);
    host.drive(ticket, 200);
    assert!(host.satisfied(ticket));
    assert_eq!(host.engine().counts().offline_holdouts, 1);
}

#[test]
fn every_node_is_visited() {
    let mut host = TestHost::kernel(100, 1000, EarlyQs::Off);
    // Only CPU 0 is left, and each node is still set up, scanned and ended.
    let ticket = host.wait_for_gp(0);
    host.drive(ticket, 10_000);
    for cpu in 1..100 {
        host.unregister(cpu);
    }
    let before = host.engine().counts();
    host.take_trace();
    let ticket = host.wait_for_gp(0);
    host.drive(ticket, 10_000);
    assert!(host.satisfied(ticket));
    let tree = host.engine().tree().expect("it has one").geometry().clone();
    let trace = host.take_trace();
    let set_up = trace
        .iter()
        .filter(|line| line.starts_with("rcu_grace_period_init"));
    assert_eq!(set_up.count(), tree.nodes());
    let after = host.engine().counts();
    let scans = after.scans - before.scans;
    let leaves = after.leaves_scanned - before.leaves_scanned;
    assert_eq!(leaves, scans * tree.leaves() as u64);
    assert!(scans > 0);
}
