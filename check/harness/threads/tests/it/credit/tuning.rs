//! Options: which thread reclaims, which thread runs code, and how long entries wait.

use super::*;

#[test]
fn an_owner_that_does_not_reclaim_leaves_a_full_batch_to_others() {
    let mut rig = Rig::new();
    rig.queued[PLAIN].offload = true;
    let first = rig.refill(Urgency::Lazy, 1);
    assert!(!first.kick && !first.drive, "nothing is queued: {first:?}");
    rig.push(PLAIN, BATCH - 1, 0);
    let short = rig.refill(Urgency::Lazy, 2);
    assert!(!short.kick && !short.drive, "no batch yet: {short:?}");
    assert!(!rig.cpu.is_hurried());
    rig.push(PLAIN, 1, 0);
    let full = rig.refill(Urgency::Lazy, 3);
    assert!(full.kick && !full.drive, "{full:?}");
    assert!(rig.cpu.is_hurried(), "the worker drives for it");
    assert!(rig.machine.engine().busy(), "a grace period is wanted");
}

#[test]
fn a_shorter_flush_time_moves_the_deadline_of_what_is_queued() {
    let mut rig = Rig::new();
    rig.push(PLAIN, 1, 0);
    let _ = rig.refill(Urgency::Lazy, SECOND);
    assert_eq!(rig.cpu.deadline(), Some(11 * SECOND));
    let global = rig.machine.engine_mut();
    global.set_flush_times(SECOND / 10, SECOND / 20);
    let armed = rig.cpu.retime(global, 2 * SECOND);
    assert_eq!(armed, Some(SECOND + SECOND / 10), "overdue at once");
    assert!(rig.cpu.due(now(2 * SECOND), false).is_some());
    let global = rig.machine.engine_mut();
    global.set_flush_times(100 * SECOND, SECOND / 20);
    assert_eq!(
        rig.cpu.retime(global, 2 * SECOND),
        None,
        "the timer is early enough"
    );
    assert_eq!(rig.cpu.deadline(), Some(101 * SECOND));
}

#[test]
fn an_empty_queue_has_no_deadline_after_a_change_of_times() {
    let mut rig = Rig::new();
    let global = rig.machine.engine_mut();
    global.set_flush_times(SECOND, SECOND);
    assert_eq!(rig.cpu.retime(global, SECOND), None);
    assert_eq!(rig.cpu.deadline(), None);
}

#[test]
fn code_that_waits_to_be_drained_has_no_deadline() {
    let mut rig = Rig::new();
    rig.machine.engine_mut().set_drained(true);
    rig.push(CODE, 1, 0);
    let _ = rig.refill(Urgency::Hurry, SECOND);
    rig.grace_period();
    assert!(!rig.cpu.is_hurried(), "no other thread has to act for it");
    let _ = rig.refill(Urgency::Lazy, 100 * SECOND);
    rig.push(PLAIN, 1, 0); // since the last refill
    let _ = rig.refill(Urgency::Lazy, 101 * SECOND);
    assert_eq!(rig.cpu.deadline(), Some(110 * SECOND));
    rig.machine.engine_mut().set_drained(false);
    let global = rig.machine.engine_mut();
    let _ = rig.cpu.retime(global, 101 * SECOND);
    assert_eq!(rig.cpu.deadline(), Some(11 * SECOND), "now it is overdue");
}

#[test]
fn extracted_entries_get_no_deadline_from_a_change_of_times() {
    let mut rig = Rig::new();
    rig.push(PLAIN, 1, 0);
    assert!(rig.taken(false, SECOND));
    let global = rig.machine.engine_mut();
    global.set_flush_times(SECOND, SECOND);
    assert_eq!(rig.cpu.retime(global, 2 * SECOND), None);
    assert_eq!(rig.cpu.deadline(), None);
}

#[test]
fn code_that_waited_to_be_drained_gets_its_deadline_when_that_is_over() {
    let mut rig = Rig::new();
    rig.machine.engine_mut().set_drained(true);
    rig.queued.iter_mut().for_each(|lane| lane.credit = false);
    rig.push(CODE, 1, 0);
    let _ = rig.refill(Urgency::Hurry, SECOND);
    rig.grace_period();
    let _ = rig.refill(Urgency::Lazy, 2 * SECOND);
    assert_eq!((rig.cpu.deadline(), rig.cpu.is_hurried()), (None, false));
    let global = rig.machine.engine_mut();
    global.set_drained(false);
    let _ = rig.cpu.retime(global, 3 * SECOND);
    assert_eq!(rig.cpu.deadline(), Some(11 * SECOND));
}

#[test]
fn flushes_are_counted_by_their_cause() {
    let mut rig = Rig::new();
    for _ in 0..2 {
        rig.push(PLAIN, 1, 0);
        let _ = rig.refill(Urgency::Hurry, SECOND);
    }
    let flushes = rig.machine.engine().counts().flushes;
    for cause in Cause::ALL {
        let count = if cause == Cause::Hurry { 2 } else { 0 };
        assert_eq!(flushes.of(cause), count, "{cause:?}");
        assert_eq!(cause.name(), format!("{cause:?}").to_lowercase());
    }
}

#[test]
fn a_queue_asks_for_the_next_grace_period_while_one_is_in_flight() {
    let mut machine = TestHost::threads(4);
    machine.enter(1);
    let ticket = machine.wait_for_gp(0);
    assert!(machine.try_drive(0, Interest::Waiter(ticket)));
    while machine.engine().phase() != Phase::Wait(quiescent_engine::Wait::Asleep) {
        let _ = machine.step();
    }
    let (global, mut cpu) = (machine.engine_mut(), Cpu::new(2));
    let mut queued = [Queued::default(); LANES];
    queued[PLAIN].end = 1;
    let next = global.published().snap();
    assert!(!global.is_coming(next));
    let _ = cpu.refill(global, &queued, Urgency::Hurry, now(0));
    assert!(global.is_coming(next));
}
