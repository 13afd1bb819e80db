//! Escalation in the test host: what is asked of holdouts and when, overload, ages.

use quiescent_harness::host::{Silent, TestHost};
use quiescent_kernel::limits::Limits;
use quiescent_kernel::stall::Stall;
use quiescent_kernel::tick::Settings;
use quiescent_kernel::urgency::{Age, Asked, Escalation};
use quiescent_kernel::{Config, EarlyQs, Nudge, Phase, Pos};

const HZ: u32 = 1000;
/// `max(3 + 2 * 3, 1000 / 10)`
const SCHED_QS: u64 = 100;

fn config() -> Config {
    Config {
        early_qs: EarlyQs::Init,
        ..Config::kernel_6_12(4, HZ)
    }
}

/// A machine whose CPU 1 blocks a grace period, and that grace period's ticket.
fn held(config: Config) -> (TestHost, Pos) {
    let mut host = TestHost::kernel_with(4, config);
    let first = host.wait_for_gp(0);
    host.drive(first, 1000);
    host.enter(1);
    let ticket = host.wait_for_gp(0);
    assert!(host.run_until(Phase::Wait, 50));
    (host, ticket)
}

/// Steps until the grace period has that age; returns all requests, each with the age at which it was made.
fn nudges(host: &mut TestHost, until: u64) -> Vec<(u64, Nudge)> {
    let mut all = Vec::new();
    while age(host).ticks < until {
        let _ = host.step();
        let at = host.engine().age(host.now()).map_or(0, |age| age.ticks);
        all.extend(host.take_nudges().into_iter().map(|nudge| (at, nudge)));
    }
    all
}

fn age(host: &TestHost) -> Age {
    let age = host.engine().age(host.now());
    age.expect("a grace period is in flight")
}

const NONE: Nudge = Nudge {
    lo: 0,
    heavy: 0,
    urgent: 0,
    resched: 0,
    irq_work: 0,
    cpu_time: 0,
    stop_tick: 0,
};
const URGENT: Nudge = Nudge { urgent: 2, ..NONE };
const HEAVY: Nudge = Nudge { heavy: 2, ..NONE };
const RESCHED: Nudge = Nudge { resched: 2, ..NONE };

#[test]
fn a_holdout_is_asked_to_hurry_then_for_more_and_then_interrupted() {
    let (mut host, ticket) = held(config());
    // Scans are 3 ticks apart; each rule requests at the first scan after its time.
    let first = Nudge {
        irq_work: 2,
        ..RESCHED
    };
    let want = [
        (102, URGENT),
        (201, HEAVY),
        (10_503, first),
        (10_605, RESCHED),
        (10_707, RESCHED),
    ];
    assert_eq!(nudges(&mut host, 10_800), want);
    assert_eq!(
        host.engine().asked(1),
        Asked {
            urgent: true,
            heavy: true,
            sent_for: Some(host.now().jiffies - age(&host).ticks + 10_707),
            takes_interrupts: Some(false),
            ..Asked::default()
        }
    );
    host.engine_mut().irq_work_ran(1);
    assert_eq!(host.engine().asked(1).takes_interrupts, Some(true));
    // One request in a grace period, whether it is answered or not.
    let more = nudges(&mut host, 11_000);
    assert_eq!(more, [(10_809, RESCHED), (10_911, RESCHED)]);
    // No other CPU was asked, and this one answers in the end.
    assert_eq!(host.engine().asked(2), Asked::default());
    host.exit(1);
    host.drive(ticket, 10);
    assert!(host.satisfied(ticket));
}

#[test]
fn an_unanswered_interrupt_work_is_not_sent_again_in_the_next_grace_period() {
    let config = Config {
        escalation: Some(Escalation {
            stall: 20,
            cpu_time: true,
            ..Escalation::kernel_6_12(HZ)
        }),
        ..config()
    };
    let (mut host, mut ticket) = held(config);
    let sent = |nudges: &[(u64, Nudge)]| -> (usize, usize) {
        let count = |which: fn(&Nudge) -> u64| nudges.iter().filter(|(_, n)| which(n) != 0).count();
        (count(|n| n.irq_work), count(|n| n.cpu_time))
    };
    for (answers, works) in [(false, 1), (true, 0), (false, 1)] {
        // One check of its CPU time a grace period; one interrupt work, too, unless the last one is still
        // pending.
        assert_eq!(sent(&nudges(&mut host, 300)), (works, 1));
        if answers {
            host.engine_mut().irq_work_ran(1);
        }
        host.exit(1);
        host.enter(1);
        let next = host.wait_for_gp(0);
        host.drive(ticket, 20);
        assert!(host.satisfied(ticket), "its counter has changed");
        assert!(host.run_until(Phase::Wait, 50));
        ticket = next;
    }
}

#[test]
fn half_of_a_short_stall_time_asks_for_everything_at_once() {
    let config = Config {
        escalation: Some(Escalation {
            stall: 20,
            irq_work: false,
            ..Escalation::kernel_6_12(HZ)
        }),
        ..config()
    };
    let (mut host, _) = held(config);
    let all = Nudge {
        heavy: 2,
        resched: 2,
        ..URGENT
    };
    assert_eq!(nudges(&mut host, 100), [(12, all)], "later than 10 ticks");
}

