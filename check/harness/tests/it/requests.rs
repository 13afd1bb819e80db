//! Requests: the funnel, tickets and cookies, in every phase of a grace period.

use quiescent_harness::host::TestHost;
use quiescent_kernel::geometry::GeometryParams;
use quiescent_kernel::{Config, EarlyQs, Next, Phase};

/// Four CPUs in two leaves below a root.
fn config() -> Config {
    let geometry = GeometryParams {
        leaf_fanout: 2,
        inner_fanout: 2,
        exact: true,
    };
    Config {
        geometry,
        early_qs: EarlyQs::Init,
        ..Config::kernel_6_12(4, 1000)
    }
}

/// A machine whose tree exists, between grace periods.
fn settled() -> TestHost {
    let mut host = TestHost::kernel_with(4, config());
    let ticket = host.wait_for_gp(0);
    host.drive(ticket, 1000);
    run_down(&mut host);
    host.take_trace();
    host
}

/// All phases of a grace period with a holdout, in their order.
const PHASES: [Phase; 13] = [
    Phase::Fence,
    Phase::Hotplug(0),
    Phase::Hotplug(1),
    Phase::Init(0),
    Phase::Init(1),
    Phase::Init(2),
    Phase::Wait,
    Phase::Scan(0),
    Phase::Scan(1),
    Phase::Cleanup(0),
    Phase::Cleanup(1),
    Phase::Cleanup(2),
    Phase::End,
];

/// A machine in that phase of a grace period that CPU 0 requested.
fn in_phase(phase: Phase) -> (TestHost, u64) {
    let mut host = settled();
    let ticket = host.wait_for_gp(0);
    assert!(host.run_until(phase, 100), "{phase:?}");
    host.take_trace();
    (host, ticket)
}

fn run_down(host: &mut TestHost) {
    for _ in 0..1000 {
        if host.step() == Next::Done {
            return;
        }
    }
    panic!(
        "still at work after 1000 steps: {:?}",
        host.engine().phase()
    );
}

#[test]
fn a_request_in_any_phase_leads_to_exactly_one_more_grace_period() {
    for phase in PHASES {
        for cpu in 0..4 {
            let (mut host, first) = in_phase(phase);
            let before = host.engine().counts().grace_periods;
            let second = host.wait_for_gp(cpu);
            let third = host.wait_for_gp(3 - cpu);
            run_down(&mut host);
            let ended = host.engine().counts().grace_periods - before;
            assert_eq!(ended, 2, "{phase:?}, CPU {cpu}");
            assert!([first, second, third].iter().all(|&t| host.satisfied(t)));
        }
    }
}

#[test]
fn without_a_request_no_further_grace_period() {
    for phase in PHASES {
        let (mut host, first) = in_phase(phase);
        let before = host.engine().counts().grace_periods;
        run_down(&mut host);
        assert!(host.satisfied(first));
        assert_eq!(
            host.engine().counts().grace_periods - before,
            1,
            "{phase:?}"
        );
        host.stray_wake();
        assert_eq!(host.step(), Next::Done, "woken without a reason");
    }
}

#[test]
fn a_cookie_from_any_phase_waits_for_a_full_grace_period_and_no_longer() {
    for phase in PHASES {
        let (mut host, _) = in_phase(phase);
        let cookie = host.start_poll(1);
        let merged = host.engine().polled().state();
        let start = host.engine().counts().grace_periods;
        let mut ended_first = None;
        for _ in 0..1000 {
            // A new one has started once the global number shows it and the first has ended.
            let ended = host.engine().counts().grace_periods - start;
            let done = host.poll(cookie);
            if ended == 0 {
                assert!(
                    !done,
                    "taken in {phase:?}, true within the same grace period"
                );
            }
            if ended == 2 {
                assert!(done, "taken in {phase:?}, not true after two");
                assert!(
                    host.engine().polled().poll(merged),
                    "the merged form, {phase:?}"
                );
            }
            if done {
                ended_first.get_or_insert(host.engine().phase());
            }
            if host.step() == Next::Done {
                break;
            }
        }
        // The root is ended first; the rest of the tree and the global number follow.
        assert_eq!(ended_first, Some(Phase::Cleanup(1)), "taken in {phase:?}");
    }
}

