//! Stalls in the test host, line by line: when a report is due, and which CPU or driver makes it.

use quiescent_harness::host::{Doing, TestHost};
use quiescent_kernel::exp::ExpNext;
use quiescent_kernel::stall::Stall;
use quiescent_kernel::urgency::Escalation;
use quiescent_kernel::{Config, CpuId, EarlyQs, Phase};

const HZ: u32 = 1000;
const TIMEOUT: u64 = 40;
/// Three times the timeout, and three ticks.
const REPEAT: u64 = 123;

/// Four CPUs with a short timeout, the second in a section that a grace period waits for. Returns also the
/// tick at which that grace period started.
fn stalled_kernel() -> (TestHost, u64) {
    let escalation = Some(Escalation {
        stall: TIMEOUT,
        exp_stall: 200,
        ..Escalation::kernel_6_12(HZ)
    });
    let config = Config {
        early_qs: EarlyQs::Init,
        escalation,
        ..Config::kernel_6_12(4, HZ)
    };
    let mut host = TestHost::kernel_with(4, config);
    let first = host.wait_for_gp(0);
    host.drive(first, 1000);
    assert!(host.run_until(Phase::Idle, 100));
    host.pass_jiffies(5);
    host.enter(1);
    let started = host.now().jiffies;
    let _ = host.wait_for_gp(0);
    assert!(host.run_until(Phase::Wait, 50));
    (host, started)
}

/// The stall report of a tick on `cpu` at that time, if it makes one.
fn tick(host: &mut TestHost, cpu: CpuId, jiffies: u64) -> Option<Stall> {
    let mut at = host.at(cpu);
    at.now.jiffies = jiffies;
    host.tick_at(cpu, at).stall
}

#[test]
fn the_default_timeouts_are_21_seconds() {
    let escalation = Escalation::kernel_6_12(250);
    assert_eq!((escalation.stall, escalation.exp_stall), (5250, 5250));
}

#[test]
fn the_culprit_reports_at_once_and_others_two_ticks_later() {
    let (mut host, start) = stalled_kernel();
    let due = start + TIMEOUT;
    assert_eq!(tick(&mut host, 1, due - 1), None);
    assert_eq!(tick(&mut host, 0, due + 1), None, "patience");
    assert_eq!(tick(&mut host, 1, due + 1), Some(Stall::Own));
    let (mut host, start) = stalled_kernel();
    assert_eq!(tick(&mut host, 0, start + TIMEOUT + 1), None);
    assert_eq!(tick(&mut host, 0, start + TIMEOUT + 2), Some(Stall::Others));
    let trace = host.take_trace().join("\n");
    assert!(
        trace.contains("rcu_stall_warning: rcu_preempt StallDetected"),
        "{trace}"
    );
}

#[test]
fn one_reports_for_all_and_again_after_three_times_the_timeout_and_three_ticks() {
    let (mut host, start) = stalled_kernel();
    let mut reports = Vec::new();
    for age in 0..500 {
        for cpu in 0..4 {
            if let Some(stall) = tick(&mut host, cpu, start + age) {
                reports.push((age, cpu, stall));
            }
        }
    }
    let own = |age| (age, 1, Stall::Own);
    assert_eq!(
        reports,
        [TIMEOUT, TIMEOUT + REPEAT, TIMEOUT + 2 * REPEAT, 409].map(own)
    );
    assert_eq!(host.engine().counts().stalls, 4);
}

#[test]
fn the_next_grace_period_has_its_own_time() {
    let (mut host, start) = stalled_kernel();
    assert_eq!(tick(&mut host, 1, start + TIMEOUT), Some(Stall::Own));
    host.exit(1);
    host.pass_jiffies(start + 100 - host.now().jiffies);
    assert!(host.run_until(Phase::Idle, 200));
    assert_eq!(tick(&mut host, 1, start + 1000), None, "none is in flight");
    host.enter(1);
    let start = host.now().jiffies;
    let _ = host.wait_for_gp(0);
    assert!(host.run_until(Phase::Wait, 50));
    assert_eq!(tick(&mut host, 1, start + TIMEOUT - 1), None);
    assert_eq!(tick(&mut host, 1, start + TIMEOUT), Some(Stall::Own));
}

#[test]
fn after_a_reset_three_scans_and_the_timeout_pass_before_a_report() {
    let (mut host, start) = stalled_kernel();
    host.engine_mut().reset_stalls();
    for scans in 0..3 {
        assert_eq!(
            tick(&mut host, 1, start + 100_000),
            None,
            "{scans} scans: suppressed at any age"
        );
        let before = host.engine().counts().scans;
        while host.engine().counts().scans == before {
            let _ = host.step();
        }
    }
    let from = host.now().jiffies;
    assert_eq!(tick(&mut host, 1, from + TIMEOUT - 1), None);
    assert_eq!(tick(&mut host, 1, from + TIMEOUT), Some(Stall::Own));
}

#[test]
fn the_timeout_can_be_set_from_3_to_300_seconds() {
    let (mut host, start) = stalled_kernel();
    for (seconds, ticks) in [(0, 3000), (7, 7000), (301, 300_000)] {
        assert!(host.engine_mut().set_stall_timeout(seconds));
        let age = host.engine().age(host.now()).expect("one is in flight");
        assert_eq!(age.until_stall + age.ticks, ticks);
    }
    assert_eq!(tick(&mut host, 1, start + 299_999), None);
    assert_eq!(tick(&mut host, 1, start + 300_000), Some(Stall::Own));
}

#[test]
fn a_grace_period_that_is_asked_for_and_does_not_start_is_reported() {
    let (mut host, _) = stalled_kernel();
    host.exit(1);
    assert!(host.run_until(Phase::Idle, 200));
    let start = host.now().jiffies;
    let ages = |host: &mut TestHost| {
        let mut ages = Vec::new();
        for age in 0..200 {
            for cpu in 0..2 {
                let mut at = host.at(cpu);
                at.now.jiffies = start + age;
                if host.tick_at(cpu, at).start_stall {
                    ages.push(age);
                }
            }
        }
        ages
    };
    assert_eq!(ages(&mut host), [], "no grace period is requested");
    let _ = host.wait_for_gp(0); // and the grace-period thread does not run
    assert_eq!(ages(&mut host), [TIMEOUT, TIMEOUT + REPEAT]);
    assert!(host.run_until(Phase::Wait, 50) || host.engine().phase() == Phase::Idle);
    assert_eq!(ages(&mut host), [], "it has started");
}

#[test]
fn the_driver_of_an_expedited_one_sleeps_until_its_own_timeout_and_reports() {
    let (mut host, _) = stalled_kernel();
    let caller = host.expedite(0);
    assert!(!host.exp_drive(caller, 100), "CPU 1 is in its section");
    assert_eq!(host.exp_stalls(), 0);
    let doing = host.exp_doing(caller);
    assert_eq!(doing, Doing::Drives(ExpNext::Sleep(Some(199))));
    host.take_trace();
    assert_eq!(host.exp_sleep_out(caller), 199);
    assert_eq!(host.exp_stalls(), 1);
    assert_eq!(
        host.take_trace(),
        ["rcu_stall_warning: rcu_preempt ExpeditedStall"]
    );
    assert_eq!(host.engine().exp_holdouts().collect::<Vec<_>>(), [1]);
    assert_eq!(host.exp_sleep_out(caller), 603);
    assert_eq!(host.exp_stalls(), 2);
    host.exit(1);
    assert!(host.exp_drive(caller, 100));
    assert_eq!(host.exp_stalls(), 2);
}
