//! Reports of quiescent states by CPUs themselves, in the test host.

use quiescent_harness::host::TestHost;
use quiescent_kernel::geometry::GeometryParams;
use quiescent_kernel::report::Qs;
use quiescent_kernel::{Config, CpuId, EarlyQs, Phase, Pos};

fn config() -> Config {
    Config {
        early_qs: EarlyQs::Init,
        ..Config::kernel_6_12(4, 1000)
    }
}

/// A machine with CPUs 1 to 3 busy, and a grace period that waits for them.
fn busy(config: Config) -> (TestHost, Pos) {
    let mut host = TestHost::kernel_with(4, config);
    let first = host.wait_for_gp(0);
    host.drive(first, 1000);
    (1..4).for_each(|cpu| host.set_busy(cpu, true));
    let ticket = next_gp(&mut host);
    (host, ticket)
}

/// Starts a grace period, up to its first wait.
fn next_gp(host: &mut TestHost) -> Pos {
    let ticket = host.wait_for_gp(0);
    assert!(host.run_until(Phase::Fence, 100) && host.run_until(Phase::Wait, 50));
    ticket
}

fn holdouts(host: &TestHost) -> Vec<CpuId> {
    host.engine().holdouts().collect()
}

fn qs(host: &TestHost, cpu: CpuId) -> Qs {
    host.cpu(cpu).expect("it has looked").qs()
}

/// The trace of a CPU: the last words of its events.
fn words(host: &mut TestHost) -> Vec<String> {
    let trace = host.take_trace();
    let last = |line: &String| line.split(' ').next_back().unwrap_or_default().to_string();
    trace.iter().map(last).collect()
}

#[test]
fn a_cpu_notices_notes_and_reports() {
    let (mut host, _) = busy(config());
    host.take_trace();
    assert!(
        !host.core(1).reported,
        "the start was noticed, and nothing is noted yet"
    );
    let owes = Qs {
        needed: true,
        missing: true,
        ticks: 0,
    };
    assert_eq!(qs(&host, 1), owes);
    assert!(host.note_qs(1));
    assert!(!host.note_qs(1), "it is noted");
    assert_eq!(holdouts(&host), [1, 2, 3], "noting is not reporting");
    assert!(qs(&host, 1).noted());
    assert!(host.core(1).reported);
    assert_eq!((holdouts(&host), qs(&host, 1)), (vec![2, 3], Qs::new()));
    assert!(!host.core(1).reported, "once");
    let lines = host.take_trace();
    let lines: Vec<_> = lines
        .iter()
        .filter(|line| !line.starts_with("rcu_utilization"))
        .collect();
    assert_eq!(
        lines,
        [
            "rcu_grace_period: rcu_preempt -1195 cpuend",
            "rcu_grace_period: rcu_preempt -1195 cpustart",
            "rcu_grace_period: rcu_preempt -1195 cpuqs",
            "rcu_quiescent_state_report: rcu_preempt -1195 2>c 0 0 3 0",
        ]
    );
}

#[test]
fn the_last_report_wakes_the_thread_and_no_scan_is_needed() {
    let (mut host, ticket) = busy(config());
    for cpu in [3, 1, 2] {
        let _ = host.core(cpu);
        host.note_qs(cpu);
        let report = host.check_qs(cpu);
        assert_eq!((report.counted, report.wake_gp), (true, cpu == 2));
    }
    let (scans, start) = (host.engine().counts().scans, host.now().jiffies);
    host.drive(ticket, 50);
    assert!(host.satisfied(ticket));
    let after = (host.engine().counts().scans, host.now().jiffies);
    assert_eq!(after, (scans, start), "without waiting for the timer");
}

#[test]
fn a_state_noted_under_an_older_grace_period_is_refused_and_noted_again() {
    let (mut host, first) = busy(config());
    let _ = host.core(1);
    host.note_qs(1);
    // Before the CPU reports, it idles, and a scan credits it. The next grace period finds it busy.
    (1..4).for_each(|cpu| host.set_busy(cpu, false));
    host.drive(first, 100);
    assert!(host.satisfied(first));
    host.set_busy(1, true);
    let second = next_gp(&mut host);
    assert!(qs(&host, 1).noted(), "in the CPU's own state");
    assert!(!host.report_qs(1).counted);
    assert!(holdouts(&host).contains(&1) && qs(&host, 1).missing);
    // It notices the new grace period, and starts again.
    assert!(!host.core(1).reported && qs(&host, 1).missing);
    host.note_qs(1);
    assert!(host.core(1).reported);
    host.drive(second, 100);
    assert!(host.satisfied(second));
}

#[test]
fn the_notice_of_an_edge_takes_back_what_was_noted() {
    let (mut host, first) = busy(config());
    let _ = host.core(1);
    host.note_qs(1);
    (1..4).for_each(|cpu| host.set_busy(cpu, false));
    host.drive(first, 100);
    // An end alone: nothing is owed any more.
    let ended = host.on(1, |cpu, global, host| cpu.note_gp_changes(global, host));
    assert!(ended.ended && !ended.began && !qs(&host, 1).needed);
    host.set_busy(1, true);
    next_gp(&mut host);
    let began = host.core(1);
    assert!(began.began && !began.reported);
    assert!(qs(&host, 1).missing, "noted before it began");
}

