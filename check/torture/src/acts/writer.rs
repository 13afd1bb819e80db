//! Updates under grace periods of any kind: publish a new element, and dispose of the old one by its kind;
//! and requests for grace periods, or for the end of all callbacks, that no object needs.
//!
//! `[TO-3]` the exchange of a pointer releases the new element to readers, whose load acquires.

use std::ptr::{NonNull, null_mut};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use quiescent::{Retired, intrusive};
use quiescent_collections::Change;

use crate::book::element::Element;
use crate::book::ending::{self, Block, Dropping};
use crate::book::entry::Entry;
use crate::book::events::What;
use crate::book::finding::Finding;
use crate::book::hand::{Hand, stay};
use crate::book::kind::Kind;
use crate::book::ledger::SLOTS;
use crate::book::options::Broken;
use crate::book::periods::{Own, Periods, Section, Whose};
use crate::book::role::Role;
use crate::book::target::{self, BARE, KEYS, Target, Targets, key_of};
use crate::book::waking;

/// Updates until the run is over.
pub fn run<P: Targets>(mut hand: Hand) {
    let pause = hand.world.options.delays.writer_us;
    while hand.goes_on() {
        round::<P>(&mut hand);
        hand.acted();
        hand.dawdle(pause);
        if hand.world.is_broken(Broken::Crash) && hand.numbers.once_in(500) {
            // SAFETY: none: the address has no memory; the crash was requested.
            unsafe { std::ptr::without_provenance_mut::<u8>(8).write_volatile(1) };
        }
    }
}

/// Requests grace periods and needs none, until the run is over. A thread with an object must get a full one
/// nevertheless.
pub fn fake<P: Targets>(mut hand: Hand) {
    let pause = hand.world.options.delays.writer_us;
    while hand.goes_on() {
        if let Some(target) = P::drawn(&mut hand.numbers) {
            ask(&mut hand, &target);
        }
        hand.acted();
        hand.dawdle(pause);
    }
}

/// An update of any kind, or many of a cheap one; or a request for grace periods, or for callbacks.
pub fn round<P: Targets>(hand: &mut Hand) {
    let Some(target) = P::drawn(&mut hand.numbers) else {
        return;
    };
    let kinds = &hand.world.options.kinds;
    let kind = kinds[hand.numbers.below(kinds.len())];
    // The process has actors for these.
    let alone = P::READER != Role::Reader;
    let barriers = hand.world.barriers_allowed();
    match hand.numbers.below(200) {
        // Enough to fill blocks of a queue; no more than a ledger has entries for.
        0 if kinds.contains(&Kind::RetirePtr) => flood(hand, &target, Kind::RetirePtr, 1500),
        1 if !kind.waits() => flood(hand, &target, kind, 300),
        2..6 => chaff(hand, &target),
        6 if barriers && (alone || hand.numbers.once_in(8)) => barrier(hand, &target),
        7..9 if barriers && alone => {
            let limit = Duration::from_micros(hand.numbers.next() % 20_000);
            target.whose.drain(limit);
        }
        9..26 if alone && kinds.contains(&Kind::Synchronize) => ask(hand, &target),
        _ => _ = update(hand, &target, kind, false),
    }
}

/// The same kind many times. Others of this thread come between: they all share a queue.
fn flood<P: Periods>(hand: &mut Hand, target: &Target<P>, kind: Kind, most: usize) {
    for _ in 0..hand.numbers.below(most) {
        if !hand.goes_on() || !update(hand, target, kind, false) {
            break;
        }
    }
}

/// Blocks of many sizes that no thread reads: empty, tiny, large.
fn chaff<P: Periods>(hand: &mut Hand, target: &Target<P>) {
    fn one<P: Periods, T: Send + 'static>(target: &Target<P>, value: T) {
        // SAFETY: just made, never published.
        unsafe {
            target
                .retired(NonNull::from(Box::leak(Box::new(value))))
                .retire()
        };
    }
    for _ in 0..hand.numbers.below(40) {
        match hand.numbers.below(8) {
            0 => one(target, ()),
            1 => one(target, 1u8),
            2 => one(target, [2u8; 3]),
            3 => one(target, [3u64; 32]),
            4 => one(target, [4u64; 600]),
            5 if hand.numbers.once_in(8) => one(target, vec![5u8; 100_000]),
            _ => one(target, [6u64; 8]),
        }
    }
}

