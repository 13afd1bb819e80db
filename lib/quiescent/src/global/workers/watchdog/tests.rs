//! The watch, step by step, on one thread that acts as the worker and as the stand-by.

use super::*;
use std::thread;

/// A watch with a timer and a stand-by that no thread is; the calling thread is the worker.
fn watched() -> &'static Watch {
    let watch: &'static Watch = Box::leak(Box::new(Watch::new()));
    assert!(watch.timer.open());
    watch.standby.store(STANDING_BY, Ordering::Relaxed);
    watch.role.take(watch.role.number());
    watch
}

fn begin(watch: &'static Watch) {
    watch.begin(|| "a callback");
}

/// The time until the timer fires; zero if it is not set.
fn left(watch: &Watch) -> Duration {
    Duration::from_nanos(watch.timer.left())
}

const LIMIT: Duration = Duration::from_nanos(STUCK);

#[test]
fn the_first_callback_of_a_round_sets_the_timer_and_the_end_of_the_round_stops_it() {
    let watch = watched();
    watch.rest();
    assert_eq!(left(watch), Duration::ZERO);
    let before = prim::coarse_ns();
    begin(watch);
    assert!((before.max(1)..=prim::coarse_ns()).contains(&watch.role.since()));
    let first = left(watch);
    let passed = Duration::from_nanos(prim::now_ns() - before);
    assert!(first <= LIMIT && first + passed >= LIMIT, "{first:?}");
    watch.end();
    assert_eq!(watch.role.since(), 0);
    assert!(watch.role.is_mine() && !watch.is_dismissed());
    assert_ne!(
        left(watch),
        Duration::ZERO,
        "it goes on for the next callback"
    );
    watch.timer.set(prim::now_ns() + 100 * STUCK);
    begin(watch);
    assert!(left(watch) > 50 * LIMIT, "set once a round");
    watch.end();
    watch.rest();
    assert_eq!(left(watch), Duration::ZERO);
    begin(watch);
    assert_ne!(left(watch), Duration::ZERO, "and in the next round");
    watch.end();
    watch.role.leave();
}

#[test]
fn other_threads_are_not_watched() {
    let watch = watched();
    watch.role.leave();
    begin(watch);
    assert_eq!((watch.role.since(), left(watch)), (0, Duration::ZERO));
    watch.role.began(1);
    let of_the_worker = watch.role.since();
    watch.end();
    assert_eq!(watch.role.since(), of_the_worker);
    watch.armed.store(1, Ordering::Relaxed);
    watch.rest();
    assert_eq!(watch.armed.load(Ordering::Relaxed), 1);
    assert!(!watch.role.is_mine() && !watch.is_dismissed());
}

#[test]
fn a_worker_whose_callback_was_found_stuck_is_dismissed() {
    let watch = watched();
    begin(watch);
    watch.role.set_since(0); // by the stand-by, which takes the role a moment later
    watch.end();
    assert!(!watch.role.is_mine() && watch.is_dismissed());
    // Without a callback in between nothing was found.
    watch.role.take(watch.role.number());
    watch.end();
    assert!(watch.role.is_mine());
    // Or another thread has the role already.
    watch.role.revoke();
    assert!(!watch.role.is_mine() && watch.is_dismissed());
    watch.role.leave();
}

#[test]
fn so_many_threads_may_be_stuck() {
    let watch = watched();
    for n in 1..=MOST {
        assert!(!watch.is_full());
        watch.note_stuck();
        assert_eq!(watch.stuck(), u64::from(n));
    }
    assert!(watch.is_full());
    watch.come_back();
    assert!(!watch.is_full());
    assert_eq!(watch.stuck(), u64::from(MOST), "so many were found");
    watch.role.leave();
}

/// The stand-by looks when the timer fires, sets it again as long as there is time left, and takes the role
/// of a callback that has run for too long at two looks.
#[test]
fn the_stand_by_claims_what_has_run_for_too_long() {
    let watch = watched();
    watch.role.leave();
    let fire = |after| watch.timer.set(prim::now_ns() + after);
    watch.armed.store(1, Ordering::Relaxed);
    watch.role.began(2 * STUCK);
    fire(1);
    let running = watch.claim().expect("it has the timer").running;
    assert!(running >= 2 * STUCK);
    assert_eq!(watch.role.since(), 0);
    // One that has not run for long enough, and one callback after another.
    for time in [STUCK / 2, 0] {
        watch.armed.store(1, Ordering::Relaxed);
        if time == 0 {
            watch.role.set_since(0);
        } else {
            watch.role.began(time);
        }
        fire(1);
        let stands_by = thread::spawn(move || watch.claim());
        // It has looked, and has set the timer; or, on a busy machine, it has looked again since.
        let again = loop {
            let again = left(watch);
            if again > LIMIT / 4 || stands_by.is_finished() {
                break again;
            }
            thread::yield_now();
        };
        assert!(again <= LIMIT - Duration::from_nanos(time), "{again:?}");
        watch.role.began(STUCK + 1);
        fire(1);
        assert!(stands_by.join().expect("no panic").is_some());
    }
}

#[test]
fn a_stand_by_looks_at_most_ten_times_a_second() {
    let watch = watched();
    watch.role.leave();
    watch.armed.store(1, Ordering::Relaxed);
    watch.role.began(STUCK - 20_000_000);
    let before = prim::now_ns();
    watch.timer.set(before + 1);
    let running = watch.claim().expect("it has the timer").running;
    assert!(running >= STUCK && prim::now_ns() - before >= STUCK / 10);
}

#[test]
fn without_a_timer_there_is_no_stand_by() {
    quiescent_core::needs!(silent_timer);
    let watch = watched();
    watch.role.leave();
    watch.timer.close();
    assert!(watch.claim().is_none());
}

#[test]
fn in_the_child_of_a_fork_there_is_no_worker() {
    quiescent_core::needs!(fork);
    let watch = watched();
    let role = watch.role.number();
    for ours in [true, false] {
        watch.role.take(watch.role.number());
        begin(watch);
        watch.note_stuck();
        assert!(watch.telling.begin());
        if !ours {
            watch.role.leave();
        }
        watch.forked();
        assert_eq!(left(watch), Duration::ZERO, "closed");
        assert_eq!((watch.role.since(), watch.stuck()), (0, 0));
        assert_eq!(watch.armed.load(Ordering::Relaxed), 0);
        assert_eq!(watch.standby.load(Ordering::Relaxed), NO_STAND_BY);
        assert_eq!(watch.is_dismissed(), ours);
        // The forking thread has a callback to come back from.
        assert_eq!(watch.away.load(Ordering::Relaxed), u32::from(ours));
        assert!(watch.telling.begin());
        watch.telling.end();
        assert!(watch.timer.open());
    }
    assert_eq!(watch.role.number(), role + 2);
    watch.end();
    watch.role.leave();
}