#[test]
fn without_a_note_or_with_the_bit_gone_nothing_is_reported() {
    let (mut host, _) = busy(config());
    let _ = host.core(1);
    assert!(!host.report_qs(1).counted);
    assert!(holdouts(&host).contains(&1));
    // A scan is faster than the report.
    host.note_qs(1);
    host.set_busy(1, false);
    assert!(host.run_until(Phase::Scan(0), 50) && host.run_until(Phase::Wait, 5));
    assert_eq!(holdouts(&host), [2, 3]);
    host.take_trace();
    assert!(!host.check_qs(1).counted);
    assert!(!qs(&host, 1).needed, "and it does not try again");
    assert!(words(&mut host).is_empty());
}

#[test]
fn callbacks_are_stamped_before_the_report_unless_they_are_offloaded() {
    for offloaded in [false, true] {
        let (mut host, _) = busy(config());
        host.set_offloaded(1, offloaded);
        let _ = host.core(1);
        let _ = host.call(1);
        host.note_qs(1);
        host.take_trace();
        assert!(host.core(1).reported);
        let words = words(&mut host);
        let at = |word| words.iter().position(|w| w == word);
        let report = at("0").expect("of rcu_quiescent_state_report");
        let stamped = at("AccWaitCB");
        assert_eq!(
            stamped.is_some_and(|at| at < report),
            !offloaded,
            "{words:?}"
        );
        let list = &host.cpu(1).expect("it has looked").list();
        let next = host.engine().published().global.snap();
        assert_eq!(list.next_gp(), (!offloaded).then_some(next));
    }
}

#[test]
fn a_report_carries_through_every_level_when_it_is_the_last() {
    let geometry = GeometryParams {
        leaf_fanout: 2,
        inner_fanout: 2,
        exact: false,
    };
    let config = Config {
        geometry,
        ..Config::kernel_6_12(8, 1000)
    };
    let mut host = TestHost::kernel_with(8, config);
    let first = host.wait_for_gp(0);
    host.drive(first, 1000);
    (0..8).for_each(|cpu| host.set_busy(cpu, true));
    let ticket = next_gp(&mut host);
    host.take_trace();
    let mut walks = Vec::new();
    for cpu in 0..8 {
        let _ = host.core(cpu);
        host.note_qs(cpu);
        assert!(host.core(cpu).reported);
        let lines = host.take_trace();
        let walk = lines.iter().filter(|l| l.starts_with("rcu_quiescent"));
        walks.push(walk.count());
    }
    assert_eq!(
        walks,
        [1, 2, 1, 3, 1, 2, 1, 3],
        "levels that each report walked"
    );
    host.drive(ticket, 50);
    assert!(host.satisfied(ticket));
}

#[test]
fn a_cpu_that_comes_online_knows_its_leaf_and_owes_nothing() {
    // Back in the same grace period, with a note from before its departure.
    let (mut host, first) = busy(config());
    let _ = host.core(3);
    host.note_qs(3);
    host.set_busy(3, false);
    host.unregister(3);
    assert_eq!(host.register(), 3);
    host.came_online(3);
    assert_eq!((holdouts(&host), qs(&host, 3)), (vec![1, 2], Qs::new()));
    assert!(!host.report_qs(3).counted);
    // Back in a later one.
    host.unregister(3);
    (1..3).for_each(|cpu| host.set_busy(cpu, false));
    host.drive(first, 100);
    next_gp(&mut host);
    assert_eq!(host.register(), 3);
    host.take_trace();
    host.came_online(3);
    assert_eq!(words(&mut host), ["cpuonl"]);
    let noticed = host.core(3);
    assert!(!noticed.began && !noticed.ended, "nothing new");
}

#[test]
fn ticks_are_counted_from_the_notice_of_a_grace_period() {
    let (mut host, first) = busy(config());
    let _ = host.core(1);
    for ticks in 1..=3 {
        let _ = host.tick(1);
        assert_eq!(qs(&host, 1).ticks, ticks);
    }
    (1..4).for_each(|cpu| host.set_busy(cpu, false));
    host.drive(first, 100);
    next_gp(&mut host);
    let _ = host.tick(1);
    assert_eq!(qs(&host, 1).ticks, 4, "not noticed yet");
    let _ = host.core(1);
    assert_eq!(qs(&host, 1).ticks, 0);
}

#[test]
fn a_tick_in_the_kernel_notes_and_the_soft_interrupt_reports() {
    let (mut host, ticket) = busy(config());
    for cpu in 1..4 {
        assert!(
            host.tick(cpu).core.is_some(),
            "it has not noticed the start"
        );
        let _ = host.core(cpu);
        assert!(host.tick(cpu).core.is_some(), "noted: to be reported");
        assert!(host.core(cpu).reported);
        assert_eq!(host.tick(cpu).core, None);
    }
    host.drive(ticket, 50);
    assert!(host.satisfied(ticket) && host.engine().counts().grace_periods == 2);
}
