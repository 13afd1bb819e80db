//! Stalls: when a report is due, and which driver makes it.

use quiescent_engine::{Config, CpuId, Interest, Next, Pace};
use quiescent_harness_threads::TestHost;

const STALL: u64 = 1_000_000;
const REPEAT_NS: u64 = 3 * STALL + 3_000_000;
const START: u64 = 5;

fn threads(stall_ns: u64) -> TestHost {
    let config = Config {
        pace: Pace {
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
    Next::Sleep(ns)
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
        assert_eq!(stalled.gp_seq, host.engine().published());
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
    assert!(host.engine_mut().set_stall_ns(STALL));
    host.stray_wake();
    let _ = settle(&mut host);
    assert_eq!(host.take_stalled().len(), 1, "it is overdue");
    let _ = host.leave();
    assert!(!host.engine_mut().set_stall_ns(STALL), "no driver sleeps");
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
            assert_eq!(stalled.gp_seq, host.engine().published());
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
