//! The lane of code that its owner runs.

use quiescent_engine::barrier::{Barrier, Begin, Visit};

use super::*;

const OWN: usize = Lane::Own as usize;

/// A rig whose owner runs the code of its own lane, with so much of it done.
fn with_own(done: u64) -> Rig {
    let mut rig = Rig::new();
    rig.queued[OWN].freed_to = Some(0);
    rig.push(OWN, done, 0);
    let _ = rig.refill(Urgency::Lazy, SECOND);
    rig.grace_period();
    let _ = rig.refill(Urgency::Lazy, SECOND);
    assert_eq!(rig.cpu.list(Lane::Own).ready(), done);
    rig
}

#[test]
fn what_an_owner_runs_is_no_worker_s() {
    let mut rig = with_own(BATCH);
    assert!(rig.cpu.owner_runs());
    assert_eq!((rig.cpu.ready_code(), rig.cpu.is_untended()), (0, false));
    rig.taken(false, SECOND);
    assert!(!rig.cpu.owner_runs());
    assert_eq!((rig.cpu.ready_code(), rig.cpu.is_untended()), (BATCH, true));
}

#[test]
fn an_owner_that_hurries_or_hands_off_runs_nothing() {
    let mut rig = with_own(9);
    let _ = rig.refill(Urgency::Hurry, SECOND);
    assert!(!rig.cpu.owner_runs());
    let mut rig = with_own(9);
    rig.queued[OWN].offload = true;
    let refill = rig.refill(Urgency::Lazy, SECOND);
    assert!(!rig.cpu.owner_runs() && !refill.kick);
    assert_eq!(rig.cpu.ready_code(), 9);
}

/// It queues inside sections only, so ready entries wait for another thread to run them.
#[test]
fn an_owner_that_queues_and_runs_nothing_is_relieved() {
    for (done, pushed, popped, relieved) in [
        (BATCH, BATCH / 8, 0, true),
        (BATCH, BATCH / 8, 1, false),
        (BATCH, 1, 0, false),
        (BATCH - 1, BATCH / 8, 0, false),
    ] {
        let mut rig = with_own(done);
        rig.push(OWN, pushed, 0);
        rig.queued[OWN].freed_to = Some(popped);
        let refill = rig.refill(Urgency::Lazy, SECOND);
        let case = format!("{done} {pushed} {popped}");
        assert_eq!(
            (refill.kick, rig.cpu.is_hurried()),
            (relieved, relieved),
            "{case}"
        );
        assert_eq!(rig.cpu.owner_runs(), !relieved, "{case}");
    }
}

/// A taker finds the owner in the middle of what it has popped: it is out until it is reported.
#[test]
fn what_is_running_keeps_the_share_of_a_barrier_open() {
    let mut rig = with_own(2);
    rig.queued[OWN].freed_to = Some(2);
    rig.queued[OWN].running = 2;
    rig.taken(false, SECOND);
    assert_eq!((rig.cpu.queued(Lane::Own), rig.cpu.is_empty()), (2, false));
    let mut barrier = Barrier::new();
    assert!(matches!(
        barrier.start(barrier.snap()),
        Begin::Started { .. }
    ));
    assert_eq!(rig.cpu.visit_barrier(&mut barrier), Visit::Noted);
    assert!(!barrier.visited_all());
    assert!(!rig.cpu.ran(Lane::Own, 0..1));
    assert!(rig.cpu.ran(Lane::Own, 1..2) && barrier.one_done());
    assert!(rig.cpu.is_empty());
    assert_eq!(rig.cpu.list(Lane::Own).since(), None);
}

#[test]
fn the_child_of_a_fork_forgets_what_was_running() {
    let mut rig = with_own(3);
    rig.queued[OWN].freed_to = Some(2);
    rig.queued[OWN].running = 1;
    let queued = rig.queued;
    let dropped = rig
        .cpu
        .forked(rig.machine.engine_mut(), &queued, false, now(SECOND));
    assert_eq!(
        (dropped, rig.cpu.is_empty(), rig.cpu.owner_runs()),
        (2, true, false)
    );
}