/// Everything that any thread has queued here has run when `barrier` returns, or its future is ready. Some
/// futures are dropped early.
pub fn barrier<P: Periods>(hand: &mut Hand, target: &Target<P>) {
    let places = &hand.world.places;
    let committed: Vec<u64> = places.iter().map(|it| it.ledger.committed()).collect();
    hand.record(What::Barrier, None, u64::from(target.number));
    if !hand.world.is_broken(Broken::SkipBarrier) {
        match hand.numbers.below(3) {
            0 => waking::block_on(&hand.place.bell, target.whose.barrier_async()),
            1 => {
                waking::abandon(&hand.place.bell, target.whose.barrier_async());
                target.whose.barrier();
            }
            _ => target.whose.barrier(),
        }
    }
    hand.record(What::BarrierEnd, None, u64::from(target.number));
    for (place, committed) in places.iter().zip(committed) {
        place.ledger.check_barrier(committed, target.number);
    }
}

/// Requests for grace periods that no object needs.
fn ask<P: Periods>(hand: &mut Hand, target: &Target<P>) {
    let own = &*target.whose;
    let way = hand.numbers.below(10);
    hand.record(What::Ask, None, way as u64);
    hand.begin(Kind::Synchronize);
    match way {
        0 | 1 => own.synchronize(),
        2 => own.synchronize_expedited(),
        3 => assert!(own.try_synchronize().is_ok(), "outside of all sections"),
        // Cancelled, most of the time.
        4 => _ = own.synchronize_timeout(Duration::from_micros(hand.numbers.next() % 200)),
        5 => {
            let cookie = own.start_grace_period();
            for _ in 0..hand.numbers.below(20) {
                if cookie.is_done() {
                    break;
                }
                hand.dawdle(50);
            }
        }
        6 | 7 => {
            // Waits for the last: then all of them must be satisfied.
            let mut cookies = vec![own.start_grace_period()];
            for _ in 0..15 * (way - 6) {
                hand.dawdle(20);
                cookies.push(own.start_grace_period());
            }
            cookies[cookies.len() - 1].wait();
            if !cookies.into_iter().all(|cookie| cookie.is_done()) {
                Finding::Cookie.note(Some(Kind::Cookie), 2);
            }
        }
        8 => waking::block_on(&hand.place.bell, own.grace_period()),
        _ => waking::abandon(&hand.place.bell, own.grace_period()),
    }
    hand.end();
}

/// As [`update`], under the process's grace periods, outside of sections.
pub fn update_process(hand: &mut Hand, kind: Kind) -> bool {
    let slots = quiescent::Global::slots().expect("each run has them");
    update(hand, slots.fixed, kind, false)
}

/// Publishes an element of this kind in place of another, and disposes of the old one; `inside` a section
/// without waiting. False if every entry of this thread is in use.
pub fn update<P: Periods>(hand: &mut Hand, target: &Target<P>, kind: Kind, inside: bool) -> bool {
    let kind = match hand.world.is_broken(Broken::NeverLazy) && kind.is_lazy() {
        true => Kind::DeferHurry,
        false => kind,
    };
    let Some((entry, birth)) = hand.ledger().take(kind, target.number) else {
        hand.world.full.fetch_add(1, Ordering::Relaxed);
        return false;
    };
    let element = Element::new(entry, birth, kind);
    if !hand.world.is_broken(Broken::PublishFirst) {
        entry.make_fit();
    }
    let elements = &target.per_thread[hand.number];
    let slot = hand.numbers.below(SLOTS);
    if kind == Kind::Mapped {
        update_map(hand, target, Dropping(element));
        return true;
    }
    if kind.in_cell() {
        let mut new = Some(Dropping(element));
        let cell = &elements.cells[slot];
        let old = match hand.numbers.below(2) {
            0 => cell.store(new),
            _ => cell.update(|_| new.take()), // no other thread stores here: once
        };
        if let Some(old) = old {
            dispose(hand, target, Old::Owned(old), inside);
        }
        return true;
    }
    if hand.world.is_broken(Broken::RetireBeforeUnlink) {
        retire_too_early(hand, target, slot);
    }
    let new = Box::into_raw(Box::new(element));
    let old = elements.raw[slot].swap(new, Ordering::AcqRel); // [TO-3]
    if hand.world.is_broken(Broken::PublishFirst) {
        thread::yield_now();
        entry.make_fit();
    }
    if let Some(old) = NonNull::new(old) {
        dispose(hand, target, Old::Raw(old), inside);
    }
    true
}

