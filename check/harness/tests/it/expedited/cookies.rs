//! Cookies, polling, and tunables.

use super::machine;
use quiescent_harness::host::{Doing, TestHost};
use quiescent_kernel::exp::{ExpNext, Expedite};
use quiescent_kernel::polled::GpKind;
use quiescent_kernel::{Config, FullCookie, Global};

fn full(host: &TestHost) -> FullCookie {
    FullCookie::take(host.engine().published().global, host.engine().exp_seq())
}

#[test]
fn a_full_cookie_is_done_by_an_expedited_grace_period_alone() {
    let mut host = machine(4, 2);
    let cookie = full(&host);
    let caller = host.expedite(0);
    host.exp_until(caller, |doing| doing == Doing::Drives(ExpNext::Done));
    assert!(host.poll(cookie), "before any caller is woken");
    let mut host = machine(4, 2);
    host.enter(3);
    let caller = host.expedite(0);
    assert!(!host.exp_drive(caller, 100));
    let cookie = full(&host);
    host.exit(3);
    assert!(host.exp_drive(caller, 100));
    assert!(!host.poll(cookie), "it was taken while one was in flight");
    let caller = host.expedite(0);
    assert!(host.exp_drive(caller, 100) && host.poll(cookie));
}

#[test]
fn a_normal_grace_period_does_not_move_the_expedited_number() {
    let mut host = machine(4, 2);
    let (before, caller) = (host.engine().exp_seq(), host.expedite(0));
    let ticket = host.wait_for_gp(0);
    host.drive(ticket, 200);
    assert!(host.satisfied(ticket));
    assert_eq!(host.engine().exp_seq(), before);
    assert!(!host.engine().exp_done(host.exp_cookie(caller)));
    assert!(host.exp_drive(caller, 100));
}

#[test]
fn overlapping_grace_periods_of_both_kinds_count_once_in_the_merged_counter() {
    let mut host = machine(4, 2);
    host.enter(3);
    let ticket = host.wait_for_gp(0);
    host.drive(ticket, 20);
    let cookie = host.engine().polled().state(); // a normal one is in flight
    host.set_ticking(3, true);
    let caller = host.expedite(1);
    assert!(!host.exp_drive(caller, 100));
    host.exit(3);
    assert!(host.exp_drive(caller, 100));
    assert!(!host.engine().polled().poll(cookie), "one may be missed");
    let caller = host.expedite(1);
    assert!(host.exp_drive(caller, 100));
    assert!(host.engine().polled().poll(cookie), "two are not");
}

#[test]
fn expedited_polling_queues_one_work_a_leaf_which_goes_on_until_the_cookie_is_done() {
    for overlap in [false, true] {
        let mut host = machine(4, 2);
        if overlap {
            host.set_ticking(3, true);
            host.enter(3);
            let ticket = host.wait_for_gp(0);
            host.drive(ticket, 20);
            host.note(3);
        }
        let first = host.start_poll_expedited(0);
        assert!(first.queue_work);
        let again = host.start_poll_expedited(1);
        assert!(!again.queue_work, "the leaf's work is queued");
        let other = host.start_poll_expedited(2);
        assert!(other.queue_work, "another leaf");
        host.enter(1); // blocks the first one until it leaves
        let mut rounds = 0;
        while host.exp_poll_work(0) {
            rounds += 1;
            assert!(rounds <= 2, "two grace periods always suffice");
            let caller = host.expedite(0);
            host.exp_drive(caller, 100);
            for _ in 0..3 {
                for cpu in [1, 3] {
                    if host.engine().exp_holdouts().any(|at| at == cpu) {
                        host.exit(cpu);
                    }
                }
                host.exp_drive(caller, 100);
            }
        }
        assert_eq!(rounds, if overlap { 2 } else { 1 }, "overlap {overlap}");
        for poll in [first, again, other] {
            assert!(host.poll(poll.full) && host.engine().polled().poll(poll.merged));
        }
        assert!(!host.exp_poll_work(2), "nothing left to wait for");
        assert!(host.start_poll_expedited(0).queue_work);
    }
}

#[test]
fn the_work_asked_for_moves_to_a_larger_tree() {
    let mut host = machine(2, 2);
    let poll = host.start_poll_expedited(0);
    assert_eq!(host.register(), 2);
    let ticket = host.wait_for_gp(0);
    host.help(2);
    assert_eq!(host.engine().cpus(), 3);
    assert!(host.exp_poll_work(0), "the request is kept");
    host.drive(ticket, 200);
    assert!(host.poll(poll.full) && !host.exp_poll_work(0));
}

#[test]
fn the_knobs_choose_as_the_table_says() {
    use GpKind::{Expedited, Normal};
    let set = |normal, expedited| Expedite { normal, expedited };
    // A normal request, and an expedited one.
    let table = [
        (Expedite::up(), [Normal, Expedited]),
        (set(true, false), [Normal, Normal]),
        (set(false, true), [Expedited, Expedited]),
        (set(true, true), [Normal, Normal]),
    ];
    for (knobs, want) in table {
        let mut engine = Global::new(Config::kernel_6_12(4, 1000));
        engine.set_expedite(knobs);
        let got = [GpKind::Normal, GpKind::Expedited].map(|kind| engine.choose(kind));
        assert_eq!(got, want, "{knobs:?}");
    }
}

#[test]
fn rounds_with_expedited_grace_periods_end() {
    let mut host = machine(4, 2);
    let ticket = host.wait_for_gp(0);
    host.drive(ticket, 100);
    for round in 0..20u32 {
        let (cpu, other) = (round % 4, (round + 1) % 4);
        host.enter(cpu);
        let caller = host.expedite(other);
        host.exp_drive(caller, round);
        let ticket = host.wait_for_gp(0);
        host.drive(ticket, round);
        let task = host.preempt(cpu);
        let second = host.expedite(cpu);
        host.exp_step(second);
        host.exp_drive(caller, 50);
        host.start_poll_expedited(cpu);
        host.resume(task, other);
        host.exit(other);
        host.drive(ticket, 300);
        for _ in 0..20 {
            host.exp_drive(caller, 10);
            host.exp_drive(second, 10);
        }
        let doing = [caller, second].map(|caller| host.exp_doing(caller));
        assert_eq!(doing, [Doing::Returned; 2], "round {round}");
        assert!(host.satisfied(ticket), "round {round}");
        host.exp_poll_work(cpu);
    }
}
