//! Rows, names and texts of a page, written by one thread.

use std::alloc::{Layout, alloc_zeroed};

use quiescent_core::queue::weight::Owned;

use super::*;

fn empty() -> Box<Page> {
    // SAFETY: zeroed memory of its layout is a page.
    unsafe { Box::from_raw(alloc_zeroed(Layout::new::<Page>()).cast()) }
}

fn written<const N: usize>(text: &str) -> String {
    let words: Text<N> = Text {
        length: AtomicU64::new(99),
        bytes: [const { AtomicU8::new(b'?') }; N],
    };
    words.set(text);
    let length = words.length.load(Ordering::Relaxed) as usize;
    let bytes = words.bytes.iter().take(length);
    let bytes: Vec<u8> = bytes.map(|it| it.load(Ordering::Relaxed)).collect();
    String::from_utf8(bytes).expect("whole letters")
}

#[test]
fn a_text_is_cut_at_its_room_at_a_letter_and_at_a_zero() {
    assert_eq!(written::<8>("short"), "short");
    assert_eq!(written::<8>("12345678"), "12345678");
    assert_eq!(written::<8>("123456789"), "12345678");
    assert_eq!(written::<8>("1234567\u{e9}"), "1234567");
    assert_eq!(written::<8>("12345\u{20ac}"), "12345\u{20ac}");
    assert_eq!(written::<8>("12\u{0}45"), "12");
    assert_eq!(written::<8>(""), "");
}

#[test]
fn formatted_text_is_cut_at_48_bytes() {
    let text: Text<160> = Text {
        length: AtomicU64::new(0),
        bytes: [const { AtomicU8::new(0) }; 160],
    };
    write_to(&text, format_args!("{}{}", "a".repeat(47), 123));
    assert_eq!(text.length.load(Ordering::Relaxed), 48);
    assert_eq!(text.bytes[46].load(Ordering::Relaxed), b'a');
    assert_eq!(text.bytes[47].load(Ordering::Relaxed), b'1');
    write_to(&text, format_args!("{}", "a".repeat(48)));
    assert_eq!(text.length.load(Ordering::Relaxed), 48);
}

#[test]
fn names_get_numbers_until_there_is_no_room() {
    let mut names = Names {
        own: [None; PLACES - FIXED.len()],
        count: 0,
    };
    for n in 2..PLACES as u32 {
        let name: &'static str = Box::leak(n.to_string().into_boxed_str());
        assert_eq!(names.number(name), Some(n));
        assert_eq!(names.number("2"), Some(2), "known");
    }
    assert_eq!(names.number("too many"), None);
    assert_eq!(names.number("255"), Some(255));
    // The first two names are not a program's.
    assert_eq!(names.number("(unnamed)"), None);
}

/// The second word of an entry for a block of so many words.
fn block<const WORDS: usize>() -> u64 {
    kind::plain::<[u64; WORDS]>(Owned::NOTHING)
}

fn is_same(one: &Row, other: &Row) -> bool {
    ptr::eq(one, other)
}

#[test]
fn a_function_of_a_domain_has_one_row() {
    let page = empty();
    let first = page.row(0, PLAIN, block::<8>());
    assert!(is_same(first, page.row(0, PLAIN, block::<8>())));
    assert!(
        !is_same(first, page.row(1, PLAIN, block::<8>())),
        "a domain"
    );
    assert!(!is_same(first, page.row(0, PLAIN, block::<7>())), "a size");
    let (_, dropped) = kind::called(|| (), quiescent_engine::credit::Urgency::Lazy);
    let code = page.row(0, CODE, dropped);
    assert!(is_same(code, page.row(0, OWN, dropped)));
    let head = 0x1234_5678;
    assert!(!is_same(page.row(0, 3, head), page.row(0, 3, head + 16)));
    // A number that is too large for a key is that of the last domain.
    let last = page.row(LAST_PLACE, PLAIN, block::<8>());
    assert!(is_same(last, page.row(LAST_PLACE + 1, PLAIN, block::<8>())));
    assert!(!is_same(
        last,
        page.row(LAST_PLACE - 1, PLAIN, block::<8>())
    ));
    assert_eq!(
        last.key.load(Ordering::Relaxed) >> 50,
        u64::from(LAST_PLACE)
    );
    let kinds = [first, code, page.row(0, 3, head)];
    assert_eq!(
        kinds.map(|it| it.key.load(Ordering::Relaxed) >> 48),
        [1, 2, 3]
    );
}

#[test]
fn a_row_says_what_it_counts() {
    let page = empty();
    let text = |row: &Row| {
        let bytes = row.name.bytes.iter().map(|it| it.load(Ordering::Relaxed));
        String::from_utf8(bytes.take_while(|it| *it != 0).collect()).expect("text")
    };
    let lazy = |row: &Row| row.flags.load(Ordering::Relaxed);
    let each = |row: &Row| row.bytes_each.load(Ordering::Relaxed);
    let memory = page.row(0, PLAIN, block::<8>());
    assert_eq!(
        (text(memory), lazy(memory)),
        ("block of 64 bytes".into(), 1)
    );
    assert_eq!(each(memory), quiescent_engine::owner::weight(64) as u64);
    let (_, what) = kind::called(|| (), quiescent_engine::credit::Urgency::Prompt);
    let code = page.row(0, CODE, what);
    // SAFETY: made just now.
    assert_eq!(each(code), unsafe { kind::kind(what) }.bytes);
    assert!(text(code).contains("closure") && lazy(code) == 0);
    unsafe fn free(_: *mut u8) {}
    let at = free as *const () as u64;
    let function = page.row(0, OWN, kind::given(free, Owned::whole::<u8>(5)));
    assert!(is_same(
        function,
        page.row(0, CODE, kind::given(free, Owned::NOTHING))
    ));
    assert_eq!(
        (text(function), lazy(function)),
        (format!("function at {at:#x}"), 1)
    );
    let head = page.row(0, 3, 0x1230);
    assert_eq!(
        (text(head), lazy(head), each(head)),
        ("head at 0x1230".into(), 0, 0)
    );
}

/// Functions that find no row within some steps, and all of them beyond the last row, are counted together.
#[test]
fn the_last_row_is_for_all_that_find_none() {
    let page = empty();
    let others = &page.rows[OTHERS];
    let mut found = std::collections::HashSet::new();
    let mut with_the_others = 0;
    for n in 0..4 * ROWS as u64 {
        let row = page.row(0, 3, n << 4);
        match is_same(row, others) {
            true => with_the_others += 1,
            false => assert!(found.insert(ptr::from_ref(row).addr()), "shared"),
        }
    }
    assert_eq!(found.len(), OTHERS, "each row is used");
    assert_eq!(with_the_others, 4 * ROWS - OTHERS);
    assert_eq!(others.key.load(Ordering::Relaxed), 0);
    // A third of them would be full only by a bad choice of the first place.
    let page = empty();
    let shared = (0..170u64).filter(|n| is_same(page.row(0, 3, n << 4), &page.rows[OTHERS]));
    assert_eq!(shared.count(), 0);
}

/// A thread of the parent was writing, and another one wanted a further round.
#[cfg(feature = "fork")]
#[test]
fn in_the_child_of_a_fork_no_thread_writes() {
    WANTED.store(2, Ordering::Relaxed);
    assert!(leave(crate::global::env()).is_none(), "there is no page");
    assert_eq!(WANTED.load(Ordering::Relaxed), 0);
}
