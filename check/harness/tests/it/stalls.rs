//! Stalls in the test host, line by line: when a report is due, which CPU or driver makes it, and to which
//! readers it does not apply.

use quiescent_engine::exp::ExpNext;
use quiescent_engine::stall::Stall;
use quiescent_engine::urgency::Escalation;
use quiescent_engine::{Config, CpuId, EarlyQs, Global, Interest, Next, Pace, Phase, Until, Wait};
use quiescent_harness::host::{Doing, TestHost};
use quiescent_harness::replay::{Input, Output, replay};

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
    host.drive(0, first, 1000);
    assert!(host.run_until(Phase::Idle, 100));
    host.pass_jiffies(5);
    host.enter(1);
    let started = host.now().jiffies;
    let _ = host.wait_for_gp(0);
    assert!(host.run_until(Phase::Wait(Wait::Ticks), 50));
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
    let Pace::Direct { stall_ns, .. } = Config::threads().pace else {
        panic!("a thread host drives itself");
    };
    assert_eq!(stall_ns, 21_000_000_000);
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
    assert!(host.run_until(Phase::Wait(Wait::Ticks), 50));
    assert_eq!(tick(&mut host, 1, start + TIMEOUT - 1), None);
    assert_eq!(tick(&mut host, 1, start + TIMEOUT), Some(Stall::Own));
}

#[test]
fn after_a_reset_three_scans_and_the_timeout_pass_before_a_report() {
    let (mut host, start) = stalled_kernel();
    assert_eq!(host.input(Input::ResetStalls), Output::Done(true));
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
        let set = host.input(Input::SetStallTimeout { seconds });
        assert_eq!(set, Output::Done(true));
        let age = host.engine().age(host.now()).expect("one is in flight");
        assert_eq!(age.until_stall + age.ticks, ticks);
    }
    assert_eq!(tick(&mut host, 1, start + 299_999), None);
    assert_eq!(tick(&mut host, 1, start + 300_000), Some(Stall::Own));
    let mut threads = TestHost::threads(1);
    let refused = threads.input(Input::SetStallTimeout { seconds: 5 });
    assert_eq!(refused, Output::Done(false));
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
    assert!(host.run_until(Phase::Wait(Wait::Ticks), 50) || host.engine().phase() == Phase::Idle);
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

// Stalls of the thread host.

const STALL: u64 = 1_000_000;
const REPEAT_NS: u64 = 3 * STALL + 3_000_000;
const START: u64 = 5;

fn threads(stall_ns: u64) -> TestHost {
    let config = Config {
        pace: Pace::Direct {
            spin: 1,
            spins_before_flag: 1,
            spins_after_flag: 1,
            expedited_factor: 1,
            stall_ns,
        },
        ..Config::threads()
    };
    let mut host = TestHost::threads_with(3, config);
    host.pass_ns(START);
    host.enter(1);
    host
}

/// Steps until the driver sleeps or leaves.
fn settle(host: &mut TestHost) -> Next {
    for _ in 0..100 {
        let next = host.step();
        if matches!(next, Next::Sleep(_) | Next::Done | Next::HandOver) {
            return next;
        }
    }
    panic!("the driver neither sleeps nor leaves");
}

/// CPU 0 waits and drives, until it sleeps.
fn waiting(host: &mut TestHost) -> u64 {
    let ticket = host.wait_for_gp(0);
    assert!(host.try_drive(0, Interest::Waiter(ticket)));
    assert!(matches!(settle(host), Next::Sleep(_)));
    ticket
}

fn asleep_until(ns: u64) -> Next {
    Next::Sleep(Until::Ns(ns))
}

#[test]
fn a_driver_sleeps_until_the_report_is_due_and_gives_one_at_a_time() {
    let mut host = threads(STALL);
    let _ = waiting(&mut host);
    let mut due = START + STALL;
    for nth in 1..=4 {
        host.pass_ns(due - 1 - host.now().ns);
        host.stray_wake();
        assert_eq!(settle(&mut host), asleep_until(due), "woken too early");
        assert_eq!(host.take_stalled(), []);
        host.pass_ns(1);
        host.stray_wake();
        let again = due + REPEAT_NS;
        assert_eq!(settle(&mut host), asleep_until(again));
        let reports = host.take_stalled();
        let [stalled] = reports[..] else {
            panic!("{reports:?}");
        };
        assert_eq!((stalled.nth, stalled.grace_period), (nth, 1));
        assert_eq!((stalled.since_ns, stalled.now_ns), (START, due));
        assert_eq!(stalled.gp_seq, host.engine().published().global);
        due = again;
    }
    assert_eq!(host.engine().counts().stalls, 4);
    let named: Vec<_> = host.engine().in_the_way().map(|(cpu, _)| cpu).collect();
    assert_eq!(named, [1]);
}

#[test]
fn a_reader_that_left_in_the_last_moment_is_counted_and_not_blamed() {
    let mut host = threads(STALL);
    let ticket = waiting(&mut host);
    host.pass_ns(STALL);
    host.exit(1);
    assert_eq!(settle(&mut host), Next::Done);
    assert!(host.satisfied(ticket));
    assert_eq!(host.take_stalled(), []);
    assert_eq!(
        host.engine().counts().stalls,
        1,
        "one report, although the wake-up was this late"
    );
}

