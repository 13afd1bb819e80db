//! The owner's steps one by one; the test acts as the taker and the engine.

use std::alloc::{Layout, dealloc};
use std::sync::atomic::AtomicUsize;

use super::*;
use crate::queue::chain::new_block;
use crate::queue::kind;
use crate::queue::kind::{OWN, PLAIN};
use crate::queue::weight::{self, Owned};

const N: u64 = BLOCK as u64;

/// A lane with blocks that are linked to each other.
struct Own {
    lane: LaneWords,
    blocks: Vec<*mut Block>,
}

fn set(word: &AtomicU64, value: u64) {
    word.store(value, Ordering::Relaxed);
}

fn get(word: &AtomicU64) -> u64 {
    word.load(Ordering::Relaxed)
}

/// An entry identified by its number.
fn entry(number: u64) -> Entry {
    Entry {
        object: std::ptr::null_mut(),
        what: number,
    }
}

/// The result of a push.
#[derive(Debug, PartialEq, Eq)]
enum Did {
    Nothing,
    Help(u64, u64),
    Popped(u64),
    PoppedLast(u64, u64),
}

impl Own {
    fn new(count: usize) -> Own {
        let blocks: Vec<_> = (0..count).map(|_| new_block()).collect();
        for pair in blocks.windows(2) {
            // SAFETY: just allocated.
            unsafe { (*pair[0]).next.store(pair[1], Ordering::Relaxed) };
        }
        let lane = LaneWords::new(blocks[0]);
        let next = blocks.get(1).copied().unwrap_or(std::ptr::null_mut());
        lane.next.store(next, Ordering::Relaxed);
        Own { lane, blocks }
    }

    /// Queues entries 0 to `end`, each with its position as its number.
    fn queued(self, end: u64) -> Own {
        for at in 0..end {
            // SAFETY: allocated by `new`.
            unsafe { (*self.blocks[(at / N) as usize]).put(at, entry(at)) };
        }
        set(&self.lane.end, end);
        self
    }

    fn push(&self, bytes: u64, large: bool) -> Did {
        let (end, did) = (get(&self.lane.end), std::cell::Cell::new(Did::Nothing));
        let help = |popped: Popped| did.set(Did::Help(popped.at, popped.count));
        let pop = |at| did.set(Did::Popped(at));
        let pop_last = |from, to| did.set(Did::PoppedLast(from, to));
        self.lane
            .push::<false>(entry(end), bytes, large, help, pop, pop_last);
        assert_eq!(get(&self.lane.end), end + 1);
        // SAFETY: allocated by `new`; the first one is still the block of the end.
        assert_eq!(unsafe { (*self.blocks[0]).get(end) }.what, end);
        did.into_inner()
    }

    fn block(&self) -> *mut Block {
        self.lane.block.load(Ordering::Relaxed)
    }

    /// Checks the block of the head, and the end of what may be freed in it.
    fn is_at(&self, block: usize, until: u64) {
        assert_eq!(
            self.lane.head_block.load(Ordering::Relaxed),
            self.blocks[block]
        );
        assert_eq!(get(&self.lane.until), until);
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        for block in &self.blocks {
            // SAFETY: allocated by `new_block`, and in no chain.
            unsafe { dealloc(block.cast(), Layout::new::<Block>()) };
        }
    }
}

fn numbers(entries: [Option<Entry>; 2]) -> [Option<u64>; 2] {
    entries.map(|entry| entry.map(|entry| entry.what))
}

