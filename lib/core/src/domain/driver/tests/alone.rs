//! One thread that drives and keeps its role.

use quiescent_engine::Seq;

use super::*;

/// A deadline that has passed.
const PAST: How = How {
    deadline: Some(1),
    expedited: false,
};

#[test]
fn sleeper_words_are_distinct() {
    assert_eq!([0, 1, 6].map(sleeper_of), [1, 3, 13]);
    assert_ne!(sleeper_of(0), NO_SLEEPER);
}

#[test]
fn deadline_is_the_timeout_from_now() {
    let (before, how) = (prim::now_ns(), How::within(Duration::from_secs(3600)));
    let deadline = how.deadline.expect("it has one");
    assert!(deadline >= before + 3600 * 1_000_000_000 && !how.expedited);
}

#[test]
fn one_grace_period_is_one_fence_and_one_end() {
    let fixture = fixture();
    let before = fixture.root_seq.load(Ordering::Relaxed);
    for n in 1..4 {
        assert_eq!(fixture.synchronize(How::default()), Ok(()));
        assert_eq!(get(&fixture.counters.fences_gp), n);
        assert_eq!(fixture.ended(), n);
    }
    assert_ne!(fixture.root_seq.load(Ordering::Relaxed), before);
    assert_eq!(get(&fixture.counters.fences_flag), 0);
    assert_eq!(get(&fixture.counters.sleeps), 0);
    assert!(!fixture.is_driven());
    assert_eq!(fixture.flags(), [FLAG_CLEAR; 2]);
}

#[test]
fn a_sole_caller_takes_the_lock_once_for_one_step() {
    let fixture = unused();
    let _ = fixture.leave(fixture.enter());
    assert_eq!(fixture.synchronize(How::default()), Ok(()));
    let steps = || fixture.lock().engine.counts().steps;
    for n in 0..3 {
        let cookie = fixture.start_poll();
        let before = (steps(), fixture.locks(), fixture.ended());
        assert_eq!(
            fixture.synchronize([How::default(), How::EXPEDITED, PAST][n]),
            Ok(())
        );
        assert!(fixture.is_done(cookie), "its end is published");
        assert_eq!(fixture.locks() - before.1, 1);
        assert_eq!((fixture.ended() - before.2, steps() - before.0), (1, 1));
    }
    assert_eq!(get(&fixture.counters.fences_gp), 0);
    let section = fixture.enter();
    let how = How::within(Duration::from_millis(1));
    assert!(fixture.synchronize(how).is_err(), "its own section");
    let _ = fixture.leave(section);
    assert_eq!(fixture.synchronize(PAST), Ok(()));
}

#[test]
fn a_refused_fence_is_an_error_and_frees_the_role() {
    let fixture = fixture();
    fixture.probe.errno.store(7, Ordering::Relaxed);
    let refused = SyncError::FenceRefused { errno: 7 };
    assert_eq!(fixture.synchronize(How::default()), Err(refused.clone()));
    assert!(!fixture.is_driven());
    let cookie = fixture.start_poll();
    assert_eq!(fixture.poll(cookie), Err(refused));
    assert!(!fixture.is_driven());
    fixture.probe.errno.store(0, Ordering::Relaxed);
    assert_eq!(fixture.synchronize(How::default()), Ok(()));
    assert_eq!(fixture.poll(cookie), Ok(true));
}

#[test]
fn a_poll_drives_without_waiting() {
    let fixture = fixture();
    let cookie = fixture.start_poll();
    assert!(!fixture.is_done(cookie));
    assert_eq!(fixture.poll(cookie), Ok(true));
    assert!(fixture.is_done(cookie) && !fixture.is_driven());
    let section = fixture.enter();
    let cookie = fixture.start_poll();
    for _ in 0..2 {
        assert_eq!(fixture.poll(cookie), Ok(false));
        assert!(!fixture.is_driven());
    }
    assert_eq!(get(&fixture.counters.sleeps), 0);
    let _ = fixture.leave(section);
    assert_eq!(fixture.poll(cookie), Ok(true));
}

#[test]
fn a_poll_fails_while_the_lock_or_the_role_is_taken() {
    let fixture = fixture();
    let cookie = fixture.start_poll();
    let core = fixture.lock();
    assert_eq!(fixture.poll(cookie), Ok(false)); // the lock is taken
    drop(core);
    assert!(fixture.lock().engine.try_drive(None, Interest::Poller));
    assert_eq!(fixture.poll(cookie), Ok(false)); // so is the role
    assert!(fixture.is_driven());
    fixture.drive_once(fixture.state.lock(), None, Interest::Poller);
    assert!(!fixture.is_done(cookie));
    let _ = fixture.lock().engine.leave();
    fixture.drive_once(fixture.state.lock(), None, Interest::Poller);
    assert!(fixture.is_done(cookie) && !fixture.is_driven());
}

/// A reader blocks the grace period: it is flagged once, and the driver sleeps.
#[test]
fn a_blocking_reader_is_flagged_and_the_driver_sleeps() {
    let fixture = fixture();
    let section = fixture.enter();
    let is_named = |result: &Result<(), SyncError>| match result {
        Err(SyncError::TimedOut { holdouts }) => holdouts.len() == 1 && holdouts[0].nesting == 1,
        _ => false,
    };
    let how = How::within(Duration::from_millis(20));
    assert!(is_named(&fixture.synchronize(how)));
    assert!(get(&fixture.counters.sleeps) > 0);
    assert_eq!(get(&fixture.counters.fences_flag), 1);
    assert_eq!(fixture.sleeper.load(Ordering::Relaxed), NO_SLEEPER);
    assert!(!fixture.is_driven());
    let mut flags = fixture.flags();
    flags.sort_unstable();
    assert_eq!(flags, [FLAG_CLEAR, FLAG_WAKE]);
    assert_eq!(fixture.ended(), 0);
    // A caller whose deadline has passed does not sleep.
    let sleeps = get(&fixture.counters.sleeps);
    assert!(is_named(&fixture.synchronize(PAST)));
    assert_eq!(get(&fixture.counters.sleeps), sleeps);
    assert!(fixture.leave(section));
    assert_eq!(fixture.synchronize(PAST), Ok(()));
}

