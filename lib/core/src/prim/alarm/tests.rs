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
        assert_eq!((woken.kick, woken.kicked, woken.timer), (true, true, false));
        assert!(!woken.owed, "its event came with it");
        assert_eq!(alarm.word.load(Ordering::Relaxed), AWAKE);
    }
}

/// The timer wakes the sleeper, and a kick comes before it says that it is awake: the event of that kick is
/// found by the next sleep.
#[test]
fn an_event_that_came_late_is_owed_to_the_next_sleep() {
    let alarm = opened();
    alarm.word.store(AWAKE, Ordering::Relaxed);
    let late = thread::spawn(|| alarm.sleep());
    while alarm.word.load(Ordering::Relaxed) != ASLEEP {
        thread::yield_now();
    }
    // As a kick does, but for the event.
    alarm.word.store(PENDING, Ordering::Relaxed);
    alarm.arm(now_ns() + 1, false);
    let woken = late.join().expect("no panic").expect("it slept");
    assert_eq!((woken.kicked, woken.kick, woken.owed), (true, false, false));
    alarm.os.wake(&alarm.word);
    let woken = alarm.sleep().expect("it slept");
    assert_eq!((woken.kicked, woken.kick, woken.owed), (false, true, true));
    alarm.arm(now_ns() + 1, false);
    assert!(!alarm.sleep().expect("it slept").owed, "once");
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
    let past = now_ns();
    alarm.arm(past, false);
    alarm.arm(far, false);
    assert_eq!(set(alarm), far, "what has passed is no deadline any more");
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
    alarm.owed.store(true, std::sync::atomic::Ordering::Relaxed);
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
    assert_eq!((woken.timer, woken.kick, woken.owed), (false, true, false));
}

#[test]
fn memory_is_watched_for_a_second_or_more() {
    assert!(is_worth(5 + WORTH_NS, 5));
    assert!(!is_worth(4 + WORTH_NS, 5));
    assert!(is_worth(u64::MAX, u64::MAX - 1));
}
