//! Updates: publish a new element, and dispose of the old one by its kind.
//!
//! `[TO-3]` the exchange of a pointer releases the new element to readers, whose load acquires.

use std::ptr::NonNull;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use quiescent::intrusive;
use quiescent::{
    Cookie, Retired, barrier, defer, defer_hurry, defer_lazy, grace_period, in_section, read_lock,
    start_grace_period, synchronize, synchronize_expedited,
};

use crate::callback::{self, Block};
use crate::element::{Dropping, Element};
use crate::entry::{DOMAIN, Entry};
use crate::events::What;
use crate::finding::Finding;
use crate::hand::Hand;
use crate::kind::Kind;
use crate::ledger::SLOTS;
use crate::options::Broken;
use crate::waking;

/// Updates until the run is over.
pub fn run(mut hand: Hand) {
    let pause = hand.world.options.delays.writer_us;
    while hand.goes_on() {
        round(&mut hand);
        hand.acted();
        hand.dawdle(pause);
        if hand.world.is_broken(Broken::Crash) && hand.numbers.once_in(500) {
            // SAFETY: none: the address has no memory; the crash was requested.
            unsafe { std::ptr::without_provenance_mut::<u8>(8).write_volatile(1) };
        }
    }
}

/// A few updates of any kind, or many of a cheap one.
pub fn round(hand: &mut Hand) {
    let kinds = &hand.world.options.kinds;
    let kind = kinds[hand.numbers.below(kinds.len())];
    match hand.numbers.below(200) {
        // Enough to fill blocks of a queue; no more than a ledger has entries for.
        0 if kinds.contains(&Kind::RetirePtr) => flood(hand, Kind::RetirePtr, 1500),
        1 if !kind.waits() => flood(hand, kind, 300),
        2..6 => chaff(hand),
        6 if hand.world.barriers_allowed() && hand.numbers.once_in(8) => own_barrier(hand),
        _ => _ = update(hand, kind),
    }
}

/// The same kind many times. Others of this thread come between: they all share a queue.
fn flood(hand: &mut Hand, kind: Kind, most: usize) {
    for _ in 0..hand.numbers.below(most) {
        if !hand.goes_on() || !update(hand, kind) {
            break;
        }
    }
}

/// Blocks of many sizes that no thread reads: empty, tiny, large.
pub fn chaff(hand: &mut Hand) {
    fn one<T: Send + 'static>(value: T) {
        // SAFETY: just made, never published.
        unsafe { Retired::from_raw(NonNull::from(Box::leak(Box::new(value)))).retire() };
    }
    for _ in 0..hand.numbers.below(40) {
        match hand.numbers.below(8) {
            0 => one(()),
            1 => one(1u8),
            2 => one([2u8; 3]),
            3 => one([3u64; 32]),
            4 => one([4u64; 600]),
            5 if hand.numbers.once_in(8) => one(vec![5u8; 100_000]),
            _ => one([6u64; 8]),
        }
    }
}

/// Everything that this thread has queued has run when `barrier` returns.
pub fn own_barrier(hand: &mut Hand) {
    let committed = hand.ledger().committed();
    if !hand.world.is_broken(Broken::SkipBarrier) {
        barrier();
    }
    hand.ledger().check_barrier(committed, DOMAIN);
}

/// Publishes an element of this kind in place of another, and disposes of the old one. False if every entry
/// of this thread is in use.
pub fn update(hand: &mut Hand, kind: Kind) -> bool {
    let kind = match hand.world.is_broken(Broken::NeverLazy) && kind.is_lazy() {
        true => Kind::CallHurry,
        false => kind,
    };
    let ledger = hand.ledger();
    let Some((entry, birth)) = ledger.take(kind, DOMAIN) else {
        hand.world.full.fetch_add(1, Ordering::Relaxed);
        return false;
    };
    let element = Element::new(entry, birth, kind);
    if !hand.world.is_broken(Broken::PublishFirst) {
        entry.make_fit();
    }
    let slot = hand.numbers.below(SLOTS);
    if kind.in_cell() {
        if let Some(old) = ledger.cells[slot].store(Some(Dropping(element))) {
            dispose(hand, Old::Owned(old));
        }
        return true;
    }
    if hand.world.is_broken(Broken::RetireBeforeUnlink) {
        retire_too_early(hand, slot);
    }
    let new = Box::into_raw(Box::new(element));
    let old = ledger.raw[slot].swap(new, Ordering::AcqRel); // [TO-3]
    if hand.world.is_broken(Broken::PublishFirst) {
        thread::yield_now();
        entry.make_fit();
    }
    if let Some(old) = NonNull::new(old) {
        dispose(hand, Old::Raw(old));
    }
    true
}

