//! Floods of callbacks in the test host: batches, forced scans, overload marks.

use quiescent_harness::host::TestHost;
use quiescent_kernel::limits::{Around, Limits};
use quiescent_kernel::tick::Settings;
use quiescent_kernel::{Config, CpuId, EarlyQs, Next, Nudge, Phase, Pos};

const LIMITS: Limits = Limits::kernel_6_12();

fn config(limits: Limits) -> Config {
    Config {
        early_qs: EarlyQs::Init,
        limits,
        tick: Settings {
            preemptible: false,
            ..Settings::kernel_6_12()
        },
        ..Config::kernel_6_12(4, 1000)
    }
}

/// A machine whose CPU 1 blocks a grace period, and the ticket of that grace period.
fn held(config: Config) -> (TestHost, Pos) {
    let mut host = TestHost::kernel_with(4, config);
    let first = host.wait_for_gp(0);
    host.drive(first, 1000);
    host.enter(1);
    let ticket = host.wait_for_gp(0);
    assert!(host.run_until(Phase::Wait, 50));
    (host, ticket)
}

/// A machine whose CPU 1 has so many callbacks that are ready.
fn ready(n: u64, limits: Limits) -> TestHost {
    let mut host = TestHost::kernel_with(4, config(limits));
    for _ in 0..n {
        let _ = host.call(1);
    }
    let _ = host.core(1);
    let ticket = host.wait_for_gp(0);
    host.drive(ticket, 1000);
    let _ = host.core(1);
    assert_eq!(cpu(&host).list().ready(), n);
    host
}

fn cpu(host: &TestHost) -> &quiescent_kernel::Cpu {
    host.cpu(1).expect("it has had a callback")
}

const BUSY: Around = Around {
    need_resched: true,
    idle: false,
    elapsed_ns: None,
};
const IDLE: Around = Around {
    need_resched: false,
    idle: true,
    elapsed_ns: None,
};

// Batches.

#[test]
fn a_batch_stops_at_its_limit_and_the_rest_keeps_its_place() {
    let mut host = ready(25, LIMITS);
    let batches: Vec<u64> = (0..4).map(|_| host.batch(1, BUSY, 0)).collect();
    assert_eq!(batches, [10, 10, 5, 0]);
    assert!(cpu(&host).is_empty());
    let mut host = ready(25, LIMITS);
    assert_eq!(host.batch(1, IDLE, 0), 25, "an idle CPU has no other work");
    let mut host = ready(3000, LIMITS);
    assert_eq!(host.batch(1, BUSY, 0), 23, "3000 / 128");
}

#[test]
fn a_batch_that_takes_too_long_stops_at_the_next_look_at_the_clock() {
    let mut host = ready(20_000, LIMITS);
    // 1 µs each: 3 ms are over after 3000 callbacks, and 3008 is the next multiple of 32.
    assert_eq!(host.batch(1, IDLE, 1000), 3008);
    // A small batch has no time limit, unless it is configured.
    let mut host = ready(90, LIMITS);
    assert_eq!(host.batch(1, IDLE, 1_000_000), 90);
    let checked = Limits {
        double_check: true,
        ..LIMITS
    };
    let mut host = ready(90, checked);
    assert_eq!(host.batch(1, IDLE, 1_000_000), 32);
}

/// CPU 1 queues so many callbacks a tick for so many ticks, while the scheduler wants the CPU; then it queues
/// none. Returns the largest number that it owed, and the ticks from then until it owed none.
fn flood(limits: Limits, a_tick: u32, ticks: u32) -> (u64, Option<u64>) {
    let mut host = TestHost::kernel_with(4, config(limits));
    let first = host.wait_for_gp(0);
    host.drive(first, 1000);
    (0..4).for_each(|cpu| host.set_busy(cpu, true));
    let (mut most, mut more) = (0, false);
    let mut tick = |host: &mut TestHost, calls: u32| {
        for _ in 0..calls {
            let _ = host.call(1);
        }
        most = most.max(cpu(host).len());
        host.pass_jiffies(1);
        for cpu in 0..4 {
            let raised = host.tick(cpu).core.is_some() || (cpu == 1 && more);
            if raised {
                let _ = host.core(cpu);
                host.batch(cpu, BUSY, 100);
            }
        }
        more = cpu(host).list().ready() > 0;
        host.run_thread();
    };
    (0..ticks).for_each(|_| tick(&mut host, a_tick));
    let end = host.now().jiffies;
    for _ in 0..3000 {
        tick(&mut host, 0);
        if cpu(&host).is_empty() {
            assert!(!cpu(&host).batch().is_flooded(), "the limit is back");
            return (most, Some(host.now().jiffies - end));
        }
    }
    (most, None)
}

