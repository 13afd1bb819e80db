//! Sections that end on the slow path; the test acts as the thread and the driver.

use super::*;
use crate::reader::word::{NEST_LIMIT, OUTERMOST, end, generation};

fn words() -> &'static ReaderWords {
    let words: &'static ReaderWords = Box::leak(Box::new(ReaderWords::new()));
    let _ = std::ptr::from_ref(words).expose_provenance();
    words.initialize();
    words
}

/// Nesting and generation.
fn word(words: &ReaderWords) -> (u64, u64) {
    let word = words.reader.word.load(Ordering::Relaxed);
    (nesting(word), generation(word))
}

fn set(words: &ReaderWords, nesting: u64, generation: u64) {
    let word = generation * (OUTERMOST - 1) + nesting;
    words.reader.word.store(word, Ordering::Relaxed);
}

fn flag(words: &ReaderWords, flag: u32) {
    words.reader.flag.store(flag, Ordering::Relaxed);
}

#[test]
fn a_word_or_sink_leads_to_its_reader_words() {
    let words = words();
    for (reader, flag) in [
        (&words.reader, FLAG_CLEAR),
        (&words.reader, FLAG_WAKE),
        (&words.overflow_sink, SINK_OVERFLOW),
    ] {
        // SAFETY: the words of this test.
        let found = unsafe { ReaderWords::of(reader, flag) };
        assert!(std::ptr::eq(found, words), "{flag}");
        if flag != FLAG_WAKE {
            assert_eq!(reader.flag.load(Ordering::Relaxed), flag);
        }
    }
}

#[test]
fn fenced_sections_are_nested() {
    let words = words();
    words.reader.set_fenced(true);
    for generation in 1..3 {
        assert!(!words.is_inside());
        flag(words, FLAG_CLEAR);
        for nested in 1..4 {
            assert!(std::ptr::eq(words.lock(), &words.reader));
            assert_eq!(word(words), (nested, generation));
            assert!(words.is_inside() && words.nesting() == nested);
        }
        flag(words, FLAG_WAKE);
        for nested in [2, 1, 0] {
            assert!(end(&words.reader));
            assert_eq!(words.unlock_slowly(FLAG_WAKE), nested == 0);
            assert_eq!(word(words), (nested, generation));
        }
    }
}

#[test]
fn fenced_sections_beyond_the_limit_share_one_level() {
    let words = words();
    words.reader.set_fenced(true);
    let mut locked = 0;
    while std::ptr::eq(words.lock(), &words.reader) {
        locked += 1;
    }
    words.lock_overflow();
    assert_eq!(words.nesting(), locked + 2);
    for _ in 0..2 {
        assert!(!words.unlock_slowly(SINK_OVERFLOW));
    }
    assert_eq!(word(words), (locked, 1));
    words.end();
    assert!(!words.is_inside() && words.reader.is_fenced());
}

#[test]
fn sections_beyond_the_limit_share_one_level() {
    let words = words();
    set(words, NEST_LIMIT - 1, 5);
    assert!(std::ptr::eq(words.lock(), &words.reader));
    assert_eq!(word(words), (NEST_LIMIT, 5));
    for beyond in 1..4 {
        assert!(std::ptr::eq(words.lock(), &words.overflow_sink));
        assert_eq!(word(words), (NEST_LIMIT + 1, 5));
        assert_eq!(words.nesting(), NEST_LIMIT + beyond);
    }
    flag(words, FLAG_WAKE);
    for beyond in [2, 1] {
        assert!(!words.unlock_slowly(SINK_OVERFLOW));
        assert_eq!(word(words), (NEST_LIMIT + 1, 5));
        assert_eq!(words.nesting(), NEST_LIMIT + beyond);
    }
    assert!(!words.unlock_slowly(SINK_OVERFLOW), "others are open still");
    assert_eq!(word(words), (NEST_LIMIT, 5));
    assert_eq!(words.nesting(), NEST_LIMIT);
}

/// Guards may be dropped in any order: one of those beyond the limit may be the last.
#[test]
fn the_last_section_may_be_beyond_the_limit() {
    for flagged in [true, false] {
        let words = words();
        set(words, NEST_LIMIT, 5);
        let _ = words.lock_overflow();
        let _ = words.lock_overflow();
        set(words, 1, 5); // the others are dropped
        flag(words, if flagged { FLAG_WAKE } else { FLAG_CLEAR });
        assert!(!words.unlock_slowly(SINK_OVERFLOW) && words.is_inside());
        assert_eq!(words.unlock_slowly(SINK_OVERFLOW), flagged);
        assert_eq!(word(words), (0, 5));
        assert!(!words.is_inside());
    }
}

#[test]
fn a_driver_is_woken_when_no_section_is_open() {
    let words = words();
    assert!(!words.reader.is_waited_for());
    flag(words, FLAG_WAKE);
    assert!(words.reader.is_waited_for());
    assert!(words.unlock_slowly(FLAG_WAKE));
    set(words, 1, 3);
    assert!(!words.unlock_slowly(FLAG_WAKE));
    set(words, 0, 3);
    assert!(!words.unlock_slowly(FLAG_CLEAR));
}

#[test]
fn end_keeps_the_generation() {
    let words = words();
    set(words, NEST_LIMIT, 7);
    let _ = words.lock_overflow();
    flag(words, FLAG_WAKE);
    words.end();
    assert_eq!(word(words), (0, 7));
    assert!(!words.is_inside() && !words.reader.is_waited_for());
    assert_eq!(words.overflow.load(Ordering::Relaxed), 0);
    // A level that is held only by sections beyond the limit.
    words.overflow.store(1, Ordering::Relaxed);
    assert!(words.is_inside());
}