/// Empties the slots of a ledger. Called at the end, by any thread.
pub fn clear(hand: &mut Hand) {
    let ledger = hand.ledger();
    for slot in 0..SLOTS {
        if let Some(old) = ledger.cells[slot].store(None) {
            dispose(hand, Old::Owned(old));
        }
        let old = ledger.raw[slot].swap(std::ptr::null_mut(), Ordering::AcqRel);
        if let Some(old) = NonNull::new(old) {
            dispose(hand, Old::Raw(old));
        }
    }
}

/// A misuse: readers can still find the block.
fn retire_too_early(hand: &mut Hand, slot: usize) {
    let ledger = hand.ledger();
    let found = ledger.raw[slot].load(Ordering::Acquire);
    // SAFETY: published by this thread, and not yet disposed of.
    if let Some(element) = unsafe { found.as_ref() }.filter(|element| element.kind().plain()) {
        let number = ledger.number();
        let entry = element.entry();
        entry.removed();
        element.set_word(entry.queue(number, hand.world.now()));
        // SAFETY: not safe: this is the misuse.
        unsafe { Retired::from_raw(NonNull::from(element)).retire_hurry() };
        ledger.commit(number);
        thread::sleep(Duration::from_millis(20));
        ledger.raw[slot].store(std::ptr::null_mut(), Ordering::Release);
    }
}

/// An element that was just unpublished.
enum Old {
    Raw(NonNull<Element>),
    Owned(Retired<Dropping>),
}

fn dispose(hand: &mut Hand, old: Old) {
    let element = match &old {
        Old::Raw(element) => *element,
        Old::Owned(retired) => NonNull::from(&retired.0),
    };
    // SAFETY: an element, which no thread frees before it is disposed of below.
    let kind = match unsafe { element.as_ref() }.kind() {
        kind if !kind.waits() || !in_section() => kind,
        kind if kind.in_cell() => Kind::RetiredHurry, // waiting is not allowed here
        _ => Kind::CallHurry,
    };
    let act = |hand: &mut Hand, entry, word| match old {
        Old::Raw(element) if kind.waits() => wait_and_free(hand, element, entry, word, kind),
        Old::Raw(element) => queue(hand, element, entry, word, kind),
        Old::Owned(retired) => give_back(hand, retired, kind),
    };
    // SAFETY: unpublished by this thread, and only `act` uses it.
    unsafe { disposing(hand, element, kind, read_lock, act) };
}