#[test]
fn a_flood_is_survived_and_without_the_lifted_limit_it_is_not() {
    let (most, drained) = flood(LIMITS, 2000, 300);
    println!("{most} at most, gone after {drained:?}");
    assert!(most < 40_000, "{most} of 600000");
    assert!(drained.is_some_and(|ticks| ticks < 20), "{drained:?}");
    // Neither the limit is lifted nor a share is used: the queue grows as long as callbacks are queued.
    let never = Limits {
        max_blimit: LIMITS.blimit,
        divisor: 62,
        ..LIMITS
    };
    let (most, drained) = flood(never, 2000, 300);
    println!("{most} at most, gone after {drained:?}");
    assert!(most > 500_000 && drained.is_none());
}

#[test]
fn a_trickle_never_lifts_the_limit() {
    let (most, drained) = flood(LIMITS, 5, 300);
    assert!(most < 200 && drained.is_some_and(|ticks| ticks < 20));
}

// Forced scans.

#[test]
fn a_flood_forces_one_scan_every_so_many_callbacks_and_none_if_others_did() {
    let limits = Limits {
        qhimark: 100,
        qovld: 0,
        ..LIMITS
    };
    let (mut host, _) = held(config(limits));
    let _ = host.core(2);
    let on = |host: &mut TestHost| host.call(2).wake_gp;
    let scans = |host: &TestHost| host.engine().counts().scans;
    // The first check compares with a count of scans that is out of date: another CPU's count.
    let forced: Vec<u32> = (1..=450).filter(|_| on(&mut host)).collect();
    assert_eq!(forced, [202], "it stays forced until a scan is made");
    let before = scans(&host);
    host.run_thread();
    assert_eq!(scans(&host), before + 1, "no wait");
    // Checks are made at 101, 202, …, 505: the last one sees that a scan has been made.
    let forced: Vec<u32> = (451..=650).filter(|_| on(&mut host)).collect();
    assert_eq!(forced, [606]);
}

#[test]
fn the_only_callback_that_waits_is_no_reason_to_force() {
    let limits = Limits {
        qhimark: 0,
        qovld: 0,
        ..LIMITS
    };
    let (mut host, _) = held(config(limits));
    let _ = host.core(2);
    let wakes = |host: &mut TestHost| host.call(2).wake_gp;
    assert!(!wakes(&mut host), "it is the only callback");
    assert!(wakes(&mut host), "it is no longer the only one");
}

#[test]
fn others_look_after_floods_of_an_offloaded_cpu() {
    let limits = Limits {
        qhimark: 3,
        ..LIMITS
    };
    let (mut host, _) = held(config(limits));
    host.set_offloaded(1, true);
    for _ in 0..50 {
        assert!(!host.call(1).wake_gp);
    }
    assert!(!cpu(&host).batch().is_flooded());
    assert!(!cpu(&host).invokes() && !host.core(1).wake_gp);
}

// Overload.

const URGENT: Nudge = Nudge {
    lo: 0,
    heavy: 0,
    urgent: 2,
    resched: 0,
    irq_work: 0,
    cpu_time: 0,
    stop_tick: 0,
};

/// One holdout (not overloaded itself), CPU 2 overloaded, waits of 10 ticks.
fn overloaded() -> (TestHost, Pos) {
    let limits = Limits { qovld: 2, ..LIMITS };
    let config = Config {
        first_fqs: 10,
        next_fqs: 10,
        ..config(limits)
    };
    let (mut host, ticket) = held(config);
    for _ in 0..3 {
        let _ = host.call(2);
    }
    assert!(host.engine().is_overloaded(2) && !host.engine().is_overloaded(1));
    (host, ticket)
}

/// The number of ticks until each of the next scans begins.
fn scan_times(host: &mut TestHost, n: usize) -> Vec<u64> {
    let start = host.now().jiffies;
    let times = (0..n).map(|_| {
        assert!(host.run_until(Phase::Scan(0), 20));
        let _ = host.step();
        host.now().jiffies - start
    });
    times.collect()
}

#[test]
fn overload_acts_one_scan_later_and_shortens_waits_to_a_third() {
    let (mut host, _) = overloaded();
    // The first scan sees the mark; the second acts on it: it presses the holdout, and the next wait is
    // short.
    assert_eq!(scan_times(&mut host, 2), [10, 20]);
    let asked = host.take_nudges();
    let both = Nudge { heavy: 2, ..URGENT };
    assert_eq!(asked, [both]);
    assert_eq!(scan_times(&mut host, 3), [4, 8, 12], "(10 + 2) / 3");
    assert!(acted_upon(&host));
}

#[test]
fn under_overload_every_scan_sends_for_a_nohz_full_holdout() {
    let (mut host, _) = overloaded();
    host.set_nohz_full(1);
    let sent = |host: &mut TestHost| {
        scan_times(host, 1);
        let nudges = host.take_nudges();
        nudges.iter().any(|nudge| nudge.resched == 2)
    };
    let sent: Vec<bool> = (0..4).map(|_| sent(&mut host)).collect();
    assert_eq!(
        sent,
        [false, true, true, true],
        "the first takes the snapshot"
    );
}