#[test]
fn a_thread_that_does_not_wait_is_overdue_two_ticks_later() {
    let (mut host, ticket) = held(config());
    host.engine_mut().set_fqs_waits(0, 3);
    host.exit(1);
    host.drive(ticket, 50);
    host.enter(1);
    let _ = host.wait_for_gp(0);
    assert!(host.run_until(Phase::Fence, 20) && host.run_until(Phase::Wait, 20));
    let overdue = |ticks| {
        let mut now = host.now();
        now.jiffies += ticks;
        host.engine().age(now).map(|age| age.thread_overdue)
    };
    assert_eq!((overdue(2), overdue(3)), (Some(false), Some(true)));
}

#[test]
fn a_nohz_full_cpu_is_sent_for_at_once_and_then_seldom() {
    let (mut host, _) = held(config());
    host.set_nohz_full(1);
    // The first scan takes the snapshot; the second is the first that can make a request.
    let first = Nudge {
        resched: 2,
        ..URGENT
    };
    assert_eq!(
        nudges(&mut host, 700),
        [(6, first), (201, HEAVY), (309, RESCHED), (612, RESCHED)]
    );
}

#[test]
fn nothing_is_asked_between_grace_periods() {
    let (mut host, ticket) = held(config());
    host.enter(2);
    host.enter(3);
    assert!(!nudges(&mut host, 250).is_empty());
    host.exit(1); // a scan will find it outside
    host.exit(2);
    let _ = host.check_qs(2);
    host.note_qs(2);
    let _ = host.check_qs(2); // reports
    assert_eq!(host.engine().asked(2), Asked::default());
    host.exit(3);
    host.unregister(3); // departs
    assert_eq!(host.engine().asked(3), Asked::default());
    host.drive(ticket, 20);
    assert!(host.satisfied(ticket));
    for cpu in 0..4 {
        assert_eq!(host.engine().asked(cpu), Asked::default(), "CPU {cpu}");
    }
}

#[test]
fn a_report_for_an_older_grace_period_forgets_nothing() {
    let (mut host, _) = held(config());
    let _ = nudges(&mut host, 250);
    let asked = host.engine().asked(1);
    assert!(asked.heavy && asked.urgent);
    let noted = quiescent_kernel::Seq::INITIAL.start();
    let _ = host.engine_mut().report_qs(1, noted, &Silent);
    assert_eq!(host.engine().asked(1), asked);
}

#[test]
fn a_cpu_that_left_without_a_word_is_credited_and_not_asked() {
    let (mut host, ticket) = held(config());
    host.vanish(1);
    host.drive(ticket, 50);
    assert!(host.satisfied(ticket));
    assert_eq!(host.engine().counts().offline_holdouts, 1);
    assert!(host.take_nudges().is_empty());
}

#[test]
fn the_time_to_hurry_follows_the_waits_unless_given() {
    let it = Escalation::kernel_6_12(HZ);
    let rows = [((3, 3, 8), 100), ((40, 40, 8), 120), ((3, 3, 512), 102)];
    for ((first, next, cpus), want) in rows {
        assert_eq!(
            it.sched_qs(first, next, cpus),
            want,
            "{first} {next} {cpus}"
        );
    }
    assert_eq!(Escalation::kernel_6_12(250).sched_qs(1, 1, 8), 25);
    let given = Escalation {
        sched_qs: Some(7),
        ..it
    };
    assert_eq!(given.sched_qs(3, 3, 8), 7);
}

#[test]
fn waits_can_be_changed_at_run_time_within_a_second() {
    let (mut host, ticket) = held(config());
    for (first, next, want) in [(5, 50, (5, 50)), (0, 0, (0, 1)), (9999, 9999, (1000, 1000))] {
        host.engine_mut().set_fqs_waits(first, next);
        let config = host.engine().config();
        assert_eq!((config.first_fqs, config.next_fqs), want);
    }
    assert_eq!(host.engine().jiffies_to_sched_qs(), Some(3000));
    host.engine_mut().set_fqs_waits(7, 20);
    host.exit(1);
    host.drive(ticket, 50);
    let start = host.now().jiffies;
    host.enter(1);
    let _ = host.wait_for_gp(0);
    assert!(host.run_until(Phase::Scan(0), 50));
    assert_eq!(host.now().jiffies - start, 7);
    assert!(host.run_until(Phase::Wait, 5) && host.run_until(Phase::Scan(0), 5));
    assert_eq!(host.now().jiffies - start, 27);
}