#[test]
fn layouts_are_packed() {
    #[repr(align(32))]
    struct Wide {
        _bytes: [u8; 96],
    }
    let what = |entry: Entry| kind::layout(entry.what);
    // SAFETY: never freed.
    let byte = unsafe { Entry::plain(std::ptr::null_mut::<u8>(), Owned::NOTHING) };
    assert_eq!(what(byte), (1, 1));
    // SAFETY: never freed.
    let words =
        |owned| unsafe { Entry::plain(std::ptr::null_mut::<[u64; 5]>(), Owned::by::<u64>(owned)) };
    let weight = if usize::BITS == 64 { 64 } else { 60 };
    for owned in [0, 1, 5000, usize::MAX - 1] {
        assert_eq!(what(words(owned)), (40, align_of::<u64>()));
        // SAFETY: a word of this lane.
        let bytes = unsafe { kind::bytes(PLAIN, words(owned).what) };
        assert_eq!(bytes, weight + Owned::by::<u64>(owned).bytes());
        assert_eq!(
            kind::function(PLAIN, words(owned).what),
            words(0).what >> Owned::BITS | u64::from(align_of::<u64>().trailing_zeros())
        );
    }
    let wide = Box::into_raw(Box::new(Wide { _bytes: [1; 96] }));
    // SAFETY: a box of this test.
    let entry = unsafe { Entry::plain(wide, Owned::NOTHING) };
    assert_eq!(what(entry), (96, 32));
    // SAFETY: it was a box.
    unsafe { entry.free() };
}

#[test]
fn functions_are_packed() {
    static RAN: AtomicUsize = AtomicUsize::new(0);
    unsafe fn run(object: *mut [u64; 5]) {
        RAN.store(object.addr(), Ordering::Relaxed);
    }
    let box_of_five = weight::boxed::<[u64; 5]>() as u64;
    for owned in [0, 1, 5000, usize::MAX - 1] {
        let what = kind::given(run, Owned::whole::<[u64; 5]>(owned));
        assert_eq!(kind::given_at(what), Some(run as *const () as u64));
        assert_eq!(kind::function(OWN, what), run as *const () as u64);
        // SAFETY: a word of this lane.
        let bytes = unsafe { kind::bytes(OWN, what) };
        let asked = (owned as u64).saturating_add(box_of_five);
        assert!(
            bytes >= asked.min(2047 << 30) && bytes - bytes / 1024 <= asked,
            "{owned}"
        );
        // SAFETY: as above; the function takes any address.
        unsafe { (kind::kind(what).run)(std::ptr::without_provenance_mut(owned)) };
        assert_eq!(RAN.load(Ordering::Relaxed), owned);
    }
    let (_, closure) = kind::called(|| (), quiescent_engine::credit::Urgency::Lazy);
    assert_eq!(kind::given_at(closure), None);
}

#[test]
fn a_push_needs_help_at_the_limit() {
    let own = Own::new(1);
    set(&own.lane.limit, 2);
    assert_eq!(own.push(1, true), Did::Help(0, 0)); // no bytes left
    set(&own.lane.left, 8);
    set(&own.lane.limit, 4);
    assert_eq!(own.push(8, true), Did::Nothing); // none left, but not exceeded
    assert_eq!(own.push(1, false), Did::Nothing); // bytes are not checked
    assert_eq!(get(&own.lane.left).cast_signed(), -1);
    assert_eq!(own.push(0, false), Did::Help(0, 0));
    assert_eq!(own.push(0, false), Did::Help(0, 0)); // and beyond it
}

#[test]
fn push_only_returns_whether_help_is_needed() {
    let own = Own::new(1);
    set(&own.lane.limit, 3);
    set(&own.lane.left, 10);
    own.lane.set_until(1, 1); // done, and not popped
    assert!(!own.lane.push_only(entry(0), 10));
    assert_eq!((get(&own.lane.left), get(&own.lane.head)), (0, 0));
    assert!(own.lane.push_only(entry(1), 1)); // more bytes than there were
    set(&own.lane.left, 10);
    assert!(own.lane.push_only(entry(2), 1)); // the limit
    // SAFETY: allocated by `new`.
    let what = |at| unsafe { (*own.blocks[0]).get(at) }.what;
    assert_eq!([what(0), what(1), what(2)], [0, 1, 2]);
}