#[test]
fn overload_skips_the_first_two_waits_of_the_next_grace_period() {
    let (mut host, ticket) = overloaded();
    scan_times(&mut host, 2);
    host.exit(1);
    host.enter(1);
    let _ = host.wait_for_gp(0);
    host.drive(ticket, 50);
    assert!(host.satisfied(ticket));
    // CPU 2 still owes its callbacks: the mark outlives the grace period.
    assert!(host.engine().is_overloaded(2));
    assert_eq!(scan_times(&mut host, 4), [0, 0, 4, 8]);
}

#[test]
fn overload_ends_one_scan_after_the_last_mark_is_gone() {
    let (mut host, ticket) = overloaded();
    scan_times(&mut host, 2);
    let _ = host.core(2); // stamps them
    host.exit(1);
    host.drive(ticket, 50);
    assert!(host.run_until(Phase::Idle, 50) && host.run_until(Phase::Fence, 2));
    assert!(host.run_until(Phase::Idle, 50), "the one that they need");
    // All are invoked; the end of the next grace period finds that the mark is out of date.
    let _ = host.core(2);
    assert_eq!(host.batch(2, Default::default(), 0), 3);
    assert!(host.engine().is_overloaded(2));
    host.enter(1);
    let ticket = host.wait_for_gp(0);
    scan_times(&mut host, 2);
    host.exit(1);
    host.drive(ticket, 50);
    assert!(!host.engine().is_overloaded(2));
    host.enter(1);
    let _ = host.wait_for_gp(0);
    // The result of the last scan applies to the first one here, and the result of that to the second.
    assert_eq!(scan_times(&mut host, 4), [0, 0, 10, 20]);
    assert!(!acted_upon(&host));
}

#[test]
fn a_stray_wake_under_overload_shortens_what_is_left() {
    let (mut host, _) = overloaded();
    scan_times(&mut host, 2);
    host.take_trace();
    assert_eq!(host.asked(), Some(Next::Sleep(4)));
    host.stray_wake();
    assert_eq!(host.step(), Next::Sleep(2), "(4 + 2) / 3");
    let words = host.take_trace();
    let words: Vec<_> = words
        .iter()
        .filter_map(|l| l.split(' ').next_back())
        .collect();
    assert_eq!(words, ["fqswaitsig", "fqswait"]);
    // The deadline stays.
    let scans = host.engine().counts().scans;
    host.pass_jiffies(1);
    host.stray_wake();
    let _ = host.step();
    assert_eq!(host.engine().counts().scans, scans);
    host.pass_jiffies(3);
    host.stray_wake();
    let _ = host.step();
    assert_eq!(host.engine().counts().scans, scans + 1);
}

fn acted_upon(host: &TestHost) -> bool {
    host.engine()
        .age(host.now())
        .is_some_and(|age| age.overloaded)
}

#[test]
fn a_mark_follows_the_count_with_every_callback_and_at_the_end_of_a_grace_period() {
    let limits = Limits { qovld: 2, ..LIMITS };
    let mut host = ready(0, limits);
    let marks = |host: &mut TestHost, n: u32| -> Vec<bool> {
        (0..n)
            .map(|_| {
                let called = host.call(1);
                assert_eq!(called.overloaded, host.engine().is_overloaded(1));
                called.overloaded
            })
            .collect()
    };
    assert_eq!(marks(&mut host, 3), [false, false, true]);
    let _ = host.core(1);
    let ticket = host.wait_for_gp(0);
    host.drive(ticket, 1000);
    assert!(
        host.engine().is_overloaded(1),
        "the end of the grace period checked: it owes them"
    );
    let _ = host.core(1);
    host.batch(1, IDLE, 0);
    assert!(
        host.engine().is_overloaded(1),
        "no check is made at that moment"
    );
    assert_eq!(
        marks(&mut host, 1),
        [false],
        "the next callback makes the check"
    );
    // Switched off.
    let mut host = ready(0, Limits { qovld: 0, ..LIMITS });
    assert_eq!(marks(&mut host, 9), [false; 9]);
}

#[test]
fn who_takes_over_too_many_is_marked_and_the_dead_is_unmarked_at_the_next_end() {
    let limits = Limits { qovld: 2, ..LIMITS };
    let mut host = ready(0, limits);
    for cpu in [1, 1, 1, 2] {
        let _ = host.call(cpu);
    }
    let marks = |host: &TestHost| [1, 2].map(|cpu: CpuId| host.engine().is_overloaded(cpu));
    assert_eq!(marks(&host), [true, false]);
    host.unregister(1);
    let _ = host.adopt(2, 1);
    assert_eq!(marks(&host), [true, true]);
    let ticket = host.wait_for_gp(0);
    host.drive(ticket, 1000);
    assert_eq!(marks(&host), [false, true]);
}
