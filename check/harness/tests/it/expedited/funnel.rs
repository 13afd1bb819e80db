//! The funnel, the role, and the wake-ups.

use super::machine;
use quiescent_harness::host::{Doing, TestHost};
use quiescent_kernel::exp::{ExpNext, ExpPhase};

fn gps(host: &TestHost) -> u64 {
    host.engine().counts().expedited
}

fn funnel_trace(host: &mut TestHost) -> Vec<String> {
    let lines = host.take_trace().into_iter();
    let lines = lines.filter(|line| line.starts_with("rcu_exp_funnel_lock"));
    lines
        .map(|line| line.replace("rcu_exp_funnel_lock: rcu_preempt ", ""))
        .collect()
}

#[test]
fn with_no_caller_ahead_and_the_role_free_nothing_is_climbed() {
    let mut host = machine(8, 2);
    let caller = host.expedite(5);
    assert_eq!(host.exp_step(caller), Doing::Begins);
    assert_eq!(funnel_trace(&mut host), [""; 0]);
    assert!(host.exp_drive(caller, 200));
}

#[test]
fn callers_meet_in_the_tree_and_one_of_them_gets_to_the_root() {
    let mut host = machine(8, 2);
    host.enter(0);
    let first = host.expedite(1);
    host.exp_until(first, |doing| {
        doing == Doing::Drives(ExpNext::Sleep(Some(1)))
    });
    host.take_trace();
    // The grace period in flight may be too old for these.
    let second = host.expedite(7);
    assert_eq!(host.exp_step(second), Doing::Contends);
    let climb = ["2 6 7 nxtlvl", "1 4 7 nxtlvl"];
    assert_eq!(funnel_trace(&mut host), climb);
    let queue = (host.exp_cookie(second).ctr() & 3) as u8;
    let third = host.expedite(6);
    assert_eq!(
        host.exp_step(third),
        Doing::Sleeps(6, queue),
        "its own leaf"
    );
    assert_eq!(funnel_trace(&mut host), ["2 6 7 wait"]);
    let fourth = host.expedite(4);
    assert_eq!(
        host.exp_step(fourth),
        Doing::Sleeps(2, queue),
        "one level up"
    );
    let fifth = host.expedite(0);
    assert_eq!(host.exp_step(fifth), Doing::Sleeps(0, queue), "at the root");
    assert_eq!(host.exp_step(second), Doing::Contends, "the role is taken");

    host.deliver_interrupts();
    host.exit(0);
    assert!(host.exp_drive(first, 200));
    assert_eq!(gps(&host), 1);
    for caller in [third, fourth, fifth] {
        assert!(
            matches!(host.exp_doing(caller), Doing::Sleeps(..)),
            "too old"
        );
    }
    assert!(host.exp_drive(second, 200));
    for caller in [third, fourth, fifth] {
        assert_eq!(host.exp_doing(caller), Doing::Returned);
    }
    assert_eq!(
        gps(&host),
        2,
        "one for the first caller, one for all others"
    );
}

#[test]
fn a_cookie_from_before_the_start_is_served_by_another_callers_grace_period() {
    let mut host = machine(4, 2);
    let (first, second, third) = (host.expedite(0), host.expedite(1), host.expedite(2));
    host.exp_until(first, |doing| doing == Doing::Drives(ExpNext::Again));
    assert_eq!(
        host.exp_step(second),
        Doing::Contends,
        "the first caller did not enter the funnel"
    );
    assert!(host.exp_drive(first, 200));
    host.take_trace();
    assert_eq!(host.exp_step(second), Doing::Begins, "it got the role");
    assert_eq!(
        host.exp_step(second),
        Doing::Returned,
        "and found its cookie done"
    );
    assert_eq!(
        host.exp_step(third),
        Doing::Returned,
        "so did the third caller, without a sleep"
    );
    assert_eq!(gps(&host), 1);
    let done = "rcu_exp_grace_period: rcu_preempt 4 done";
    assert_eq!(host.take_trace(), [done, done]);
    let fourth = host.expedite(3);
    assert!(host.exp_drive(fourth, 200), "the role is free");
    assert_eq!(gps(&host), 2);
}

#[test]
fn a_caller_in_any_phase_leads_to_exactly_one_more_grace_period() {
    for steps in 0..40 {
        let mut host = machine(4, 2);
        let first = host.expedite(0);
        host.exp_step(first);
        host.exp_step(first);
        assert_ne!(host.engine().exp_phase(), ExpPhase::Idle);
        for _ in 0..steps {
            host.exp_step(first);
        }
        let over = host.engine().exp_phase() == ExpPhase::Idle;
        let second = host.expedite(3);
        let third = host.expedite(1);
        for _ in 0..200 {
            for caller in [first, third, second] {
                host.exp_step(caller);
            }
        }
        for caller in [first, second, third] {
            assert_eq!(host.exp_doing(caller), Doing::Returned, "{steps} steps");
        }
        assert_eq!(gps(&host), 2, "{steps} steps, over: {over}");
    }
}

