//! Pages made byte by byte, as the table of the layout says, and damaged ones.

use super::*;

#[test]
fn a_page_that_is_cut_short_anywhere_is_refused() {
    let whole = Made::new().0;
    assert!(parse(&whole).is_ok());
    for length in (0..whole.len()).step_by(61).chain(0..200) {
        assert!(parse(&whole[..length]).is_err(), "{length}");
    }
}

#[test]
fn damage_is_refused_or_read_and_never_more() {
    let whole = Made::new().0;
    for at in 0..88 {
        for bit in 0..8 {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << bit;
            let read = parse(&damaged);
            if at < 12 {
                assert!(read.is_err(), "byte {at}");
            }
        }
    }
    let mut text = whole.clone();
    text[Made::of(0, 0) + 8..][..8].fill(0xff); // the length of the first counter's name
    assert!(parse(&text).is_err());
}

#[test]
fn the_version_is_looked_at() {
    let mut other = Made::new().0;
    other[8..12].copy_from_slice(&9u32.to_ne_bytes());
    let why = parse(&other).expect_err("another version").to_string();
    assert!(why.contains("version 9"), "{why}");
}

/// The bytes of a page with room for two counters, three readers, four names and five functions, of which
/// each part and each of its elements is at a place of its own.
struct Made(Vec<u8>);

/// Offset, number and size of the parts.
const PARTS: [[u32; 3]; 4] = [[100, 2, 32], [200, 3, 8], [300, 4, 40], [500, 5, 160]];

impl Made {
    fn new() -> Made {
        let mut made = Made(vec![0; 1300]);
        made.long(0, MAGIC);
        made.word(8, VERSION);
        made.word(12, 4321);
        made.word(16, 7);
        for (n, word) in PARTS.as_flattened().iter().enumerate() {
            made.word(20 + 4 * n, *word);
        }
        made
    }

    fn word(&mut self, at: usize, word: u32) {
        self.0[at..at + 4].copy_from_slice(&word.to_ne_bytes());
    }

    fn long(&mut self, at: usize, long: u64) {
        self.0[at..at + 8].copy_from_slice(&long.to_ne_bytes());
    }

    fn text(&mut self, at: usize, text: &str) {
        self.long(at, text.len() as u64);
        self.0[at + 8..at + 8 + text.len()].copy_from_slice(text.as_bytes());
    }

    /// The place of an element.
    fn of(part: usize, n: usize) -> usize {
        let [first, _, size] = PARTS[part].map(|it| it as usize);
        first + n * size
    }

    /// A function: key and flags, the number from which its eleven counts go on, and its name.
    fn function(&mut self, n: usize, key: u64, flags: u64, from: u64, name: &str) {
        let at = Made::of(3, n);
        self.long(at, key);
        self.long(at + 8, flags);
        for k in 0..11 {
            self.long(at + 16 + 8 * k, from + k as u64);
        }
        self.text(at + 104, name);
    }

    fn read(&self) -> Snapshot {
        parse(&self.0).expect("a page")
    }
}

/// The counts of a function that begin at `from`, in the order of the layout, without the size of one.
fn counts(it: &Function) -> [u64; 10] {
    [
        it.queued,
        it.executed,
        it.queued_bytes,
        it.executed_bytes,
        it.hurried,
        it.prompt,
        it.batches,
        it.waited_at_least.as_micros() as u64,
        it.waited_at_most.as_micros() as u64,
        it.longest.as_micros() as u64,
    ]
}

#[test]
fn each_number_is_read_from_its_place() {
    let mut made = Made::new();
    let now = now_ns();
    made.long(72, now.saturating_sub(5_000_000_000));
    made.long(80, now.saturating_sub(2_000_000_000));
    made.long(Made::of(0, 0), 11);
    made.text(Made::of(0, 0) + 8, "first");
    made.long(Made::of(0, 1), 12);
    made.text(Made::of(0, 1) + 8, "second");
    made.long(Made::of(1, 0), 3 << 32 | 77);
    made.long(Made::of(1, 1), 1 << 32 | 78);
    made.text(Made::of(2, 2), "routes");
    made.function(1, 2 << 50 | 2 << 48 | 5, 1, 1000, "b");
    made.function(3, 3 << 50 | 1 << 48 | 5, 2, 2000, "a");
    let read = made.read();
    assert_eq!((read.pid, read.forks), (4321, 7));
    assert!(
        read.counted_for >= Duration::from_secs(5) && read.counters_age >= Duration::from_secs(2)
    );
    assert!(read.counted_for > read.counters_age);
    let counter = |name| read.counter(name);
    assert_eq!(
        (counter("first"), counter("second"), counter("third")),
        (11, 12, 0)
    );
    assert_eq!(read.holdouts, [(77, 3), (78, 1)]);
    let [none, routes] = read.functions.as_slice() else {
        panic!("{read:#?}");
    };
    assert_eq!((&*none.domain, &*none.name), ("(unnamed)", "a"));
    assert_eq!(
        (none.what, none.lazy, none.bytes_each),
        (What::Memory, false, 2000)
    );
    assert_eq!((&*routes.domain, &*routes.name), ("routes", "b"));
    assert_eq!(
        (routes.what, routes.lazy, routes.bytes_each),
        (What::Code, true, 1000)
    );
    assert_eq!(counts(routes), std::array::from_fn(|n| 1001 + n as u64));
    assert_eq!(counts(none), std::array::from_fn(|n| 2001 + n as u64));
}

