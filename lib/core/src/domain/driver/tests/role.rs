//! The role: lost, handed over, and taken over; and waiters.

use super::*;
use crate::reader::mode::FenceMode;

/// More waiters than are woken at once.
const MANY: usize = 40;
/// The number of waiters that are woken at once.
const BATCH: usize = 16;

/// Another thread takes the role of `turn`.
fn take_over(fixture: &Fixture, turn: &mut Turn<'static>) {
    turn.core = None;
    let mut core = fixture.lock();
    let long = 1_000_000_000_000;
    let at = prim::now_ns() + long;
    assert!(matches!(
        core.engine.take_over(None, Interest::Poller, at, false),
        Look::At(_)
    ));
    assert_eq!(
        core.engine
            .take_over(None, Interest::Poller, at + long, false),
        Look::TakenOver
    );
}

#[test]
fn a_replaced_driver_makes_no_engine_call() {
    type Does = fn(&mut Turn<'static>);
    let what: [(&str, Does); 8] = [
        ("step", |turn| assert_eq!(turn.step(0), Next::Done)),
        ("drive", |turn| {
            assert_eq!(turn.drive(Interest::Poller, None), Drive::Replaced);
        }),
        ("flag", |turn| {
            assert_eq!(turn.flag_holdouts(true), Next::Done)
        }),
        ("fence", |turn| {
            assert_eq!(fence_here(turn), Ok(Next::Done));
        }),
        ("grow", |turn| assert_eq!(turn.grow(100), Ok(()))),
        ("go on behind a fence", |turn| {
            let end = turn.drive_fenced(Ok(None), Interest::Poller);
            assert_eq!(end, Drive::Replaced);
        }),
        ("leave", |turn| turn.leave()),
        ("ask", |turn| assert!(!turn.is_driver())),
    ];
    for (name, what) in what {
        let fixture = fixture();
        let section = fixture.enter();
        fixture.start_poll();
        let mut turn = fixture.turn(Interest::Poller);
        take_over(&fixture, &mut turn);
        let before = fixture.lock().engine.clone();
        what(&mut turn);
        assert!(turn.lost, "{name}");
        turn.core = None;
        let core = fixture.lock();
        assert_eq!(core.engine, before, "{name}");
        assert!(core.engine.is_driven(), "{name}");
        assert_eq!(fixture.sleeper.load(Ordering::Relaxed), NO_SLEEPER);
        assert_eq!(fixture.flags(), [FLAG_CLEAR; 2], "{name}");
        assert_eq!(get(&fixture.counters.hand_overs), 0);
        drop(core);
        // It stays lost.
        turn.leave();
        assert!(!turn.is_driver() && turn.lost);
        turn.core = None;
        assert!(fixture.is_driven());
        let _ = fixture.leave(section);
    }
}

/// A take-over first wakes the sleeping driver, with the lock released.
#[test]
fn a_takeover_wakes_the_sleeping_driver() {
    let fixture = fixture();
    let turn = fixture.turn(Interest::Poller);
    assert!(turn.core.is_some());
    drop(turn);
    let turn = Turn::begin(fixture.state, fixture.state.lock(), Look::TakenOver);
    assert!(turn.core.is_none());
}

/// The passing of time alone does not lose the role.
#[test]
fn the_role_is_kept_without_a_takeover() {
    let fixture = fixture();
    let mut turn = fixture.turn(Interest::Poller);
    turn.unlocked(|_| ());
    assert!(turn.is_driver() && !turn.lost);
    turn.leave();
    assert!(!fixture.is_driven());
}

#[test]
fn all_waiters_are_satisfied() {
    let fixture = fixture();
    let waiters = fixture.waiting(&mut fixture.lock(), MANY);
    let mut turn = fixture.turn(Interest::Waiter(waiters[0].ticket));
    let end = turn.drive(Interest::Waiter(waiters[0].ticket), None);
    assert_eq!(end, Drive::Home);
    turn.leave();
    assert!(waiters.iter().all(|waiter| state(waiter) == DONE));
    assert_eq!(get(&fixture.counters.wakeups), MANY as u64);
    assert_eq!(get(&fixture.counters.hand_overs), 0);
    assert_eq!(fixture.ended(), 1);
}

/// A waiter that arrives during a grace period needs the next, and has to drive it; waiters that are
/// satisfied before are woken, possibly as many as can be woken at once.
#[test]
fn the_role_is_handed_over_to_the_first_waiter() {
    for satisfied in [1, BATCH, MANY] {
        let fixture = fixture();
        let waiters = fixture.waiting(&mut fixture.lock(), satisfied);
        let first = Interest::Waiter(waiters[0].ticket);
        let mut turn = fixture.turn(first);
        loop {
            match turn.step(0) {
                Next::Fence(_) => break,
                Next::Grow(cpus) => assert_eq!(turn.grow(cpus), Ok(())),
                next => assert_eq!(next, Next::Again),
            }
        }
        let late = fixture.waiting(turn.core(), 2);
        assert_eq!(fence_here(&mut turn), Ok(Next::Again));
        assert_eq!(turn.drive(first, None), Drive::Home);
        assert!(waiters.iter().all(|waiter| state(waiter) == DONE));
        turn.leave();
        assert!(!fixture.is_driven());
        assert!(late[0].take_drive(), "{satisfied}");
        assert_eq!(state(&late[1]), WAITING);
        assert_eq!(get(&fixture.counters.hand_overs), 1);
        assert_eq!(get(&fixture.counters.wakeups), satisfied as u64 + 1);
        // It drives, and both are satisfied.
        let next = Interest::Waiter(late[0].ticket);
        let mut turn = fixture.turn(next);
        assert_eq!(turn.drive(next, None), Drive::Home);
        turn.leave();
        assert!(late.iter().all(|waiter| state(waiter) == DONE));
        assert_eq!(get(&fixture.counters.hand_overs), 1);
    }
}

/// The store that ends a fenced section may be exchanged with the load of the flag behind it. Then no one
/// wakes the driver: it has to look itself. `[RD-4]`
#[test]
fn a_driver_finds_out_that_a_fenced_reader_has_left_unheard() {
    let program = program();
    assert_eq!(program.env.force_mode(FenceMode::Fenced), Ok(()));
    let state = &program.env.state;
    state.domain().set(|it| it.stall_ns = 0); // a report would make it look, too
    std::thread::scope(|scope| {
        let (open, opened) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        scope.spawn(move || {
            let reader = program.lock();
            open.send(()).expect("the test listens");
            ended.recv().expect("the test says so");
            reader.word.fetch_sub(1, Ordering::Release); // and no load of the flag
        });
        opened.recv().expect("it reads");
        let patience = Duration::from_secs(30); // it would be late then
        let waits = scope.spawn(move || state.synchronize(How::within(patience)));
        while state.sleeper.load(Ordering::Acquire) == NO_SLEEPER {
            assert!(!waits.is_finished(), "a reader is inside");
            std::thread::yield_now();
        }
        end.send(()).expect("it waits");
        let ended = std::time::Instant::now();
        assert_eq!(waits.join().expect("no panic"), Ok(()));
        assert!(
            ended.elapsed() < patience / 2,
            "it looked at its deadline only"
        );
    });
}
