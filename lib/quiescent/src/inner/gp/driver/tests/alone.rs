//! One thread that drives, and nobody who takes the role away.

use super::*;

/// Long ago.
const PAST: How = How {
    deadline: Some(1),
    expedited: false,
};

#[test]
fn sleeping_drivers_have_names() {
    assert_eq!([0, 1, 6].map(sleeper_of), [1, 3, 13]);
    assert_ne!(sleeper_of(0), SLEEPER_NOBODY);
}

#[test]
fn time_to_give_up() {
    let (before, how) = (prim::now_ns(), How::within(Duration::from_secs(3600)));
    let deadline = how.deadline.expect("it has one");
    assert!(deadline >= before + 3600 * 1_000_000_000 && !how.expedited);
}

#[test]
fn one_grace_period_is_one_fence_and_one_end() {
    let (double, _alone) = double();
    let before = double.root_seq.load(Ordering::Relaxed);
    for n in 1..4 {
        assert_eq!(double.synchronize(How::default()), Ok(()));
        assert_eq!(get(&double.counters.fences_gp), n);
        assert_eq!(get(&double.ended), n);
    }
    assert_ne!(double.root_seq.load(Ordering::Relaxed), before);
    assert_eq!(get(&double.counters.fences_flag), 0);
    assert_eq!(get(&double.counters.sleeps), 0);
    assert!(!double.is_driven());
    assert_eq!(double.flags(), [FLAG_CLEAR; 2]);
}

#[test]
fn a_fence_that_is_refused_is_an_error_and_nobody_drives() {
    let (double, _alone) = double();
    double.errno.store(7, Ordering::Relaxed);
    let refused = SyncError::FenceRefused { errno: 7 };
    assert_eq!(double.synchronize(How::default()), Err(refused.clone()));
    assert!(!double.is_driven());
    let cookie = double.start_poll();
    assert_eq!(double.poll(cookie), Err(refused));
    assert!(!double.is_driven());
    double.errno.store(0, Ordering::Relaxed);
    assert_eq!(double.synchronize(How::default()), Ok(()));
    assert_eq!(double.poll(cookie), Ok(true));
}

#[test]
fn a_poll_drives_as_far_as_it_need_not_wait() {
    let (double, _alone) = double();
    let cookie = double.start_poll();
    assert!(!double.is_done(cookie));
    assert_eq!(double.poll(cookie), Ok(true));
    assert!(double.is_done(cookie) && !double.is_driven());
    let section = double.readers.enter();
    let cookie = double.start_poll();
    for _ in 0..2 {
        assert_eq!(double.poll(cookie), Ok(false));
        assert!(!double.is_driven());
    }
    assert_eq!(get(&double.counters.sleeps), 0);
    let _ = double.readers.leave(section);
    assert_eq!(double.poll(cookie), Ok(true));
}

#[test]
fn a_poll_goes_by_what_others_do() {
    let (double, _alone) = double();
    let cookie = double.start_poll();
    let core = double.lock();
    assert_eq!(double.poll(cookie), Ok(false)); // the lock is taken
    drop(core);
    assert!(double.lock().try_drive(None, Interest::Poller));
    assert_eq!(double.poll(cookie), Ok(false)); // so is the role
    assert!(double.is_driven());
    double.drive_once(double.lock(), None, Interest::Poller);
    assert!(!double.is_done(cookie));
    let _ = double.lock().leave();
    double.drive_once(double.lock(), None, Interest::Poller);
    assert!(double.is_done(cookie) && !double.is_driven());
}

/// A reader is in the way: it is flagged, once, and slept for.
#[test]
fn a_reader_is_flagged_and_slept_for() {
    let (double, _alone) = double();
    let section = double.readers.enter();
    let timed_out = Err(SyncError::TimedOut {
        holdouts: Vec::new(),
    });
    let how = How::within(Duration::from_millis(20));
    assert_eq!(double.synchronize(how), timed_out);
    assert!(get(&double.counters.sleeps) > 0);
    assert_eq!(get(&double.counters.fences_flag), 1);
    assert_eq!(double.sleeper.load(Ordering::Relaxed), SLEEPER_NOBODY);
    assert!(!double.is_driven());
    let mut flags = double.flags();
    flags.sort_unstable();
    assert_eq!(flags, [FLAG_CLEAR, FLAG_WAKE]);
    assert_eq!(get(&double.ended), 0);
    // Who has no time does not sleep at all.
    let sleeps = get(&double.counters.sleeps);
    assert_eq!(double.synchronize(PAST), timed_out);
    assert_eq!(get(&double.counters.sleeps), sleeps);
    assert!(double.readers.leave(section));
    assert_eq!(double.synchronize(PAST), Ok(()));
}

