//! The role: lost, handed over, and taken from somebody; and waiters.

use super::*;

/// More than are woken at once.
const MANY: usize = 40;
/// As many as are.
const BATCH: usize = 16;

/// The role of `turn` is somebody else's.
fn usurp(double: &Double, turn: &mut Turn<'static>) {
    turn.core = None;
    let mut core = double.lock();
    let long = 1_000_000_000_000;
    let at = prim::now_ns() + long;
    assert!(matches!(
        core.take_over(None, Interest::Poller, at, false),
        Look::At(_)
    ));
    assert_eq!(
        core.take_over(None, Interest::Poller, at + long, false),
        Look::TakenOver
    );
}

#[test]
fn who_has_lost_the_role_does_nothing_any_more() {
    type Does = fn(&mut Turn<'static>);
    let what: [(&str, Does); 7] = [
        ("step", |turn| assert_eq!(turn.step(0), Next::Done)),
        ("drive", |turn| {
            assert_eq!(turn.drive(Interest::Poller, None), Drive::Usurped);
        }),
        ("flag", |turn| {
            assert_eq!(turn.flag_holdouts(true), Next::Done)
        }),
        ("fence", |turn| {
            assert_eq!(fence_here(turn), Ok(Next::Done));
        }),
        ("grow", |turn| assert_eq!(turn.grow(100), Ok(()))),
        ("leave", |turn| turn.leave()),
        ("ask", |turn| assert!(!turn.is_driver())),
    ];
    for (name, what) in what {
        let (double, _alone) = double();
        let section = double.readers.enter();
        double.start_poll();
        let mut turn = double.turn(Interest::Poller);
        usurp(&double, &mut turn);
        let before = double.lock().engine.clone();
        what(&mut turn);
        assert!(turn.lost, "{name}");
        turn.core = None;
        let core = double.lock();
        assert_eq!(*core.engine, before, "{name}");
        assert!(core.engine.is_driven(), "{name}");
        assert_eq!(double.sleeper.load(Ordering::Relaxed), SLEEPER_NOBODY);
        assert_eq!(double.flags(), [FLAG_CLEAR; 2], "{name}");
        assert_eq!(get(&double.counters.hand_overs), 0);
        drop(core);
        // It stays lost.
        turn.leave();
        assert!(!turn.is_driver() && turn.lost);
        turn.core = None;
        assert!(double.is_driven());
        let _ = double.readers.leave(section);
    }
}

/// Who sleeps still is woken first, which takes the lock away.
#[test]
fn who_takes_the_role_from_somebody_wakes_him() {
    let (double, _alone) = double();
    let turn = double.turn(Interest::Poller);
    assert!(turn.core.is_some());
    drop(turn);
    let turn = Turn::begin(double.state, double.state.lock(), Look::TakenOver);
    assert!(turn.core.is_none());
}

/// A time that has passed is not a reason to have lost it.
#[test]
fn nobody_else_means_the_role_is_ours() {
    let (double, _alone) = double();
    let mut turn = double.turn(Interest::Poller);
    turn.unlocked(|_| ());
    assert!(turn.is_driver() && !turn.lost);
    turn.leave();
    assert!(!double.is_driven());
}

#[test]
fn all_who_wait_are_satisfied() {
    let (double, _alone) = double();
    let waiters = double.waiting(&mut double.lock(), MANY);
    let mut turn = double.turn(Interest::Waiter(waiters[0].ticket));
    let end = turn.drive(Interest::Waiter(waiters[0].ticket), None);
    assert_eq!(end, Drive::Home);
    turn.leave();
    assert!(waiters.iter().all(|waiter| state(waiter) == DONE));
    assert_eq!(get(&double.counters.wakeups), MANY as u64);
    assert_eq!(get(&double.counters.hand_overs), 0);
    assert_eq!(double.ended(), 1);
}

/// One who comes during a grace period needs the next, and has to drive it; whoever is to be woken before is, and there may be
/// as many of these as can be woken at once.
#[test]
fn the_role_is_handed_over_to_one_who_waits() {
    for satisfied in [1, BATCH, MANY] {
        let (double, _alone) = double();
        let waiters = double.waiting(&mut double.lock(), satisfied);
        let first = Interest::Waiter(waiters[0].ticket);
        let mut turn = double.turn(first);
        loop {
            match turn.step(0) {
                Next::Fence(_) => break,
                Next::Grow(cpus) => assert_eq!(turn.grow(cpus), Ok(())),
                next => assert_eq!(next, Next::Again),
            }
        }
        let late = double.waiting(turn.core(), 2);
        assert_eq!(fence_here(&mut turn), Ok(Next::Again));
        assert_eq!(turn.drive(first, None), Drive::Home);
        assert!(waiters.iter().all(|waiter| state(waiter) == DONE));
        turn.leave();
        assert!(!double.is_driven());
        assert!(late[0].take_drive(), "{satisfied}");
        assert_eq!(state(&late[1]), WAITING);
        assert_eq!(get(&double.counters.hand_overs), 1);
        assert_eq!(get(&double.counters.wakeups), satisfied as u64 + 1);
        // It drives, and both are satisfied.
        let next = Interest::Waiter(late[0].ticket);
        let mut turn = double.turn(next);
        assert_eq!(turn.drive(next, None), Drive::Home);
        turn.leave();
        assert!(late.iter().all(|waiter| state(waiter) == DONE));
        assert_eq!(get(&double.counters.hand_overs), 1);
    }
}
