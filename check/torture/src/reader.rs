//! Readers: they find an element, stay in the section, and read the element's age at the *end* of the
//! section. An age above 1 shows that a grace period has passed that had to wait for this section.
//!
//! Sections come in several shapes: short, nested with guards dropped in any order, `repin` in a loop,
//! interrupted by the scheduler, long, with updates and cookies inside. A cookie taken inside a section must
//! not be satisfied before the section ends.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use quiescent::{
    Cookie, Guard, drain, in_section, read_lock, start_grace_period, statistics, try_barrier,
    try_synchronize,
};

use crate::domain_reader;
use crate::element::Element;
use crate::entry::Entry;
use crate::finding::Finding;
use crate::hand::Hand;
use crate::kind::Kind;
use crate::ledger::SLOTS;
use crate::numbers::Numbers;
use crate::options::Broken;
use crate::role::Role;
use crate::world::World;
use crate::writer;

/// Reads until the run is over.
pub fn run(mut hand: Hand) {
    for turn in 0u64.. {
        if !hand.goes_on() {
            break;
        }
        section(&mut hand);
        if turn % 64 == 0 {
            thread::sleep(Duration::from_micros(50)); // lets others run
        }
        if turn == 1000 && hand.world.is_broken(Broken::StuckReader) {
            std::mem::forget(read_lock());
        }
    }
}

/// The element that a section has found.
pub struct Seen<'g> {
    element: &'g Element,
    entry: &'static Entry,
    birth: u64,
    kind: Kind,
}

/// Finds one of the published elements, if there is one at the drawn place.
pub fn find<'g>(world: &'static World, draw: usize, guard: &'g Guard) -> Option<Seen<'g>> {
    let ledger = &world.places[draw % world.places.len()].ledger;
    let slot = draw / world.places.len() % (2 * SLOTS);
    let element = if slot < SLOTS {
        // Acquire: the element's contents, published by the writer's exchange [TO-3].
        let element = ledger.raw[slot].load(Ordering::Acquire);
        // SAFETY: published elements are freed after a grace period, which waits for `guard`.
        unsafe { element.as_ref() }
    } else {
        ledger.cells[slot - SLOTS]
            .load(guard)
            .map(|dropping| &dropping.0)
    }?;
    Seen::of(element)
}

impl<'g> Seen<'g> {
    /// The element that a section has found, if it may be read.
    pub fn of(element: &'g Element) -> Option<Seen<'g>> {
        if element.check() && !element.entry().is_fit() {
            Finding::Unfit.note(Some(element.kind()), element.birth());
        }
        element.check().then(|| Seen {
            element,
            entry: element.entry(),
            birth: element.birth(),
            kind: element.kind(),
        })
    }

    /// Checks at the end of the section; returns kind and age, and notes every error.
    pub fn judge(&self) -> (Kind, u32) {
        let age = self.entry.age();
        if age > 1 {
            Finding::TooShort.note(Some(self.kind), u64::from(age));
        }
        if self.entry.birth() != self.birth {
            Finding::Reused.note(Some(self.kind), self.birth);
        }
        let mark = self.element.mark();
        if mark != crate::element::ALIVE {
            Finding::Poisoned.note(Some(self.kind), mark);
        }
        (self.kind, age)
    }
}

/// A short section in a callback.
pub fn glance(world: &'static World, numbers: &mut Numbers) {
    let guard = read_lock();
    let seen = find(world, numbers.next() as usize, &guard);
    stay(numbers.below(200));
    if let Some(seen) = seen {
        seen.judge();
    }
    world.glances.fetch_add(1, Ordering::Relaxed);
}

/// A nested section in a signal handler: only loads and atomic additions.
pub fn in_handler(world: &'static World) {
    static DRAW: AtomicU64 = AtomicU64::new(0);
    let draw = DRAW.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed) >> 20;
    let outer = read_lock();
    let first = find(world, draw as usize, &outer);
    let inner = read_lock();
    let second = find(world, draw as usize, &inner);
    for seen in first.iter().chain(&second) {
        seen.judge();
    }
    domain_reader::in_handler(world, draw as usize); // inside one of the process's
    drop((outer, inner));
    domain_reader::in_handler(world, draw as usize / 5);
    world.acted(Role::Signal, 1);
}

