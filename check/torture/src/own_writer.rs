//! Updates under [`Srcu`](quiescent::Srcu)s and [`Domain`](quiescent::Domain)s, with [`writer`]'s protocol
//! around each disposal; and threads that only request grace periods, wait for all callbacks, or run them.

use std::ptr::NonNull;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::callback::{self, Block, Own};
use crate::element::{Dropping, Element};
use crate::entry::Entry;
use crate::events::What;
use crate::finding::Finding;
use crate::hand::Hand;
use crate::kind::Kind;
use crate::ledger::SLOTS;
use crate::options::Broken;
use crate::periods::{Content, Periods, Whose, give_back};
use crate::srcu_reader;
use crate::target::Target;
use crate::waking;
use crate::writer;

/// Updates until the run is over.
pub fn run<P: Periods>(mut hand: Hand) {
    let pause = hand.world.options.delays.writer_us;
    while hand.goes_on() {
        round::<P>(&mut hand);
        hand.acted();
        hand.dawdle(pause);
    }
}

/// An update of any kind, or many of a cheap one; or another request for grace periods.
pub fn round<P: Periods>(hand: &mut Hand) {
    let Some(target) = srcu_reader::target::<P>(hand) else {
        return;
    };
    let kinds = &hand.world.options.kinds;
    let kind = P::nearest(kinds[hand.numbers.below(kinds.len())]);
    match hand.numbers.below(200) {
        0 if kinds.contains(&Kind::RetirePtr) => flood(hand, &target, Kind::RetirePtr, 1500),
        1 if !kind.waits() => flood(hand, &target, kind, 300),
        2..20 if kinds.contains(&Kind::Synchronize) => ask(hand, &target),
        20..22 if hand.world.barriers_allowed() => barrier(hand, &target),
        22..24 if hand.world.barriers_allowed() => {
            let limit = Duration::from_micros(hand.numbers.next() % 20_000);
            target.whose.drain_for(limit);
        }
        _ => _ = update(hand, &target, kind, false),
    }
}

fn flood<P: Periods>(hand: &mut Hand, target: &Target<P>, kind: Kind, most: usize) {
    for _ in 0..hand.numbers.below(most) {
        if !hand.goes_on() || !update(hand, target, kind, false) {
            break;
        }
    }
}

/// Everything that any thread has queued here has run when `barrier` returns, or its future is ready. Some
/// futures are dropped early.
fn barrier<P: Periods>(hand: &mut Hand, target: &Target<P>) {
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
    let own = &target.whose;
    let way = hand.numbers.below(7);
    hand.record(What::Ask, None, way as u64);
    hand.begin(Kind::Synchronize);
    match way {
        0 => own.synchronize(),
        1 => own.synchronize_expedited(),
        // Cancelled, most of the time.
        2 => _ = own.synchronize_timeout(Duration::from_micros(hand.numbers.next() % 200)),
        3 => {
            let cookie = own.start_grace_period();
            for _ in 0..hand.numbers.below(20) {
                if cookie.is_done() {
                    break;
                }
                hand.dawdle(50);
            }
        }
        4 => {
            let cookies: Vec<_> = (0..8).map(|_| own.start_grace_period()).collect();
            cookies[7].wait();
            if !cookies.into_iter().all(|cookie| cookie.is_done()) {
                Finding::Cookie.note(Some(Kind::Cookie), 2);
            }
        }
        5 => waking::block_on(&hand.place.bell, own.grace_period()),
        _ => waking::abandon(&hand.place.bell, own.grace_period()),
    }
    hand.end();
}