/// Puts an element into the map, in place of another; now and then many entries without one are added or
/// removed, so that the map grows and shrinks.
fn update_map<P: Periods>(hand: &mut Hand, target: &Target<P>, new: Dropping) {
    let section = P::enter(&target.whose);
    let map = section.load(&target.map).expect("taken at the end");
    let map = map.pin();
    let key = key_of(hand.number, hand.numbers.below(KEYS));
    let new = Some(Box::new(new));
    let old = match hand.numbers.below(4) {
        0 if map.contains_key(&key) => map.replace(key, new),
        1 => {
            let old = map.remove(&key);
            map.insert(key, new);
            old
        }
        2 => {
            let old = map.remove_if(&key, |_, _| true);
            map.get_or_insert_with(key, || new);
            old
        }
        _ => map.insert(key, new),
    };
    // The section holds its destructor off.
    if let Some(old) = old.and_then(Option::as_deref) {
        target::note(hand.world, NonNull::from(&old.0));
    }
    if hand.numbers.once_in(64) {
        let bare = BARE | key_of(hand.number, 0);
        match hand.numbers.below(4) {
            0 => map.retain(|&key, _| key & !0xffff != bare),
            1 => map.shrink_to_fit(),
            _ => (0..hand.numbers.below(3000) as u64).for_each(|n| {
                map.compute(bare | n, |found| match found {
                    None => Change::Put(None),
                    Some(_) if n % 3 == 0 => Change::Remove,
                    Some(_) => Change::Keep,
                });
            }),
        }
    }
}

/// A misuse: readers can still find the block.
fn retire_too_early<P: Periods>(hand: &mut Hand, target: &Target<P>, slot: usize) {
    let ledger = hand.ledger();
    let place = &target.per_thread[hand.number].raw[slot];
    let found = place.load(Ordering::Acquire);
    // SAFETY: published by this thread, and not yet disposed of.
    if let Some(element) = unsafe { found.as_ref() }.filter(|element| element.kind.plain()) {
        let number = ledger.number();
        let entry = element.entry;
        entry.removed();
        element.set_word(entry.queue(number, hand.world.now()));
        // SAFETY: not safe: this is the misuse.
        unsafe { target.retired(NonNull::from(element)).retire_hurry() };
        ledger.commit(number);
        thread::sleep(Duration::from_millis(20));
        place.store(null_mut(), Ordering::Release);
    }
}

/// An element that was just unpublished.
enum Old<P: Periods> {
    Raw(NonNull<Element>),
    Owned(Retired<Dropping, P>),
}

/// The number, the word, the times, and sometimes a section, inside which the disposal must not end.
fn dispose<P: Periods>(hand: &mut Hand, target: &Target<P>, old: Old<P>, inside: bool) {
    let world = hand.world;
    let element = match &old {
        Old::Raw(element) => *element,
        Old::Owned(retired) => NonNull::from(&retired.0),
    };
    // SAFETY: an element, unpublished by this thread, which no thread frees before it is disposed of below;
    // not used after that.
    let element = unsafe { element.as_ref() };
    let kind = match element.kind {
        kind if !kind.waits() || !inside => kind,
        kind if kind.in_cell() => Kind::RetiredHurry, // waiting is not allowed here
        _ => Kind::DeferHurry,
    };
    let entry = element.entry;
    entry.removed();
    let number = hand.ledger().number();
    let word = entry.queue(number, world.now());
    element.set_word(word);
    world.count_queued(element.kind);
    hand.record(What::Queue, Some(kind), number);
    hand.begin(kind);
    let within = !kind.waits() && hand.numbers.once_in(4);
    let guard = within.then(|| P::enter(&target.whose));
    let start = kind.is_timed().then(Instant::now);
    match old {
        Old::Raw(element) if kind.waits() => {
            wait_and_free(hand, &*target.whose, element, entry, word, kind);
        }
        Old::Raw(element) => queue(hand, target, element, entry, word, kind),
        Old::Owned(retired) => give_back(hand, retired, kind),
    }
    if let Some(start) = start {
        world.tallies[kind as usize].latency.add(start.elapsed());
        hand.record(What::Waited, Some(kind), number);
    }
    if let Some(guard) = guard {
        stay(hand.numbers.below(500));
        if !entry.is_queued(word) {
            Finding::InsideSection.note(Some(kind), word);
        }
        drop(guard);
    }
    hand.ledger().commit(number);
    hand.end();
}