#[test]
fn a_push_pops_what_is_done() {
    let own = Own::new(1);
    set(&own.lane.limit, N);
    own.lane.set_until(4, 1);
    assert_eq!(own.push(0, false), Did::Popped(0));
    own.lane.set_until(4, 2);
    assert_eq!(own.push(0, false), Did::PoppedLast(1, 3));
    assert_eq!(own.push(0, false), Did::PoppedLast(3, 4)); // there is no more
    assert_eq!(own.push(0, false), Did::Nothing);
    assert_eq!(get(&own.lane.head), 4);
    own.lane.set_until(9, 2);
    set(&own.lane.limit, 0);
    assert_eq!(own.push(0, false), Did::Help(4, 2));
    assert_eq!(get(&own.lane.head), 6);
}

/// At the end of the first block of three, with another one linked and credit left.
fn at_the_end() -> Own {
    let own = Own::new(3).queued(N);
    set(&own.lane.limit, N);
    set(&own.lane.reach, 3 * N);
    own.lane.ahead.store(8, Ordering::Relaxed);
    own
}

#[test]
fn the_owner_moves_to_the_next_block() {
    let published = AtomicU64::new(0);
    for (reach, limit) in [
        (3 * N, 2 * N),
        (2 * N, 2 * N),
        (N + 5, N + 5),
        (N + 1, N + 1),
    ] {
        let own = at_the_end();
        set(&own.lane.reach, reach);
        assert!(own.lane.cross(&published, N)); // 0 bytes left are not exceeded
        assert_eq!(get(&own.lane.limit), limit);
        assert_eq!(own.block(), own.blocks[1]);
        assert_eq!(own.lane.next.load(Ordering::Relaxed), own.blocks[2]);
        assert_eq!(own.lane.ahead.load(Ordering::Relaxed), 8);
    }
}

#[test]
fn the_owner_takes_the_lock() {
    let published = AtomicU64::new(0);
    type Change = fn(&Own);
    let stays: [(&str, Change); 5] = [
        ("lowered", |own| set(&own.lane.limit, 0)),
        ("within its block", |own| set(&own.lane.end, N - 1)),
        ("its credit ends there", |own| set(&own.lane.reach, N)),
        ("nothing linked", |own| {
            own.lane.next.store(std::ptr::null_mut(), Ordering::Relaxed);
        }),
        ("bytes", |own| {
            set(&own.lane.left, 1_u64.wrapping_neg());
        }),
    ];
    for (why, change) in stays {
        let own = at_the_end();
        change(&own);
        let limit = get(&own.lane.limit);
        assert!(!own.lane.cross(&published, N), "{why}");
        assert_eq!((get(&own.lane.limit), own.block()), (limit, own.blocks[0]));
        assert_eq!(own.lane.ahead.load(Ordering::Relaxed), 8, "{why}");
    }
    // A grace period of another thread has ended: fewer blocks from now on.
    let own = at_the_end();
    set(&published, 4);
    assert!(!own.lane.cross(&published, N));
    assert_eq!(own.lane.ahead.load(Ordering::Relaxed), 4);
    assert_eq!((get(&own.lane.limit), own.block()), (N, own.blocks[0]));
    set(&own.lane.published, 4);
    assert!(own.lane.cross(&published, N));
}

/// Inside a block the owner goes on to its next stop, at most to the end of the block and of its credit.
#[test]
fn a_stop_is_passed_unless_the_limit_was_lowered() {
    let stopped = || {
        let own = Own::new(2).queued(7);
        set(&own.lane.reach, 2 * N);
        set(&own.lane.limit, 7);
        own
    };
    for (reach, most, limit) in [(2 * N, 4, 11), (2 * N, 10 * N, N), (9, 4, 9)] {
        let own = stopped();
        set(&own.lane.reach, reach);
        assert!(own.lane.pass(most));
        assert_eq!((get(&own.lane.limit), own.block()), (limit, own.blocks[0]));
    }
    let own = stopped();
    set(&own.lane.limit, 0);
    assert!(
        !own.lane.pass(4) && get(&own.lane.limit) == 0,
        "a taker is here"
    );
    let own = stopped();
    set(&own.lane.left, 1_u64.wrapping_neg());
    assert!(!own.lane.pass(4), "bytes");
    let own = stopped();
    set(&own.lane.reach, 7);
    assert!(!own.lane.pass(4), "the end of its credit");
    assert!(
        !stopped().lane.cross(&AtomicU64::new(0), N),
        "not at the end of a block"
    );
}

