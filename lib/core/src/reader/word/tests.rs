//! The effect of locks and unlocks on a word.

use super::*;

fn reader(word: u64) -> &'static Reader {
    Box::leak(Box::new(Reader::new(word, FLAG_CLEAR)))
}

fn word(reader: &Reader) -> (u64, u64) {
    let word = reader.word.load(Ordering::Relaxed);
    (nesting(word), generation(word))
}

#[test]
fn a_word_is_two_numbers() {
    assert_eq!((nesting(0x5_0003), generation(0x5_0003)), (3, 5));
    assert_eq!((nesting(0x8001), generation(0x8001)), (0x8001, 0));
    assert_eq!((nesting(0x7fff), generation(0x7fff)), (0x7fff, 0));
    assert_eq!(word(&Reader::new_dummy()), (NEST_LIMIT, 0));
}

#[test]
fn a_fenced_word_is_two_numbers_too() {
    let reader = reader(0x7_0000);
    assert!(!reader.is_fenced() && reader.is_plainly_outside());
    reader.set_fenced(true);
    assert!(reader.is_fenced() && !reader.is_plainly_outside());
    for generation in 8..10 {
        assert_eq!(word(reader), (0, generation - 1));
        for nested in 1..4 {
            assert!(begin(reader) && reader.is_fenced());
            assert_eq!(word(reader), (nested, generation));
        }
        for nested in [2, 1, 0] {
            assert!(!end(reader));
            assert_eq!(word(reader), (nested, generation));
        }
    }
    let open = |sections: u64| FENCED_OUTSIDE + sections;
    reader.word.store(open(FENCED_LIMIT - 1), Ordering::Relaxed);
    assert!(begin(reader));
    assert!(!begin(reader), "the slow way is for that");
    assert_eq!(word(reader), (FENCED_LIMIT, 0));
    reader.word.store(open(0), Ordering::Relaxed);
    reader.set_fenced(false);
    assert_eq!((reader.is_fenced(), word(reader)), (false, (0, 0)));
}

#[test]
fn the_last_generation_is_followed_by_the_first() {
    for fenced in [false, true] {
        let reader = reader(u64::MAX << 16);
        reader.set_fenced(fenced);
        assert_eq!(word(reader), (0, (1 << 48) - 1));
        for (open, generation) in [(1, 0), (2, 0)] {
            assert!(begin(reader));
            assert_eq!(word(reader), (open, generation));
        }
        for open in [1, 0] {
            assert!(!end(reader));
            assert_eq!((reader.is_fenced(), word(reader)), (fenced, (open, 0)));
        }
        assert!(begin(reader));
        assert_eq!(word(reader), (1, 1));
    }
}

#[test]
fn no_word_at_a_limit_is_taken_for_a_fenced_one() {
    let reader = reader(NEST_LIMIT - 1);
    assert!(!reader.is_fenced() && begin(reader) && !reader.is_fenced());
    assert!(!Reader::new(NEST_LIMIT + 1, FLAG_CLEAR).is_fenced());
    let dummy: &'static Reader = Box::leak(Box::new(Reader::new_dummy()));
    assert!(!dummy.is_fenced() && !begin(dummy));
}

#[test]
fn naps_grow_and_have_a_limit() {
    assert_eq!(nap_ns(0), FIRST_NAP_NS);
    assert!((0..13).all(|naps| nap_ns(naps + 1) == 2 * nap_ns(naps)));
    assert_eq!(nap_ns(u32::MAX), LONGEST_NAP_NS);
}

#[test]
fn a_section_advances_generation_and_nesting() {
    let reader = reader(0);
    for generation in 1..3 {
        assert!(begin(reader));
        assert_eq!(word(reader), (1, generation));
        assert!(begin(reader));
        assert_eq!(word(reader), (2, generation));
        assert_eq!(reader.nesting(), 2);
        assert!(!end(reader));
        assert_eq!(word(reader), (1, generation));
        assert!(!end(reader));
        assert_eq!(word(reader), (0, generation));
    }
    reader.word.store(NEST_LIMIT - 1, Ordering::Relaxed);
    assert!(begin(reader));
    assert!(!begin(reader), "the slow way is for that");
    assert_eq!(word(reader), (NEST_LIMIT, 0));
    reader.flag.store(FLAG_WAKE, Ordering::Relaxed);
    assert!(end(reader), "a thread waits");
}