fn wait_and_free<P: Periods>(
    hand: &mut Hand,
    own: &P,
    element: NonNull<Element>,
    entry: &'static Entry,
    word: u64,
    kind: Kind,
) {
    let before = own.start_grace_period();
    match kind {
        Kind::Synchronize if hand.world.is_broken(Broken::NoGracePeriod) => {}
        Kind::Synchronize if hand.numbers.once_in(4) => {
            // Short deadlines would always expire beside busy readers: each call requests a new grace period.
            let mut patience = Duration::from_micros(20);
            while own.synchronize_timeout(patience).is_err() {
                patience *= 2;
            }
        }
        Kind::Synchronize => own.synchronize(),
        Kind::Expedited => own.synchronize_expedited(),
        Kind::Cookie => before.wait(),
        Kind::Future => waking::block_on(&hand.place.bell, own.grace_period()),
        _ if hand.world.is_broken(Broken::WrongCookie) => {}
        _ => {
            while !before.is_done() {
                hand.dawdle(100);
            }
        }
    }
    if hand.world.options.broken.is_none() && !before.is_done() {
        Finding::Cookie.note(Some(kind), 1); // a full grace period has passed since
    }
    if hand.misuses(Broken::Leak) {
        ending::ran(entry, word, Own::None);
    } else {
        Block(element).end(entry, word, Own::None);
    }
}

fn queue<P: Periods>(
    hand: &mut Hand,
    target: &Target<P>,
    element: NonNull<Element>,
    entry: &'static Entry,
    word: u64,
    kind: Kind,
) {
    let world = hand.world;
    if hand.misuses(Broken::NeverRun) {
        return;
    }
    let own = &target.whose;
    let block = Block(element);
    // Some keep the grace periods under which they are queued, which may then end in the callback itself.
    let kept = match own {
        Whose::Owned(_) if hand.numbers.once_in(2) => P::own(own.clone()),
        _ => Own::None,
    };
    let callback = move || block.end(entry, word, kept);
    let (head, run) = (element.cast(), ending::head_of_element);
    let dropping = element.cast::<Dropping>();
    match kind {
        Kind::Defer if world.is_broken(Broken::CallNow) => callback(),
        Kind::Defer => own.defer(callback),
        Kind::DeferHurry => own.defer_hurry(callback),
        Kind::DeferLazy => own.defer_lazy(callback),
        // SAFETY: the head at the beginning of an element that no other thread disposes of.
        Kind::DeferHead => unsafe { intrusive::defer_in(&**own, head, run) },
        // SAFETY: as above.
        Kind::DeferHeadHurry => unsafe { intrusive::defer_hurry_in(&**own, head, run) },
        // SAFETY: as above.
        Kind::DeferHeadLazy => unsafe { intrusive::defer_lazy_in(&**own, head, run) },
        // SAFETY: a boxed element (a `Dropping` is one, with the same layout), unlinked, retired once.
        Kind::RetireDrop => unsafe { target.retired(dropping).retire() },
        // SAFETY: as above.
        Kind::RetireDropHurry => unsafe { target.retired(dropping).retire_hurry() },
        // SAFETY: as above.
        Kind::RetirePtrHurry => unsafe { target.retired(element).retire_hurry() },
        // SAFETY: as above.
        Kind::RetirePtrOnWorker => unsafe { target.retired(element).on_worker().retire() },
        // SAFETY: as above, but for the misuse.
        _ => unsafe {
            target.retired(element).retire();
            if hand.misuses(Broken::DoubleFree) {
                target.retired(element).retire();
            }
        },
    }
}

/// Retires a value, in one of the ways of this kind.
pub fn give_back<P: Periods>(hand: &mut Hand, mut retired: Retired<Dropping, P>, kind: Kind) {
    match (kind, hand.numbers.below(8)) {
        (Kind::RetiredWait, 0) => match retired.try_wait() {
            Ok(old) => drop(old),
            Err(refused) => panic!("Retired::try_wait: {refused}"),
        },
        (Kind::RetiredWait, 1..5) => drop(retired.wait()),
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
        (Kind::RetiredHurry, _) => retired.retire_hurry(),
        (_, 0 | 1) => drop(retired),
        (_, 4) => retired.with_owned_bytes(1 << 20).retire(),
        (_, 5) => retired.with_owned_bytes(4000).with_owned_bytes(96).retire(),
        (_, 6) => retired.on_worker().retire(),
        _ => retired.retire(),
    }
}
