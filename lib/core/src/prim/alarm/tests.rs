//! The alarm on real descriptors.

use std::thread;
use std::time::Duration;

use super::*;
use crate::prim::now_ns;

/// Longer than any test.
const LONG: u64 = 1_000_000_000_000;

fn opened() -> &'static Alarm {
    let alarm: &'static Alarm = Box::leak(Box::new(Alarm::new()));
    alarm.open().expect("descriptors");
    alarm
}

fn set(alarm: &Alarm) -> u64 {
    *alarm.timer()
}

#[test]
fn a_timer_wakes_and_says_so() {
    let alarm = opened();
    assert!(!alarm.is_armed());
    let deadline = now_ns() + 2_000_000;
    alarm.arm(deadline, false);
    assert!(alarm.is_armed());
    let woken = alarm.sleep().expect("it slept");
    assert!(now_ns() >= deadline);
    let timer = Woken {
        timer: true,
        ..Woken::default()
    };
    assert_eq!(woken, timer);
}

/// The event of a kick stays until the next sleep, which ends at once: it was not for that sleep.
#[test]
fn a_kick_before_a_sleep_is_not_slept_through() {
    let alarm = opened();
    alarm.kick();
    assert_eq!(alarm.sleep(), None);
    alarm.kick();
    alarm.kick();
    assert_eq!(alarm.sleep(), None, "once, however often");
    alarm.arm(now_ns() + 1, false);
    assert!(alarm.sleep().expect("no kick is left").timer);
}

#[test]
fn a_kick_wakes_a_sleeper() {
    let alarm = opened();
    for _ in 0..3 {
        let sleeper = thread::spawn(|| alarm.sleep());
        while alarm.word.load(Ordering::Relaxed) != ASLEEP {
            thread::yield_now();
        }
        alarm.kick();
        let woken = sleeper.join().expect("no panic").expect("it slept");
        assert_eq!((woken.kick, woken.timer), (true, false));
        assert_eq!(alarm.word.load(Ordering::Relaxed), AWAKE);
    }
}

#[test]
fn an_earlier_deadline_replaces_a_later_one() {
    let alarm = opened();
    let far = now_ns() + LONG;
    alarm.arm(far, false);
    alarm.arm(far + 1, false);
    assert_eq!(set(alarm), far);
    alarm.arm(far - 1, false);
    assert_eq!(set(alarm), far - 1);
}

/// Another thread arms for later when the timer has expired, and the worker has not run yet.
#[test]
fn a_time_that_has_come_stays_until_the_worker_has_seen_it() {
    let alarm = opened();
    let far = now_ns() + LONG;
    for past in [0, 1, now_ns()] {
        alarm.arm(past, false);
        alarm.arm(far, false);
        assert_eq!(set(alarm), past.max(1));
        assert!(alarm.sleep().expect("it slept").timer);
        alarm.arm(far, false); // the worker is awake, and sets the timer before it sleeps
        alarm.follow(|| Some(past));
        assert!(alarm.sleep().expect("it slept").timer, "come meanwhile");
        alarm.follow(|| Some(far));
        assert_eq!(set(alarm), far, "seen");
        alarm.follow(|| None);
    }
}

#[test]
fn the_worker_sets_the_deadline_that_is_left() {
    let alarm = opened();
    alarm.follow(|| None);
    assert!(!alarm.is_armed());
    let far = now_ns() + LONG;
    alarm.follow(|| Some(far));
    assert_eq!(set(alarm), far);
    alarm.follow(|| Some(far + LONG));
    assert_eq!(set(alarm), far + LONG, "also a later one");
    alarm.follow(|| Some(now_ns() + 1));
    assert!(alarm.sleep().expect("it slept").timer);
    alarm.arm(now_ns() + 1, false);
    alarm.follow(|| None);
    assert!(!alarm.is_armed());
    alarm.arm(far, false);
    alarm.forget();
    assert!(!alarm.is_armed());
}

/// Threads that queue before there is a worker set a timer that is not there yet.
#[test]
fn a_deadline_from_before_the_descriptors_holds() {
    let alarm = Alarm::new();
    alarm.arm(now_ns() + 1_000_000, false);
    alarm.open().expect("descriptors");
    assert!(alarm.sleep().expect("it slept").timer);
    alarm.open().expect("they are there");
}

#[test]
fn in_the_child_of_a_fork_nothing_is_set() {
    crate::needs!(fork);
    let alarm = opened();
    alarm.arm(now_ns() + 1, false);
    alarm.word.store(PENDING, Ordering::Relaxed);
    alarm.forked(&mut alarm.timer());
    assert!(!alarm.is_armed());
    alarm.open().expect("new descriptors");
    let kicker = thread::spawn(|| {
        while alarm.word.load(Ordering::Relaxed) != ASLEEP {
            thread::sleep(Duration::from_millis(1));
        }
        alarm.kick();
    });
    let woken = alarm.sleep().expect("it slept");
    kicker.join().expect("no panic");
    assert_eq!((woken.timer, woken.kick), (false, true));
}

#[test]
fn memory_is_watched_for_a_second_or_more() {
    assert!(is_worth(5 + WORTH_NS, 5));
    assert!(!is_worth(4 + WORTH_NS, 5));
    assert!(is_worth(u64::MAX, u64::MAX - 1));
}