/// The common part of every disposal of an element, under any grace periods: the number, the word, the times,
/// and sometimes a section (`enter`), inside which the disposal must not end.
///
/// # Safety
/// The element must exist until `act` disposes of it.
pub unsafe fn disposing<G>(
    hand: &mut Hand,
    element: NonNull<Element>,
    kind: Kind,
    enter: impl FnOnce() -> G,
    act: impl FnOnce(&mut Hand, &'static Entry, u64),
) {
    // SAFETY: the caller's promise; not used after `act`.
    let element = unsafe { element.as_ref() };
    let (entry, world) = (element.entry(), hand.world);
    entry.removed();
    let number = hand.ledger().number();
    let word = entry.queue(number, world.now());
    element.set_word(word);
    world.count_queued(element.kind());
    hand.record(What::Queue, Some(kind), number);
    hand.begin(kind);
    let guard = (!kind.waits() && hand.numbers.once_in(4)).then(enter);
    let start = kind.is_timed().then(Instant::now);
    act(hand, entry, word);
    if let Some(start) = start {
        world.tallies[kind as usize].latency.add(start.elapsed());
        hand.record(What::Waited, Some(kind), number);
    }
    if let Some(guard) = guard {
        (0..hand.numbers.below(500)).for_each(|_| std::hint::spin_loop());
        if !entry.is_queued(word) {
            Finding::InsideSection.note(Some(kind), word);
        }
        drop(guard);
    }
    hand.ledger().commit(number);
    hand.end();
}

fn wait_and_free(
    hand: &mut Hand,
    element: NonNull<Element>,
    entry: &'static Entry,
    word: u64,
    kind: Kind,
) {
    let before = start_grace_period();
    match kind {
        Kind::Synchronize if hand.world.is_broken(Broken::NoGracePeriod) => {}
        Kind::Synchronize => synchronize(),
        Kind::Expedited => synchronize_expedited(),
        Kind::Cookie => before.wait(),
        Kind::Future => waking::block_on(&hand.place.bell, grace_period()),
        _ => {
            let cookie = match hand.world.is_broken(Broken::WrongCookie) {
                true => Cookie::COMPLETED,
                false => before,
            };
            while !cookie.is_done() {
                hand.dawdle(100);
            }
        }
    }
    if !kind.eq(&Kind::Poll) && hand.world.options.broken.is_none() && !before.is_done() {
        Finding::Cookie.note(Some(kind), 1); // a full grace period has passed since
    }
    if hand.misuses(Broken::Leak) {
        callback::ran(entry, word);
    } else {
        Block(element).end(entry, word);
    }
}

fn queue(hand: &mut Hand, element: NonNull<Element>, entry: &'static Entry, word: u64, kind: Kind) {
    let world = hand.world;
    if hand.misuses(Broken::NeverRun) {
        return;
    }
    let block = Block(element);
    let callback = move || block.end(entry, word);
    let head = element.cast();
    let dropping = element.cast::<Dropping>();
    match kind {
        Kind::Call if world.is_broken(Broken::CallNow) => callback(),
        Kind::Call => defer(callback),
        Kind::CallHurry => defer_hurry(callback),
        Kind::CallLazy => defer_lazy(callback),
        // SAFETY: the head at the beginning of an element that no other thread disposes of.
        Kind::CallHead => unsafe { intrusive::defer(head, callback::head_of_element) },
        // SAFETY: as above.
        Kind::CallHeadHurry => unsafe { intrusive::defer_hurry(head, callback::head_of_element) },
        // SAFETY: as above.
        Kind::CallHeadLazy => unsafe { intrusive::defer_lazy(head, callback::head_of_element) },
        // SAFETY: a boxed element (a `Dropping` is one, with the same layout), unlinked, retired once.
        Kind::RetireDrop => unsafe { Retired::from_raw(dropping).retire() },
        // SAFETY: as above.
        Kind::RetireDropHurry => unsafe { Retired::from_raw(dropping).retire_hurry() },
        // SAFETY: as above.
        Kind::RetirePtrHurry => unsafe { Retired::from_raw(element).retire_hurry() },
        // SAFETY: as above.
        Kind::RetirePtrOnWorker => unsafe { Retired::from_raw(element).on_worker().retire() },
        // SAFETY: as above, but for the misuse.
        _ => unsafe {
            Retired::from_raw(element).retire();
            if hand.misuses(Broken::DoubleFree) {
                Retired::from_raw(element).retire();
            }
        },
    }
}

fn give_back(hand: &mut Hand, mut retired: Retired<Dropping>, kind: Kind) {
    match (kind, hand.numbers.below(8)) {
        (Kind::RetiredWait, 0..4) => drop(retired.wait()),
        (Kind::RetiredWait, _) => {
            // Short deadlines would always expire beside busy readers: each call requests a new grace period.
            let mut patience = Duration::from_micros(20);
            while let Err(refused) = retired.wait_timeout(patience) {
                retired = refused.object;
                patience *= 2;
            }
        }
        (Kind::RetireWait, limit) => {
            // A refused value is dropped, and so retired.
            _ = retired.retire_wait(Duration::from_millis(limit as u64));
        }
        (Kind::TryRetire, _) => _ = retired.try_retire(), // as above
        (Kind::RetiredHurry, 0..4) => retired.retire_hurry(),
        (Kind::RetiredHurry, _) => retired.retire_hurry(),
        (_, 0..2) => retired.retire(),
        (_, 2..4) => drop(retired),
        (_, 4) => retired.with_owned_bytes(1 << 20).retire(),
        (_, 5) => retired.with_owned_bytes(4000).with_owned_bytes(96).retire(),
        (_, 6) => retired.on_worker().retire(),
        _ => retired.retire(),
    }
}