#[test]
fn the_next_grace_period_of_a_thread_host_begins_anew() {
    let mut host = threads(STALL);
    let _ = waiting(&mut host);
    host.pass_ns(STALL);
    host.stray_wake();
    let _ = settle(&mut host);
    assert_eq!(host.take_stalled().len(), 1);
    host.exit(1);
    assert_eq!(settle(&mut host), Next::Done);
    let _ = host.leave();
    host.pass_ns(100 * STALL);
    host.enter(2);
    let _ = waiting(&mut host);
    let now = host.now().ns;
    assert_eq!(host.asked(), Some(asleep_until(now + STALL)));
    host.pass_ns(STALL);
    host.stray_wake();
    let _ = settle(&mut host);
    let reports = host.take_stalled();
    assert_eq!((reports[0].nth, reports[0].grace_period), (1, 2));
}

#[test]
fn the_next_driver_reports_for_a_driver_that_left() {
    let mut host = threads(STALL);
    let _ = waiting(&mut host);
    let _ = host.leave();
    host.pass_ns(STALL);
    assert!(host.try_drive(2, Interest::Passing));
    let _ = settle(&mut host);
    assert_eq!(host.take_stalled(), [], "no report from a call of `retire`");
    let _ = host.leave();
    assert!(host.try_drive(2, Interest::Poller));
    let _ = settle(&mut host);
    assert_eq!(host.take_stalled().len(), 1);
    let _ = host.leave();
    assert!(host.try_drive(2, Interest::Poller));
    let _ = settle(&mut host);
    assert_eq!(host.take_stalled(), [], "it was reported before");
}

#[test]
fn nothing_is_reported_for_a_time_of_nothing_and_a_new_time_holds_at_once() {
    let mut host = threads(0);
    let _ = waiting(&mut host);
    assert_eq!(host.asked(), Some(asleep_until(u64::MAX)));
    host.pass_ns(1000 * STALL);
    host.stray_wake();
    assert_eq!(settle(&mut host), asleep_until(u64::MAX));
    assert_eq!(host.take_stalled(), []);
    // A sleeping driver must be woken to learn of the new time.
    let set = Input::SetStallNs { ns: STALL };
    assert_eq!(host.input(set), Output::Done(true));
    host.stray_wake();
    let _ = settle(&mut host);
    assert_eq!(host.take_stalled().len(), 1, "it is overdue");
    let _ = host.leave();
    assert_eq!(host.input(set), Output::Done(false), "no driver sleeps");
}

#[test]
fn the_child_of_a_fork_reports_no_thread_that_it_does_not_have() {
    let mut host = threads(STALL);
    let _ = waiting(&mut host);
    host.fork(0);
    host.pass_ns(STALL);
    let ticket = host.wait_for_gp(0);
    assert!(host.try_drive(0, Interest::Waiter(ticket)));
    assert_eq!(settle(&mut host), Next::Done);
    assert_eq!(host.take_stalled(), []);
    assert_eq!(host.engine().counts().stalls, 0);
}

#[test]
fn the_child_of_a_fork_has_a_time_of_its_own_for_its_own_section() {
    let mut host = threads(STALL);
    let _ = waiting(&mut host);
    host.fork(1);
    host.pass_ns(STALL - 1);
    let ticket = host.wait_for_gp(1);
    assert!(host.try_drive(1, Interest::Waiter(ticket)));
    assert_eq!(
        settle(&mut host),
        asleep_until(START + STALL - 1 + STALL),
        "the caller is the only reader, and is inside"
    );
    host.pass_ns(STALL);
    host.stray_wake();
    let _ = settle(&mut host);
    let reports = host.take_stalled();
    assert_eq!((reports.len(), reports[0].nth), (1, 1));
}

#[test]
fn reports_replay() {
    let mut host = threads(STALL);
    let mut before: Global = host.engine().clone();
    host.record();
    let _ = waiting(&mut host);
    for _ in 0..3 {
        host.pass_ns(REPEAT_NS);
        host.stray_wake();
        let _ = settle(&mut host);
    }
    assert_eq!(host.take_stalled().len(), 3);
    let entries = host.recording().expect("a recording exists");
    assert_eq!(replay(&mut before, entries), Ok(()));
    assert_eq!(&before, host.engine());
}

/// Holdouts and durations differ from one grace period to the next: each report has its own.
#[test]
fn ages_numbers_and_holdouts_are_those_of_the_grace_period_in_flight() {
    let mut host = threads(STALL);
    host.exit(1);
    let rounds: [(CpuId, u32, u64); 4] = [(1, 3, 0), (2, 1, 7), (1, 2, 50 * STALL), (2, 1, 3)];
    for (gp, (holdout, reports, rest)) in (1..).zip(rounds) {
        host.enter(holdout);
        let since = host.now().ns;
        let _ = waiting(&mut host);
        let mut due = since + STALL;
        for nth in 1..=reports {
            host.pass_ns(due - host.now().ns);
            host.stray_wake();
            let _ = settle(&mut host);
            let made = host.take_stalled();
            let [stalled] = made[..] else {
                panic!("grace period {gp}, report {nth}: {made:?}");
            };
            assert_eq!((stalled.grace_period, stalled.nth), (gp, nth));
            assert_eq!(stalled.gp_seq, host.engine().published().global);
            assert_eq!((stalled.since_ns, stalled.now_ns), (since, due));
            let named: Vec<_> = host.engine().in_the_way().map(|(cpu, _)| cpu).collect();
            assert_eq!(named, [holdout], "grace period {gp}");
            due += REPEAT_NS;
        }
        host.exit(holdout);
        assert_eq!(settle(&mut host), Next::Done);
        let _ = host.leave();
        host.pass_ns(rest);
    }
    assert_eq!(host.engine().counts().stalls, 7);
}
