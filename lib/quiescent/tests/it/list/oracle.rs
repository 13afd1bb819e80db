//! Readers that walk a sorted list while writers change it, with an oracle.
//!
//! Keys 1 mod 4 stay. Keys 3 mod 4 are always present and are replaced constantly. Even keys, including the
//! first and the last one, come and go. So every iteration finds every odd key once.
//!
//! Every element has a unique number, and a ledger records its state. The ledger's own acquires and releases
//! order what happens before and after an iteration:
//!
//! * an element whose removal was entered before the iteration began is not seen;
//! * an element whose insertion was entered before it began, and whose removal had not begun when it
//!   ended, is seen;
//! * no element that was seen is dropped before the section ends;
//! * in the end each was dropped once.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::thread;

use quiescent::{RcuList, barrier, read, read_lock};

use crate::common::{Numbers, SHORT};

const KEYS: usize = 65;
const READERS: usize = 3;
const WRITERS: usize = 2;
/// Numbers for elements.
const NUMBERS: usize = 1 << 18;
/// The iterations and changes that a run needs; it ends once they have been made concurrently.
const ENOUGH: u64 = 8_000;
/// Iterations during which something was removed.
const ENOUGH_TOGETHER: u64 = 300;

/// What is known of all elements.
struct Ledger {
    /// The next number. 0 is not used.
    number: AtomicU64,
    /// How many removals there were.
    clock: AtomicU64,
    /// At which tick each element had been removed; 0: not yet.
    removed_at: Vec<AtomicU64>,
    dropped: Vec<AtomicU32>,
    /// The element of each key that is certainly in the list.
    present: Vec<AtomicU64>,
    changes: AtomicU64,
    iterations: AtomicU64,
    together: AtomicU64,
    failed: AtomicBool,
}

struct Element {
    key: usize,
    number: u64,
    ledger: &'static Ledger,
}

impl Drop for Element {
    fn drop(&mut self) {
        self.ledger.dropped[self.number as usize].fetch_add(1, Relaxed);
    }
}

type List = RcuList<Element>;

impl Ledger {
    fn new() -> Ledger {
        Ledger {
            number: AtomicU64::new(1),
            clock: AtomicU64::new(0),
            removed_at: (0..NUMBERS).map(|_| AtomicU64::new(0)).collect(),
            dropped: (0..NUMBERS).map(|_| AtomicU32::new(0)).collect(),
            present: (0..KEYS).map(|_| AtomicU64::new(0)).collect(),
            changes: AtomicU64::new(0),
            iterations: AtomicU64::new(0),
            together: AtomicU64::new(0),
            failed: AtomicBool::new(false),
        }
    }

    fn element(&'static self, key: usize) -> Element {
        let number = self.number.fetch_add(1, Relaxed);
        let ledger = self;
        Element {
            key,
            number,
            ledger,
        }
    }

    /// The insertion of this element is over.
    fn inserted(&self, key: usize, number: u64) {
        self.present[key].store(number, Release);
        self.changes.fetch_add(1, Relaxed);
    }

    /// The removal of the key's element begins.
    fn removing(&self, key: usize) -> u64 {
        self.present[key].swap(0, Relaxed)
    }

    /// The removal of this element is over.
    fn removed(&self, number: u64) {
        let now = self.clock.fetch_add(1, Release) + 1;
        self.removed_at[number as usize].store(now, Relaxed);
        self.changes.fetch_add(1, Relaxed);
    }

    /// Has it all been going on for long enough, or can it not go on?
    fn is_done(&self) -> bool {
        let counts = [&self.changes, &self.iterations].map(|count| count.load(Relaxed));
        let enough = counts.iter().all(|&count| count >= ENOUGH)
            && self.together.load(Relaxed) >= ENOUGH_TOGETHER;
        let last = NUMBERS - WRITERS - 1;
        enough || self.failed.load(Relaxed) || self.number.load(Relaxed) as usize >= last
    }
}

/// Says that its thread failed: the others stop.
struct Alarm(&'static Ledger);

impl Drop for Alarm {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.failed.store(true, Relaxed);
        }
    }
}

