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
    assert_eq!((nesting(0xffff), generation(0xffff)), (0xffff, 0));
    assert_eq!(word(&Reader::new_dummy()), (0xffff, 0));
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