#[test]
fn the_next_grace_period_begins_during_the_wake_ups_and_ends_after_them() {
    let mut host = machine(8, 2);
    let first = host.expedite(0);
    host.exp_until(first, |doing| doing == Doing::Wakes);
    host.exp_step(first);
    let second = host.expedite(1);
    assert!(!host.exp_drive(second, 300), "{:?}", host.exp_doing(second));
    assert_eq!(host.engine().exp_phase(), ExpPhase::Wait);
    assert_eq!(gps(&host), 1);
    assert!(host.exp_drive(first, 50), "the wake-ups are done");
    assert!(host.exp_drive(second, 50));
    assert_eq!(gps(&host), 2);
}

#[test]
fn three_generations_are_kept_apart() {
    let mut host = machine(4, 2);
    host.enter(3);
    let first = host.expedite(0);
    host.exp_until(first, |doing| {
        doing == Doing::Drives(ExpNext::Sleep(Some(1)))
    });
    let second = host.expedite(1);
    host.exp_step(second);
    let waits_second = host.expedite(2);
    assert!(matches!(host.exp_step(waits_second), Doing::Sleeps(..)));
    host.deliver_interrupts();
    host.exit(3);
    // The first caller wakes its waiters when the second starts, and then a third generation arrives.
    host.exp_until(first, |doing| doing == Doing::Wakes);
    host.exp_until(second, |doing| matches!(doing, Doing::Drives(_)));
    let third = host.expedite(0);
    assert_eq!(host.exp_step(third), Doing::Contends);
    let waits_third = host.expedite(2);
    let at = host.exp_step(waits_third);
    let queues = [host.exp_doing(waits_second), at].map(|doing| match doing {
        Doing::Sleeps(_, queue) => queue,
        other => panic!("{other:?}"),
    });
    assert_ne!(queues[0], queues[1]);
    assert!(host.exp_drive(first, 50));
    assert!(matches!(host.exp_doing(waits_second), Doing::Sleeps(..)));
    assert!(host.exp_drive(second, 200));
    assert_eq!(host.exp_doing(waits_second), Doing::Returned);
    assert_eq!(host.exp_doing(waits_third), at, "another generation");
    assert!(host.exp_drive(third, 200));
    assert_eq!(host.exp_doing(waits_third), Doing::Returned);
    assert_eq!(gps(&host), 3);
}

#[test]
fn four_thousand_generations_wrap_the_queues() {
    let mut host = machine(4, 2);
    for i in 0..4000 {
        let caller = host.expedite(i % 4);
        assert!(host.exp_drive(caller, 200), "{i}");
        host.take_trace();
    }
    assert_eq!(gps(&host), 4000);
}

#[test]
fn a_cpu_beyond_the_tree_makes_it_grow_before_the_start() {
    let mut host = machine(2, 2);
    assert_eq!(host.register(), 2);
    host.enter(2);
    let caller = host.expedite(0);
    assert!(!host.exp_drive(caller, 200));
    assert_eq!(host.engine().cpus(), 3);
    assert_eq!(host.engine().exp_holdouts().collect::<Vec<_>>(), [2]);
    host.exit(2);
    assert!(host.exp_drive(caller, 200));
}

#[test]
fn a_tree_that_an_expedited_grace_period_stands_on_is_not_replaced() {
    let mut host = machine(2, 2);
    host.enter(1);
    let caller = host.expedite(0);
    assert!(!host.exp_drive(caller, 100));
    assert_eq!(host.register(), 2);
    let ticket = host.wait_for_gp(0);
    host.drive(ticket, 20);
    assert_eq!(host.engine().cpus(), 2, "the normal one waits");
    host.exit(1);
    assert!(host.exp_drive(caller, 100));
    host.drive(ticket, 200);
    assert!(host.satisfied(ticket));
    assert_eq!(host.engine().cpus(), 3);
}

/// While a normal grace period uses the small tree, the role is kept and no expedited one starts.
#[test]
fn a_start_waits_for_the_normal_grace_period_that_stands_on_a_small_tree() {
    let mut host = machine(2, 2);
    host.enter(1);
    let ticket = host.wait_for_gp(0);
    host.drive(ticket, 20);
    assert_eq!(host.register(), 2);
    let caller = host.expedite(0);
    assert!(!host.exp_drive(caller, 20));
    assert_eq!(host.exp_doing(caller), Doing::Begins);
    host.exit(1);
    host.drive(ticket, 200);
    assert!(host.exp_drive(caller, 100));
    assert_eq!(host.engine().cpus(), 3);
}
