//! Sections that end the slow way, on a seat of which the test is the thread and the driver.

use super::*;
use crate::inner::reader::word::generation;

fn seat() -> &'static Seat {
    let seat: &'static Seat = Box::leak(Box::new(Seat::new()));
    let _ = std::ptr::from_ref(seat).expose_provenance();
    seat.furnish();
    seat
}

/// Nesting and generation.
fn word(seat: &Seat) -> (u64, u64) {
    let word = seat.reader.word.load(Ordering::Relaxed);
    (nesting(word), generation(word))
}

fn set(seat: &Seat, nesting: u64, generation: u64) {
    let word = generation * (OUTERMOST - 1) + nesting;
    seat.reader.word.store(word, Ordering::Relaxed);
}

fn flag(seat: &Seat, flag: u32) {
    seat.reader.flag.store(flag, Ordering::Relaxed);
}

#[test]
fn words_lead_to_their_seat() {
    let seat = seat();
    for (reader, flag) in [
        (&seat.reader, FLAG_CLEAR),
        (&seat.reader, FLAG_WAKE),
        (&seat.overflow_sink, SINK_OVERFLOW),
        (&seat.fenced_sink, SINK_FENCED),
    ] {
        assert!(std::ptr::eq(Seat::of(reader, flag), seat), "{flag}");
        if flag != FLAG_WAKE {
            assert_eq!(reader.flag.load(Ordering::Relaxed), flag);
        }
    }
}

#[test]
fn fenced_sections_are_nested() {
    let seat = seat();
    for generation in 1..3 {
        assert!(!seat.is_inside());
        flag(seat, FLAG_CLEAR);
        for nested in 1..4 {
            assert!(std::ptr::eq(seat.lock_fenced(), &seat.fenced_sink));
            assert_eq!(word(seat), (nested, generation));
            assert!(seat.is_inside() && seat.nesting() == nested);
        }
        assert!(!seat.unlock_slowly(SINK_FENCED));
        flag(seat, FLAG_WAKE);
        assert!(!seat.unlock_slowly(SINK_FENCED), "a section is open still");
        assert_eq!(word(seat), (1, generation));
        if generation == 2 {
            flag(seat, FLAG_CLEAR);
        }
        assert_eq!(seat.unlock_slowly(SINK_FENCED), generation == 1);
        assert_eq!(word(seat), (0, generation));
    }
}

#[test]
fn beyond_the_limit_one_level_is_held_by_all() {
    let seat = seat();
    set(seat, NEST_LIMIT - 1, 5);
    assert!(std::ptr::eq(seat.lock_fenced(), &seat.fenced_sink));
    assert_eq!(word(seat), (NEST_LIMIT, 5));
    for beyond in 1..4 {
        assert!(std::ptr::eq(seat.lock_fenced(), &seat.overflow_sink));
        assert_eq!(word(seat), (NEST_LIMIT + 1, 5));
        assert_eq!(seat.nesting(), NEST_LIMIT + beyond);
    }
    flag(seat, FLAG_WAKE);
    for beyond in [2, 1] {
        assert!(!seat.unlock_slowly(SINK_OVERFLOW));
        assert_eq!(word(seat), (NEST_LIMIT + 1, 5));
        assert_eq!(seat.nesting(), NEST_LIMIT + beyond);
    }
    assert!(!seat.unlock_slowly(SINK_OVERFLOW), "others are open still");
    assert_eq!(word(seat), (NEST_LIMIT, 5));
    assert_eq!(seat.nesting(), NEST_LIMIT);
}

/// Guards may be dropped in any order: one of those beyond the limit may be the last.
#[test]
fn the_last_one_may_be_from_beyond_the_limit() {
    for flagged in [true, false] {
        let seat = seat();
        set(seat, NEST_LIMIT, 5);
        let _ = seat.lock_overflow();
        let _ = seat.lock_overflow();
        set(seat, 1, 5); // the others are dropped
        flag(seat, if flagged { FLAG_WAKE } else { FLAG_CLEAR });
        assert!(!seat.unlock_slowly(SINK_OVERFLOW) && seat.is_inside());
        assert_eq!(seat.unlock_slowly(SINK_OVERFLOW), flagged);
        assert_eq!(word(seat), (0, 5));
        assert!(!seat.is_inside());
    }
}

#[test]
fn a_driver_is_woken_by_an_empty_seat() {
    let seat = seat();
    assert!(!seat.is_flagged());
    flag(seat, FLAG_WAKE);
    assert!(seat.is_flagged());
    assert!(seat.unlock_slowly(FLAG_WAKE));
    set(seat, 1, 3);
    assert!(!seat.unlock_slowly(FLAG_WAKE));
    set(seat, 0, 3);
    assert!(!seat.unlock_slowly(FLAG_CLEAR));
}

#[test]
fn ended_it_keeps_its_generation() {
    let seat = seat();
    set(seat, NEST_LIMIT, 7);
    let _ = seat.lock_overflow();
    flag(seat, FLAG_WAKE);
    seat.end();
    assert_eq!(word(seat), (0, 7));
    assert!(!seat.is_inside() && !seat.is_flagged());
    assert_eq!(seat.overflow.load(Ordering::Relaxed), 0);
    // One level is held by those beyond alone.
    seat.overflow.store(1, Ordering::Relaxed);
    assert!(seat.is_inside());
}