#[test]
fn a_driver_sleeps_until_its_timeout() {
    let fixture = fixture();
    let mut turn = fixture.turn(Interest::Poller);
    let sleeper = sleeper_of(turn.epoch);
    let mut sleep = |until, deadline| {
        fixture.sleeper.store(sleeper, Ordering::Relaxed);
        let before = get(&fixture.counters.sleeps);
        let slept = turn.sleep(until, deadline);
        assert_eq!(fixture.sleeper.load(Ordering::Relaxed), NO_SLEEPER);
        assert!(turn.core.is_none(), "not under the lock");
        (slept, get(&fixture.counters.sleeps) - before)
    };
    let soon = prim::now_ns() + 5_000_000;
    let late = soon + 3_600_000_000_000;
    assert_eq!(sleep(soon, None), (true, 1));
    assert!(prim::now_ns() >= soon);
    assert_eq!(sleep(0, None), (true, 0)); // in the past
    assert_eq!(sleep(late, Some(1)), (false, 0)); // the deadline is in the past
    let soon = prim::now_ns() + 5_000_000;
    assert_eq!(sleep(late, Some(soon)), (true, 1)); // the deadline passes during the sleep
    turn.leave();
}

/// A driver that was woken, or has lost the role, does not clear the word of another one.
#[test]
fn the_word_of_another_sleeper_is_kept() {
    let fixture = fixture();
    let mut turn = fixture.turn(Interest::Poller);
    let other = sleeper_of(turn.epoch + 1);
    fixture.sleeper.store(other, Ordering::Relaxed);
    let late = prim::now_ns() + 3_600_000_000_000;
    assert!(turn.sleep(late, None)); // returns at once
    assert_eq!(fixture.sleeper.load(Ordering::Relaxed), other);
    turn.leave();
}

#[test]
fn a_sleeping_driver_is_roused_once() {
    let fixture = fixture();
    let woken = |by_reader| {
        fixture.rouse_driver(by_reader);
        assert_eq!(fixture.sleeper.load(Ordering::Relaxed), NO_SLEEPER);
        get(&fixture.counters.reader_wakeups)
    };
    assert_eq!(woken(true), 0); // no driver sleeps
    fixture.sleeper.store(sleeper_of(4), Ordering::Relaxed);
    assert_eq!(woken(true), 1);
    assert_eq!(woken(true), 1);
    fixture.sleeper.store(sleeper_of(4), Ordering::Relaxed);
    assert_eq!(woken(false), 1);
}

/// The lock is released after a step that was not the last, and after each wait.
#[test]
fn the_lock_is_released_after_a_step() {
    let fixture = fixture();
    let mut turn = fixture.turn(Interest::Poller);
    let locks = fixture.locks();
    let _ = turn.step(0);
    assert_eq!((turn.steps, fixture.locks()), (1, locks));
    let _ = turn.step(0);
    assert_eq!((turn.steps, fixture.locks()), (0, locks + 1));
    let _ = turn.step(0);
    assert_eq!((turn.steps, fixture.locks()), (1, locks + 1));
    turn.unlocked(|fixture| assert!(fixture.try_lock().is_some()));
    assert_eq!(turn.steps, 0);
    turn.leave();
}

#[test]
fn the_tree_grows() {
    let fixture = fixture();
    let mut turn = fixture.turn(Interest::Poller);
    let cpus = |core: &Core| core.engine.cpus();
    let before = cpus(turn.core());
    assert_eq!(turn.grow(100), Ok(()));
    let after = cpus(turn.core());
    assert!(after > before && after >= 100, "{after:?}");
    turn.leave();
}

#[test]
fn a_stall_is_reported_without_the_role() {
    let fixture = fixture();
    let mut turn = fixture.turn(Interest::Poller);
    turn.report(Stalled {
        gp_seq: Seq::INITIAL,
        grace_period: 1,
        nth: 1,
        since_ns: 0,
        now_ns: 1,
    });
    assert_eq!(fixture.probe.reported.load(Ordering::Relaxed), 1);
    assert!(!fixture.is_driven());
}

/// A reader that ends its section wakes the sleeping driver.
#[test]
fn a_driver_waits_for_a_reader_that_leaves() {
    let fixture = fixture();
    let section = fixture.enter();
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| fixture.synchronize(How::default()));
        while get(&fixture.counters.sleeps) == 0 {
            std::thread::yield_now();
        }
        assert!(!waits.is_finished());
        assert!(fixture.leave(section), "a driver waits for it");
        fixture.rouse_driver(true);
        assert_eq!(waits.join().expect("no panic"), Ok(()));
    });
}

/// The engine learns the time of fences for deferred work, and only of these.
#[test]
fn a_fence_in_passing_is_for_deferred_work() {
    let fixture = fixture();
    for (interest, has_time) in [(Interest::Passing, true), (Interest::Poller, false)] {
        let mut turn = fixture.turn(interest);
        let fenced = turn
            .fence(FenceCause::GpStart, interest)
            .expect("not shared");
        let of_the_process =
            fixture.env().threads.mode.resolve() == crate::reader::mode::FenceMode::Membarrier;
        assert_eq!(
            fenced.map(|time| time.is_some()),
            Ok(has_time && of_the_process)
        );
        turn.leave();
    }
}