#[test]
fn popped_before_returns_entries_popped_before_help() {
    let own = Own::new(2).queued(N + 1);
    own.lane.set_until(N - 1, 1);
    let before = |at, count| numbers(own.lane.popped_before(Popped { at, count }));
    assert_eq!(before(3, 0), [None, None]);
    assert_eq!(before(3, 1), [Some(3), None]);
    assert_eq!(before(4, 2), [Some(4), Some(5)]);
    own.is_at(0, N - 1);
}

#[test]
fn the_head_moves_to_the_next_block() {
    // What is done ends in this block, at its end, in the next one, or beyond that.
    for (done, block, until) in [
        (N - 1, 0, N - 1),
        (N, 0, N),
        (N + 1, 1, N + 1),
        (3 * N, 1, 2 * N),
    ] {
        let own = Own::new(3).queued(3 * N);
        set(&own.lane.done, done);
        own.lane.set_until(done.min(N), 1);
        let last = done.min(N);
        assert_eq!(
            numbers(own.lane.popped_last(last - 3, last - 2)),
            [Some(last - 3), None]
        );
        own.is_at(0, last);
        assert_eq!(
            numbers(own.lane.popped_last(last - 2, last)),
            [Some(last - 2), Some(last - 1)]
        );
        own.is_at(block, until);
    }
    // `until` covers what was done then; a later refill covers the rest.
    let own = Own::new(2).queued(9);
    set(&own.lane.done, 7);
    own.lane.set_until(5, 1);
    own.lane.popped_last(4, 5);
    own.is_at(0, 5);
}

/// The last one of a block, or of what is done, and two at once are popped with their range.
#[test]
fn a_push_says_whether_it_has_popped_the_last_one() {
    let own = Own::new(1);
    set(&own.lane.limit, N);
    own.lane.set_until(2, 1);
    assert_eq!(own.push(0, false), Did::Popped(0));
    assert_eq!(own.push(0, false), Did::PoppedLast(1, 2));
    assert_eq!(own.push(0, false), Did::Nothing);
    own.lane.set_until(3, 1);
    assert_eq!(own.push(0, false), Did::PoppedLast(2, 3));
    own.lane.set_until(9, 2);
    assert_eq!(own.push(0, false), Did::PoppedLast(3, 5));
    own.lane.set_until(0, 1); // taken over
    assert_eq!(own.push(0, false), Did::Nothing);
}

#[test]
fn many_are_popped_at_a_time() {
    let own = Own::new(2).queued(2 * N);
    set(&own.lane.done, N + 2);
    own.lane.set_until(N, 1);
    set(&own.lane.head, N - 5);
    let mut places = [Entry::NONE; 3];
    let mut many = |count: usize| {
        let popped = own.lane.pop_many(&mut places[..count]);
        let what: Vec<u64> = places[..popped].iter().map(|entry| entry.what).collect();
        (what, get(&own.lane.head))
    };
    assert_eq!(many(0), (vec![], N - 5));
    assert_eq!(many(3), (vec![N - 5, N - 4, N - 3], N - 2));
    own.is_at(0, N);
    assert_eq!(many(3), (vec![N - 2, N - 1], N));
    own.is_at(1, N + 2);
    assert_eq!(many(3), (vec![N, N + 1], N + 2));
    assert_eq!(many(3), (vec![], N + 2));
    own.is_at(1, N + 2);
}

/// In a lane that is taken over, `until` is below the head.
#[test]
fn a_taken_lane_is_not_popped() {
    let own = Own::new(1).queued(9);
    set(&own.lane.head, 5);
    assert_eq!(own.lane.pop_many(&mut [Entry::NONE; 2]), 0);
    assert_eq!(get(&own.lane.head), 5);
}

#[test]
fn a_block_links_the_next_one() {
    let own = Own::new(2);
    // SAFETY: made by `new`.
    let behind = |block: usize| unsafe { (*own.blocks[block]).behind() };
    assert_eq!(behind(0), own.blocks[1]);
    assert!(behind(1).is_null());
}