/// One change of a key that is this writer's own. When a place has been found, the writer takes a break
/// now and then: another one that comes in between destroys what it relies on.
fn change(list: &List, ledger: &'static Ledger, key: usize, numbers: &mut Numbers) {
    let (pauses, at_once) = (numbers.below(32) == 0, numbers.below(2) == 0);
    let here = |is_here: bool| {
        if is_here && pauses {
            thread::yield_now();
        }
        is_here
    };
    let old = ledger.removing(key);
    if key % 4 == 3 {
        let element = ledger.element(key);
        let number = element.number;
        assert!(list.replace(element, |e| here(e.key == key)).is_ok());
        ledger.removed(old);
        ledger.inserted(key, number);
    } else if old == 0 {
        let element = ledger.element(key);
        let number = element.number;
        list.insert_before(element, |next| here(next.key > key));
        ledger.inserted(key, number);
    } else if at_once {
        assert!(list.remove_first(|e| here(e.key == key)).is_some());
        ledger.removed(old);
    } else {
        assert_eq!(list.retain(|e| !here(e.key == key)), 1);
        ledger.removed(old);
    }
}

/// Keeps to the keys of its own, so that a key is in the list once.
fn writer(list: &List, ledger: &'static Ledger, writer: usize) {
    let _alarm = Alarm(ledger);
    let mut numbers = Numbers(writer as u64);
    while !ledger.is_done() {
        let key = numbers.below(KEYS);
        if key / 4 % WRITERS == writer && key % 4 != 1 {
            change(list, ledger, key, &mut numbers);
        }
    }
}

/// One iteration: what it found, and whether that is right.
fn iterate(list: &List, ledger: &Ledger, numbers: &mut Numbers) {
    let present = || ledger.present.iter().map(|number| number.load(Acquire));
    let before: Vec<u64> = present().collect();
    let begin = ledger.clock.load(Acquire);
    let pause_at = numbers.below(32 * KEYS); // most times never

    let guard = read_lock();
    let mut found = Vec::with_capacity(KEYS);
    for Element { key, number, .. } in list.iter(&guard) {
        found.push((*key, *number));
        if found.len() == pause_at {
            thread::yield_now();
        }
    }
    for pair in found.windows(2) {
        assert!(pair[0].0 < pair[1].0, "not in order, or twice: {found:?}");
    }
    let odd = found.iter().filter(|(key, _)| key % 2 == 1).count();
    assert_eq!(odd, KEYS / 2, "keys that are always there: {found:?}");
    for (key, after) in present().enumerate() {
        let stayed = after != 0 && after == before[key];
        let seen = found.contains(&(key, after));
        assert!(seen || !stayed, "{key} was there throughout: {found:?}");
    }
    for &(key, number) in &found {
        let removed = ledger.removed_at[number as usize].load(Relaxed);
        let late = removed == 0 || removed > begin;
        assert!(late, "{key} was removed at {removed}, before {begin}");
        let dropped = ledger.dropped[number as usize].load(Relaxed);
        assert_eq!(dropped, 0, "{key} was dropped under its reader");
    }
    drop(guard);
    ledger.iterations.fetch_add(1, Relaxed);
    let meanwhile = ledger.clock.load(Relaxed) != begin;
    ledger.together.fetch_add(meanwhile.into(), Relaxed);
}

fn reader(list: &List, ledger: &'static Ledger, reader: usize) {
    let _alarm = Alarm(ledger);
    let mut numbers = Numbers(!(reader as u64));
    while !ledger.is_done() {
        iterate(list, ledger, &mut numbers);
    }
}

/// Runs them all; values are dropped meanwhile, and all of them have been in the end.
pub fn run() {
    let ledger: &'static Ledger = Box::leak(Box::new(Ledger::new()));
    let odd = (0..KEYS).filter(|key| key % 2 == 1);
    let list = List::from_iter(odd.map(|key| ledger.element(key)));
    read(|guard| {
        list.iter(guard)
            .for_each(|e| ledger.inserted(e.key, e.number))
    });
    thread::scope(|s| {
        let list = &list;
        for number in 0..READERS {
            s.spawn(move || reader(list, ledger, number));
        }
        for number in 0..WRITERS {
            s.spawn(move || writer(list, ledger, number));
        }
        while !ledger.is_done() {
            barrier();
            thread::sleep(SHORT);
        }
    });
    let counts = [&ledger.changes, &ledger.iterations, &ledger.together];
    let [changes, iterations, together] = counts.map(|count| count.load(Relaxed));
    println!("{changes} changes, {iterations} iterations, {together} of them beside removals");
    assert!(changes >= ENOUGH && iterations >= ENOUGH && together >= ENOUGH_TOGETHER);

    drop(list);
    barrier();
    let made = ledger.number.load(Relaxed) as usize;
    let drops = ledger.dropped[1..made].iter();
    assert!(
        drops
            .map(|count| count.load(Relaxed))
            .all(|count| count == 1)
    );
}