#[test]
fn a_scan_is_forced_once_and_only_during_a_grace_period() {
    let mut host = TestHost::kernel_with(4, config());
    let force = |host: &mut TestHost| host.force_qs();
    assert!(!force(&mut host), "no scan is requested");
    let (mut host, _) = held(config());
    let (start, scans) = (host.now().jiffies, host.engine().counts().scans);
    assert!(force(&mut host) && !force(&mut host));
    let _ = host.step();
    assert_eq!(host.engine().counts().scans, scans + 1);
    assert_eq!(host.now().jiffies, start, "no wait");
    assert!(host.run_until(Phase::Wait, 5));
    assert!(force(&mut host), "the scan has cleared the request");
}

#[test]
fn ages_and_stalls_can_be_asked_for() {
    let host = TestHost::kernel_with(4, config());
    assert_eq!(host.engine().age(host.now()), None);
    let (mut host, _) = held(config());
    host.set_busy(2, true);
    let _ = nudges(&mut host, 30);
    assert!(host.run_until(Phase::Wait, 5));
    let at = |host: &TestHost, ticks| {
        let mut now = host.now();
        now.jiffies += ticks;
        now
    };
    let now = age(&host);
    assert_eq!((now.ticks, now.scans, now.thread_overdue), (30, 10, false));
    assert_eq!(
        (now.until_resched, now.until_stall, now.overloaded),
        (10_470, 20_970, false)
    );
    let engine = host.engine();
    // The thread sleeps 3 ticks, and is overdue after three times that.
    let overdue = |ticks| engine.age(at(&host, ticks)).map(|age| age.thread_overdue);
    assert_eq!((overdue(9), overdue(10)), (Some(false), Some(true)));
    for (ticks, own, others) in [
        (20_969, None, None),
        (20_970, Some(Stall::Own), None),
        (20_971, Some(Stall::Own), None),
        (20_972, Some(Stall::Own), Some(Stall::Others)),
    ] {
        assert_eq!(engine.stalled(1, at(&host, ticks)), own, "{ticks}");
        assert_eq!(engine.stalled(0, at(&host, ticks)), others, "{ticks}");
    }
}

/// A kernel without preemption, with CPU 1 in a long system call, and without a tick.
fn deep() -> (TestHost, Pos) {
    let config = Config {
        tick: Settings {
            preemptible: false,
            ..Settings::kernel_6_12()
        },
        ..config()
    };
    let mut host = TestHost::kernel_with(4, config);
    let first = host.wait_for_gp(0);
    host.drive(first, 1000);
    host.set_busy(1, true);
    let ticket = host.wait_for_gp(0);
    assert!(host.run_until(Phase::Wait, 50));
    (host, ticket)
}

#[test]
fn cond_resched_answers_only_if_asked_and_then_heavily_if_asked_so() {
    let (mut host, ticket) = deep();
    assert_eq!(
        host.cond_resched(1),
        Default::default(),
        "no request is pending"
    );
    let _ = nudges(&mut host, SCHED_QS + 5);
    let answer = host.cond_resched(1);
    assert!(!answer.momentary_eqs, "urgent, no more");
    assert!(!host.engine().asked(1).urgent, "the request is consumed");
    assert_eq!(host.cond_resched(1), Default::default());
    let _ = nudges(&mut host, 2 * SCHED_QS + 5);
    assert!(!host.satisfied(ticket));
    assert!(host.cond_resched(1).momentary_eqs);
    assert_eq!(host.engine().asked(1), Asked::default(), "answered");
    // The next scan finds the counter changed, although the CPU is still in the system call, without a tick.
    host.drive(ticket, 10);
    assert!(host.satisfied(ticket));
}

#[test]
fn a_context_switch_answers_as_well_and_notes_in_any_case() {
    let (mut host, ticket) = deep();
    assert!(!host.context_switch(1).noted, "it has noticed nothing yet");
    let _ = host.core(1);
    assert!(host.context_switch(1).noted && !host.context_switch(1).noted);
    let _ = nudges(&mut host, 2 * SCHED_QS + 5);
    assert!(host.context_switch(1).momentary_eqs);
    host.drive(ticket, 10);
    assert!(host.satisfied(ticket));
}

#[test]
fn a_preemptible_kernel_leaves_heavy_states_alone() {
    let (mut host, _) = held(config());
    let _ = nudges(&mut host, 2 * SCHED_QS + 5);
    host.exit(1);
    host.set_busy(1, true);
    assert!(!host.context_switch(1).momentary_eqs);
    assert_eq!(host.cond_resched(1), Default::default());
    assert!(
        host.engine().asked(1).urgent,
        "the request is left for the tick"
    );
}

#[test]
fn a_larger_tree_keeps_what_is_known_of_cpus() {
    let limits = Limits {
        qovld: 1,
        ..Limits::kernel_6_12()
    };
    let mut host = TestHost::kernel_with(2, Config { limits, ..config() });
    let first = host.wait_for_gp(0);
    host.drive(first, 100);
    let _ = (host.call(1), host.call(1));
    assert!(host.engine().is_overloaded(1));
    host.register();
    let second = host.wait_for_gp(0);
    assert!(host.run_until(Phase::Wait, 50) && host.engine().cpus() == 3);
    assert!(host.engine().is_overloaded(1));
    host.drive(second, 100);
    assert!(host.satisfied(second));
}