/// The funnel's events of a request by `cpu`.
fn funnel(host: &mut TestHost, cpu: u32) -> Vec<String> {
    host.take_trace();
    let _ = host.start_poll(cpu);
    let lines = host.take_trace().into_iter();
    let lines = lines.filter(|line| line.starts_with("rcu_future_grace_period"));
    // Level, CPUs, and the outcome.
    lines
        .map(|line| {
            line.split_whitespace()
                .skip(4)
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect()
}

#[test]
fn the_first_request_reaches_the_root_and_the_next_ones_do_not() {
    let mut host = settled();
    assert_eq!(
        funnel(&mut host, 0),
        ["1 0 1 Startleaf", "0 0 3 Startedroot"]
    );
    assert_eq!(
        funnel(&mut host, 1),
        ["1 0 1 Startleaf", "1 0 1 Prestarted"],
        "same leaf"
    );
    assert_eq!(
        funnel(&mut host, 2),
        ["1 2 3 Startleaf", "0 0 3 Prestarted"],
        "other leaf"
    );
    assert_eq!(
        funnel(&mut host, 3),
        ["1 2 3 Startleaf", "1 2 3 Prestarted"]
    );
}

#[test]
fn requests_during_a_grace_period_stop_where_it_is_known() {
    let (mut host, _) = in_phase(Phase::Fence);
    let root = ["1 0 1 Startleaf", "0 0 3 Startedleafroot"];
    assert_eq!(funnel(&mut host, 0), root, "no node has the request yet");
    let (mut host, _) = in_phase(Phase::Init(1));
    let prestarted = ["1 0 1 Startleaf", "0 0 3 Prestarted"];
    assert_eq!(
        funnel(&mut host, 0),
        prestarted,
        "the root has it, the leaf does not"
    );
    let (mut host, _) = in_phase(Phase::Wait);
    let leaf = ["1 0 1 Startleaf", "1 0 1 Startedleaf"];
    assert_eq!(funnel(&mut host, 0), leaf, "the leaf has it");
    let (mut host, _) = in_phase(Phase::Cleanup(1));
    assert_eq!(
        funnel(&mut host, 0),
        leaf,
        "the root has ended it, the leaf has not"
    );
    let (mut host, _) = in_phase(Phase::End);
    assert_eq!(
        funnel(&mut host, 0),
        root,
        "all nodes have, the global number has not"
    );
}

#[test]
fn the_end_of_a_grace_period_says_where_more_is_wanted() {
    let (mut host, _) = in_phase(Phase::Wait);
    let _ = host.wait_for_gp(2);
    host.take_trace();
    assert!(host.run_until(Phase::Idle, 100));
    let lines: Vec<String> = host
        .take_trace()
        .into_iter()
        .filter(|line| {
            ["Cleanup", " end", "newreq"]
                .iter()
                .any(|word| line.contains(word))
        })
        .collect();
    let want = [
        "rcu_future_grace_period: rcu_preempt -1192 -1192 0 0 3 Cleanup",
        "rcu_future_grace_period: rcu_preempt -1192 -1192 1 0 1 Cleanup",
        "rcu_future_grace_period: rcu_preempt -1192 -1188 1 2 3 CleanupMore",
        "rcu_grace_period: rcu_preempt -1195 end",
        "rcu_grace_period: rcu_preempt -1192 newreq",
    ];
    assert_eq!(lines, want);
}

#[test]
fn five_waiters_are_woken_at_once_and_the_rest_by_the_work_item() {
    let mut host = settled();
    let tickets: Vec<u64> = (0..7).map(|i| host.wait_for_gp(i % 4)).collect();
    run_down(&mut host);
    assert!(
        tickets.iter().all(|&t| host.satisfied(t)),
        "one grace period for all"
    );
    assert!(host.run_work(), "two waiters were left to it");
    assert!(!host.run_work());
    let _ = (0..5).map(|_| host.wait_for_gp(0)).last();
    run_down(&mut host);
    assert!(!host.run_work(), "five need no work item");
}

#[test]
fn without_a_marker_waiters_wait_for_another_grace_period() {
    let config = Config {
        direct_wakes_max: 0,
        wait_markers: 1,
        ..config()
    };
    let mut host = TestHost::kernel_with(4, config);
    let first = host.wait_for_gp(0);
    host.drive(first, 1000);
    let before = host.engine().counts().grace_periods;
    let second = host.wait_for_gp(0);
    let cookie = host.start_poll(0);
    for _ in 0..200 {
        let _ = host.step();
    }
    assert!(host.poll(cookie), "a cookie needs no marker");
    assert!(!host.satisfied(second), "the only marker is still in use");
    assert!(host.engine().counts().grace_periods > before + 1);
    assert!(host.run_work());
    run_down(&mut host);
    assert!(host.satisfied(second));
}