#[test]
fn a_driver_sleeps_until_the_time_it_is_told() {
    let (double, _alone) = double();
    let mut turn = double.turn(Interest::Poller);
    let sleeper = sleeper_of(turn.reign);
    let mut sleep = |until, deadline| {
        double.sleeper.store(sleeper, Ordering::Relaxed);
        let before = get(&double.counters.sleeps);
        let slept = turn.sleep(Until::Ns(until), deadline);
        assert_eq!(double.sleeper.load(Ordering::Relaxed), SLEEPER_NOBODY);
        assert!(turn.core.is_none(), "not under the lock");
        (slept, get(&double.counters.sleeps) - before)
    };
    let soon = prim::now_ns() + 5_000_000;
    let late = soon + 3_600_000_000_000;
    assert_eq!(sleep(soon, None), (true, 1));
    assert!(prim::now_ns() >= soon);
    assert_eq!(sleep(0, None), (true, 0)); // that is past
    assert_eq!(sleep(late, Some(1)), (false, 0)); // so is the deadline
    let soon = prim::now_ns() + 5_000_000;
    assert_eq!(sleep(late, Some(soon)), (true, 1)); // it has not passed when it falls asleep
    assert!(turn.sleep(Until::Jiffies(3), None));
    turn.leave();
}

/// Whoever has been woken, or has lost the role, leaves the word to the one who is in it.
#[test]
fn another_sleeper_s_name_stays() {
    let (double, _alone) = double();
    let mut turn = double.turn(Interest::Poller);
    let other = sleeper_of(turn.reign + 1);
    double.sleeper.store(other, Ordering::Relaxed);
    let late = prim::now_ns() + 3_600_000_000_000;
    assert!(turn.sleep(Until::Ns(late), None)); // not for a moment
    assert_eq!(double.sleeper.load(Ordering::Relaxed), other);
    turn.leave();
}

#[test]
fn a_sleeping_driver_is_roused_once() {
    let (double, _alone) = double();
    let woken = |by_reader| {
        double.rouse_driver(by_reader);
        assert_eq!(double.sleeper.load(Ordering::Relaxed), SLEEPER_NOBODY);
        get(&double.counters.reader_wakeups)
    };
    assert_eq!(woken(true), 0); // nobody sleeps
    double.sleeper.store(sleeper_of(4), Ordering::Relaxed);
    assert_eq!(woken(true), 1);
    assert_eq!(woken(true), 1);
    double.sleeper.store(sleeper_of(4), Ordering::Relaxed);
    assert_eq!(woken(false), 1);
}

/// The lock is let go of after so many steps, and after each wait.
#[test]
fn the_lock_is_not_held_for_ever() {
    let (double, _alone) = double();
    let mut turn = double.turn(Interest::GpThread);
    let locks = get(&double.locks);
    for _ in 0..STEPS_A_HOLD {
        let _ = turn.step(0);
    }
    assert_eq!((turn.steps, get(&double.locks)), (STEPS_A_HOLD, locks));
    let _ = turn.step(0);
    assert_eq!((turn.steps, get(&double.locks)), (0, locks + 1));
    let _ = turn.step(0);
    assert_eq!((turn.steps, get(&double.locks)), (1, locks + 1));
    turn.unlocked(|double| assert!(double.try_lock().is_some()));
    assert_eq!(turn.steps, 0);
    turn.leave();
}

#[test]
fn the_tree_grows() {
    let (double, _alone) = double();
    let mut turn = double.turn(Interest::Poller);
    let cpus = |core: &Core| core.engine.tree().map(|tree| tree.geometry().nr_cpus());
    let before = cpus(turn.core());
    assert_eq!(turn.grow(100), Ok(()));
    let after = cpus(turn.core());
    assert!(after > before && after >= Some(100), "{after:?}");
    turn.leave();
}

#[test]
fn a_stall_is_told_without_the_role() {
    let (double, _alone) = double();
    let mut turn = double.turn(Interest::Poller);
    turn.tell(Stalled {
        gp_seq: Seq::INITIAL,
        grace_period: 1,
        nth: 1,
        since_ns: 0,
        now_ns: 1,
    });
    assert_eq!(get(&double.told), 1);
    assert!(!double.is_driven());
}

/// Readers that leave while their driver sleeps wake it.
#[test]
fn a_driver_waits_for_a_reader_that_leaves() {
    let (double, _alone) = double();
    let section = double.readers.enter();
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| double.synchronize(How::default()));
        while get(&double.counters.sleeps) == 0 {
            std::thread::yield_now();
        }
        assert!(!waits.is_finished());
        assert!(double.readers.leave(section), "somebody waits for it");
        double.rouse_driver(true);
        assert_eq!(waits.join().expect("no panic"), Ok(()));
    });
}