/// Stays in the section for so long.
pub fn stay(turns: usize) {
    (0..turns).for_each(|_| spin_loop());
}

/// One section in one of several shapes.
pub fn section(hand: &mut Hand) {
    hand.had_section();
    match hand.numbers.below(64) {
        0..4 => nested(hand),
        4..8 => repinning(hand),
        8 => updating(hand),
        // Polling drives grace periods, so it is not used where the scenario has no requests.
        9 if hand.world.options.kinds.contains(&Kind::Poll) => asking(hand),
        shape => plain(hand, shape),
    }
    debug_assert!(!in_section(), "a section was left open");
}

fn plain(hand: &mut Hand, shape: usize) {
    let guard = read_lock();
    let seen = find(hand.world, hand.numbers.next() as usize, &guard);
    let delays = hand.world.options.delays;
    let lasting = hand.numbers.once_in(delays.section_every.max(1));
    match hand.numbers.below(2000) {
        _ if lasting => {
            let time = hand.numbers.next() % delays.section_us.max(1);
            hand.sleep(Duration::from_micros(time));
        }
        1 if hand.numbers.once_in(20) => hand.sleep(Duration::from_millis(300)),
        2..60 => thread::yield_now(), // interrupted, for as long as it takes
        _ => stay(shape * 10),
    }
    finish(hand, seen);
}

/// The checks at the end of every section.
pub fn finish(hand: &mut Hand, seen: Option<Seen<'_>>) {
    if let Some((kind, age)) = seen.map(|seen| seen.judge()) {
        hand.saw(kind, age);
    }
}

/// Two sections; the outer guard is dropped first.
fn nested(hand: &mut Hand) {
    let outer = read_lock();
    let first = find(hand.world, hand.numbers.next() as usize, &outer);
    let inner = read_lock();
    let second = find(hand.world, hand.numbers.next() as usize, &inner);
    stay(hand.numbers.below(100));
    finish(hand, first);
    drop(outer);
    stay(hand.numbers.below(200));
    finish(hand, second);
}

fn repinning(hand: &mut Hand) {
    let mut guard = read_lock();
    for _ in 0..20 {
        let seen = find(hand.world, hand.numbers.next() as usize, &guard);
        stay(hand.numbers.below(50));
        finish(hand, seen);
        guard.repin();
    }
}

/// Retires or calls inside a section; none of it may run before the section ends.
fn updating(hand: &mut Hand) {
    let guard = read_lock();
    let seen = find(hand.world, hand.numbers.next() as usize, &guard);
    let kind = hand.deferred();
    writer::update(hand, kind);
    finish(hand, seen);
}

/// Takes a cookie inside a section, and makes the calls that must be refused there.
fn asking(hand: &mut Hand) {
    let guard = read_lock();
    let seen = find(hand.world, hand.numbers.next() as usize, &guard);
    let world = hand.world;
    let before = statistics().grace_periods;
    let cookie = match world.is_broken(Broken::FalseCookie) {
        true => Cookie::COMPLETED,
        false => start_grace_period(),
    };
    stay(hand.numbers.below(2000));
    if cookie.is_done() {
        Finding::Cookie.note(None, 0);
    }
    let spanned = (statistics().grace_periods - before).min(3) as usize;
    world.spans[spanned].fetch_add(1, Ordering::Relaxed);
    assert!(
        try_synchronize().is_err(),
        "waited for a grace period inside a section"
    );
    assert!(
        try_barrier().is_err(),
        "waited for a barrier inside a section"
    );
    let drains = world.options.cast.of(Role::Drain) > 0;
    if drains && world.barriers_allowed() && hand.numbers.once_in(16) {
        drain(Duration::from_millis(1)); // runs what is ready, and does not wait
    }
    finish(hand, seen);
}
