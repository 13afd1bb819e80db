//! The watch, step by step, on one thread that acts as the worker and as the stand-by.

use super::*;
use crate::global::process;
use std::thread;

/// A watch with a timer and a stand-by that no thread is; the calling thread is the worker.
fn watched() -> &'static Watch {
    let watch: &'static Watch = Box::leak(Box::new(Watch::new()));
    assert!(watch.timer.open());
    watch.standby.store(STANDING_BY, Ordering::Relaxed);
    watch.take_role(watch.role());
    watch
}

fn begin(watch: &'static Watch) {
    watch.begin(&process().workers, || "a callback");
}

/// The time until the timer fires; zero if it is not set.
fn left(watch: &Watch) -> Duration {
    Duration::from_nanos(watch.timer.left())
}

const LIMIT: Duration = Duration::from_nanos(STUCK);

fn since(watch: &Watch) -> u64 {
    watch.since.load(Ordering::Relaxed)
}

/// Its callback began so long ago.
fn began(watch: &Watch, ago: u64) {
    watch
        .since
        .store(prim::coarse_ns() - ago, Ordering::Relaxed);
}

#[test]
fn the_first_callback_of_a_round_sets_the_timer_and_the_end_of_the_round_stops_it() {
    let watch = watched();
    watch.rest();
    assert_eq!(left(watch), Duration::ZERO);
    let before = prim::coarse_ns();
    begin(watch);
    assert!((before.max(1)..=prim::coarse_ns()).contains(&since(watch)));
    let first = left(watch);
    let passed = Duration::from_nanos(prim::now_ns() - before);
    assert!(first <= LIMIT && first + passed >= LIMIT, "{first:?}");
    watch.end();
    assert_eq!(since(watch), 0);
    assert!(watch.is_worker() && !watch.is_dismissed());
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
    watch.leave();
}

#[test]
fn other_threads_are_not_watched() {
    let watch = watched();
    watch.leave();
    begin(watch);
    assert_eq!((since(watch), left(watch)), (0, Duration::ZERO));
    began(watch, 1);
    let of_the_worker = since(watch);
    watch.end();
    assert_eq!(since(watch), of_the_worker);
    watch.armed.store(1, Ordering::Relaxed);
    watch.rest();
    assert_eq!(watch.armed.load(Ordering::Relaxed), 1);
    assert!(!watch.is_worker() && !watch.is_dismissed());
    assert_eq!(watch.resign(), None);
}

#[test]
fn a_worker_whose_callback_was_found_stuck_is_dismissed() {
    let watch = watched();
    begin(watch);
    watch.since.store(0, Ordering::Relaxed); // by the stand-by, which takes the role a moment later
    watch.end();
    assert!(!watch.is_worker() && watch.is_dismissed());
    assert_eq!(watch.resign(), None);
    // Without a callback in between nothing was found.
    watch.take_role(watch.role());
    watch.end();
    assert!(watch.is_worker());
    // Or another thread has the role already.
    watch.role.fetch_add(1, Ordering::Relaxed);
    assert!(!watch.is_worker() && watch.is_dismissed());
    watch.leave();
}

#[test]
fn a_worker_that_ends_passes_the_next_role_on() {
    let watch = watched();
    let role = watch.role();
    begin(watch);
    assert_eq!(watch.resign(), Some(role + 1));
    assert_eq!((watch.role(), since(watch)), (role + 1, 0));
    assert!(watch.is_dismissed());
    watch.leave();
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
    watch.leave();
}

/// The stand-by looks when the timer fires, sets it again as long as there is time left, and takes the role
/// of a callback that has run for too long at two looks.
#[test]
fn the_stand_by_claims_what_has_run_for_too_long() {
    let watch = watched();
    watch.leave();
    let fire = |after| watch.timer.set(prim::now_ns() + after);
    watch.armed.store(1, Ordering::Relaxed);
    began(watch, 2 * STUCK);
    fire(1);
    let running = watch.claim().expect("it has the timer");
    assert!(running >= 2 * STUCK);
    assert_eq!(since(watch), 0);
    // One that has not run for long enough, and one callback after another.
    for time in [STUCK / 2, 0] {
        watch.armed.store(1, Ordering::Relaxed);
        if time == 0 {
            watch.since.store(0, Ordering::Relaxed);
        } else {
            began(watch, time);
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
        began(watch, STUCK + 1);
        fire(1);
        assert!(stands_by.join().expect("no panic").is_some());
    }
}

/// After a process was stopped for long, its callbacks return as soon as it goes on.
#[test]
fn what_does_not_run_on_from_one_look_to_the_next_is_not_stuck() {
    let watch = watched();
    let mut seen = 0;
    let mut left_after = |ago| {
        match ago {
            0 => watch.since.store(0, Ordering::Relaxed),
            ago => began(watch, ago * STUCK),
        }
        match watch.look(&mut seen) {
            Look::Again(left) => left,
            Look::Stuck(running) => panic!("stuck after {running} ns"),
        }
    };
    for ago in [5, 4, 0, 4, 3, 2, 0, 2] {
        let wanted = if ago == 0 { STUCK } else { STUCK / 10 };
        assert_eq!(left_after(ago), wanted, "{ago}");
    }
    assert!(matches!(watch.look(&mut seen), Look::Stuck(running) if running >= 2 * STUCK));
    assert!(matches!(watch.look(&mut seen), Look::Again(STUCK)), "once");
    watch.leave();
}

#[test]
fn a_stand_by_looks_at_most_ten_times_a_second() {
    let watch = watched();
    watch.leave();
    watch.armed.store(1, Ordering::Relaxed);
    began(watch, STUCK - 20_000_000);
    let before = prim::now_ns();
    watch.timer.set(before + 1);
    let running = watch.claim().expect("it has the timer");
    assert!(running >= STUCK && prim::now_ns() - before >= STUCK / 10);
}

#[test]
fn without_a_timer_there_is_no_stand_by() {
    quiescent_core::needs!(silent_timer);
    let watch = watched();
    watch.leave();
    watch.timer.forked(); // closes it
    assert_eq!(watch.claim(), None);
}

#[test]
fn in_the_child_of_a_fork_there_is_no_worker() {
    quiescent_core::needs!(fork);
    let watch = watched();
    let role = watch.role();
    for ours in [true, false] {
        watch.take_role(watch.role());
        begin(watch);
        watch.note_stuck();
        assert!(watch.telling.begin());
        if !ours {
            watch.leave();
        }
        watch.forked();
        assert_eq!(left(watch), Duration::ZERO, "closed");
        assert_eq!((since(watch), watch.stuck()), (0, 0));
        assert_eq!(watch.armed.load(Ordering::Relaxed), 0);
        assert_eq!(watch.standby.load(Ordering::Relaxed), NO_STAND_BY);
        assert_eq!(watch.is_dismissed(), ours);
        // The forking thread has a callback to come back from.
        assert_eq!(watch.away.load(Ordering::Relaxed), u32::from(ours));
        assert!(watch.telling.begin());
        watch.telling.end();
        assert!(watch.timer.open());
    }
    assert_eq!(watch.role(), role + 2);
    watch.end();
    watch.leave();
}