/// Publishes an element of this kind in place of another, and disposes of the old one; `inside` a section
/// without waiting. False if every entry of this thread is in use.
pub fn update<P: Periods>(hand: &mut Hand, target: &Target<P>, kind: Kind, inside: bool) -> bool {
    let kind = match hand.world.is_broken(Broken::NeverLazy) && kind.is_lazy() {
        true => Kind::CallHurry,
        false => P::nearest(kind),
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
    if kind.in_cell() {
        let mut new = Some(Dropping(element));
        let old = match hand.numbers.below(2) {
            0 => elements.cell.store(new),
            _ => elements.cell.update(|_| new.take()), // no other thread stores here: once
        };
        if old.is_some() {
            dispose(hand, target, Old::Owned(old), inside);
        }
        return true;
    }
    let new = Box::into_raw(Box::new(element));
    let slot = hand.numbers.below(SLOTS);
    let old = elements.raw[slot].swap(new, Ordering::AcqRel); // [TO-3]
    if hand.world.is_broken(Broken::PublishFirst) {
        std::thread::yield_now();
        entry.make_fit();
    }
    if let Some(old) = NonNull::new(old) {
        dispose(hand, target, Old::Raw(old), inside);
    }
    true
}

/// An element that was just unpublished.
enum Old<R> {
    Raw(NonNull<Element>),
    Owned(R),
}

fn dispose<P: Periods>(
    hand: &mut Hand,
    target: &Target<P>,
    old: Old<quiescent::Retired<Content, P>>,
    inside: bool,
) {
    let element = match &old {
        Old::Raw(element) => *element,
        Old::Owned(retired) => match &**retired {
            Some(dropping) => NonNull::from(&dropping.0),
            None => return,
        },
    };
    // SAFETY: an element, which no thread frees before it is disposed of below.
    let kind = match unsafe { element.as_ref() }.kind() {
        kind if !kind.waits() || !inside => kind,
        kind if kind.in_cell() => Kind::RetiredHurry, // waiting is not allowed here
        _ => Kind::CallHurry,
    };
    let own = &target.whose;
    let act = |hand: &mut Hand, entry, word| match old {
        Old::Raw(element) if kind.waits() => {
            wait_and_free(hand, &**own, element, entry, word, kind)
        }
        Old::Raw(element) => defer(hand, own, element, entry, word, kind),
        Old::Owned(retired) => give_back(retired, kind, hand),
    };
    // SAFETY: unpublished by this thread, and only `act` uses it.
    unsafe { writer::disposing(hand, element, kind, || P::enter(own), act) };
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
        callback::ran(entry, word);
    } else {
        Block(element).end(entry, word);
    }
}

fn defer<P: Periods>(
    hand: &mut Hand,
    own: &Whose<P>,
    element: NonNull<Element>,
    entry: &'static Entry,
    word: u64,
    kind: Kind,
) {
    let world = hand.world;
    if hand.misuses(Broken::NeverRun) {
        return;
    }
    let block = Block(element);
    // Some keep the grace periods under which they are queued, which may then end in the callback itself.
    let kept = match own {
        Whose::Owned(_) if hand.numbers.once_in(2) => P::own(own.clone()),
        _ => Own::Global,
    };
    let callback = move || block.end_under(entry, word, kept);
    let dropping = element.cast::<Dropping>();
    match kind {
        Kind::Call if world.is_broken(Broken::CallNow) => callback(),
        Kind::Call => own.defer(callback),
        Kind::CallHurry => own.defer_hurry(callback),
        Kind::CallLazy => own.defer_lazy(callback),
        // SAFETY: a boxed element (a `Dropping` is one, with the same layout), unlinked, retired once.
        Kind::RetireDrop => unsafe { own.retired(dropping).retire() },
        // SAFETY: as above.
        Kind::RetireDropHurry => unsafe { own.retired(dropping).retire_hurry() },
        // SAFETY: as above.
        Kind::RetirePtrHurry => unsafe { own.retired(element).retire_hurry() },
        // SAFETY: as above, but for the misuse.
        _ => unsafe {
            own.retired(element).retire();
            if hand.misuses(Broken::DoubleFree) {
                own.retired(element).retire();
            }
        },
    }
}