/// Rows of one function, which differ in their keys (a type has a table in each unit of code).
#[test]
fn rows_of_one_function_are_added() {
    let mut made = Made::new();
    made.function(0, 1 << 50 | 2 << 48 | 5, 1, 1000, "f");
    made.function(2, 1 << 50 | 2 << 48 | 6, 1, 1000, "f");
    let [one] = &*made.read().functions else {
        panic!("{:#?}", made.read());
    };
    let [sums @ .., longest] = counts(one);
    assert_eq!(sums, std::array::from_fn(|n| 2 * (1001 + n as u64)));
    assert_eq!(longest, 1010, "not a sum");
    // Each of these makes it another one.
    let mut others = |key: u64, flags, name| {
        made.function(2, key, flags, 1000, name);
        made.read().functions.len()
    };
    assert_eq!(others(1 << 50 | 3 << 48 | 6, 1, "f"), 2, "what");
    assert_eq!(others(1 << 50 | 2 << 48 | 6, 0, "f"), 2, "lazy");
    assert_eq!(
        others((SRCUS as u64 + 4) << 50 | 2 << 48 | 6, 1, "f"),
        2,
        "the domain"
    );
    assert_eq!(others(1 << 50 | 2 << 48 | 6, 1, "g"), 2, "the name");
    made.long(Made::of(3, 2) + 16, 999);
    assert_eq!(made.read().functions.len(), 2, "its size");
}

#[test]
fn a_row_is_in_use_if_it_has_a_key_or_counts() {
    let mut made = Made::new();
    made.function(0, 0, 0, 0, "never read");
    for k in 0..11 {
        made.long(Made::of(3, 0) + 16 + 8 * k, 0);
    }
    made.long(Made::of(3, 1), (SRCUS as u64 + 4) << 50 | 3 << 48);
    made.long(Made::of(3, 2) + 24, 1); // queued
    made.text(Made::of(3, 2) + 104, "q");
    let read = made.read();
    let seen: Vec<_> = read
        .functions
        .iter()
        .map(|it| (&*it.domain, &*it.name, it.what))
        .collect();
    assert_eq!(
        seen,
        [("(others)", "q", What::Code), ("srcu 4", "", What::Head)]
    );
    made.long(Made::of(3, 2) + 24, 0);
    made.long(Made::of(3, 2) + 32, 1); // executed
    assert_eq!(made.read().functions.len(), 2);
    assert_eq!(made.read().functions[0].held(), 0);
}

#[test]
fn a_text_is_whole_or_empty() {
    let mut made = Made::new();
    made.long(Made::of(0, 0), 5);
    made.text(Made::of(0, 0) + 8, "a\u{1b}b");
    assert_eq!(made.read().counters, [("a?b".to_owned(), 5)], "no control");
    made.0[Made::of(0, 0) + 17] = 0; // being written
    assert_eq!(made.read().counters, []);
    made.long(Made::of(0, 0) + 8, 1 + MOST_TEXT as u64);
    made.0.resize(20_000, b'x');
    assert!(parse(&made.0).is_err(), "too long");
    made.long(Made::of(0, 0) + 8, MOST_TEXT as u64);
    made.0[108..].fill(b'x');
    made.long(Made::of(0, 0) + 8, MOST_TEXT as u64);
    made.word(20 + 4, 1); // one counter; and no other part
    for part in 1..4 {
        made.word(20 + 12 * part + 4, 0);
    }
    // The element ends behind its 32 bytes: a text does not leave it.
    assert!(parse(&made.0).is_err());
    made.word(20 + 8, 5000);
    assert_eq!(made.read().counters.len(), 1);
}

/// Elements of no size cost the page no bytes, and the reader as many steps as they say.
#[test]
fn a_part_has_no_more_elements_than_there_is_room_for() {
    for (part, most) in MOST_ELEMENTS.into_iter().enumerate() {
        let mut made = Made::new();
        made.0.resize(MOST_BYTES as usize, 0);
        made.word(20 + 12 * part + 8, 0);
        made.word(20 + 12 * part + 4, most as u32 + 1);
        let why = parse(&made.0).expect_err("too many").to_string();
        assert!(
            why.contains(&format!("part {part} has {} elements", most + 1)),
            "{why}"
        );
        made.word(20 + 12 * part + 4, most as u32);
        let why = parse(&made.0).map(drop).err().map(|it| it.to_string());
        assert!(!why.unwrap_or_default().contains("elements"));
    }
}

#[test]
fn what_is_held_and_how_long_it_waited() {
    let mut made = Made::new();
    made.function(0, 1 << 50 | 1 << 48 | 5, 1, 0, "f");
    let mut set = |k: usize, value| made.long(Made::of(3, 0) + 8 * k, value);
    set(3, 10);
    set(4, 4);
    set(5, 1000);
    set(6, 250);
    set(11, 6000);
    let it = made.read().functions.remove(0);
    assert_eq!((it.held(), it.held_bytes()), (6, 750));
    assert_eq!(it.delay(), Duration::from_micros(1500));
}

/// A file of so many zeros.
fn file_of(bytes: u64) -> Source {
    use std::os::fd::FromRawFd;
    // SAFETY: a string that ends with 0; the descriptor is new.
    let file = unsafe { File::from_raw_fd(libc::memfd_create(c"zeros".as_ptr(), 0)) };
    file.set_len(bytes).expect("it grows");
    Source { file }
}

#[test]
fn a_file_that_is_too_large_is_not_read() {
    let why = |bytes| file_of(bytes).read().expect_err("no page").to_string();
    assert!(
        why(MOST_BYTES + 1).contains("larger"),
        "{}",
        why(MOST_BYTES + 1)
    );
    assert!(why(2 * MOST_BYTES).contains("larger"));
    assert!(why(MOST_BYTES).contains("begin"), "{}", why(MOST_BYTES));
}
