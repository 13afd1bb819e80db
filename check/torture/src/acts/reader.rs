//! Readers: they find an element, stay in the section, and read the element's age at the *end* of the
//! section. An age above 1 shows that a grace period has passed that had to wait for this section.
//!
//! Sections come in several shapes: short, nested with guards dropped in any order, `repin` in a loop,
//! interrupted by the scheduler, long, with updates and cookies inside, of many targets at once. A cookie
//! taken inside a section must not be satisfied before the section ends. Sections of an [`Srcu`] are also
//! passed to other threads, with the element found in them.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use quiescent::{Domain, Global, Srcu, statistics};

use super::writer;
use crate::book::element::Seen;
use crate::book::finding::Finding;
use crate::book::hand::{Hand, stay};
use crate::book::kind::Kind;
use crate::book::lock;
use crate::book::numbers::Numbers;
use crate::book::options::Broken;
use crate::book::periods::{Periods, Section, Whose};
use crate::book::role::Role;
use crate::book::target::{Held, Sent, Shared, Target, Targets};
use crate::book::world::World;

/// Grace periods whose readers have a shape of their own.
pub trait Reads: Targets {
    /// A section that only these readers have.
    fn own_shape(hand: &mut Hand, target: Shared<Self>);
}

/// Reads until the run is over.
pub fn run<P: Reads>(mut hand: Hand) {
    for turn in 0u64.. {
        if !hand.goes_on() {
            break;
        }
        section::<P>(&mut hand);
        if turn % 64 == 0 {
            thread::sleep(Duration::from_micros(50)); // lets others run
        }
        if turn == 1000 && hand.world.is_broken(Broken::StuckReader) {
            std::mem::forget(P::enter(&Whose::Static(&P::statics()[0])));
        }
    }
}

/// A short section in a callback.
pub fn glance(world: &World, numbers: &mut Numbers) {
    let Some(slots) = Global::slots() else { return };
    let held = slots.fixed.hold(numbers.next() as usize);
    stay(numbers.below(200));
    held.end();
    world.glances.fetch_add(1, Ordering::Relaxed);
}

/// Nested sections in a signal handler: only loads and atomic additions.
pub fn in_handler(world: &World) {
    static DRAW: AtomicU64 = AtomicU64::new(0);
    let draw = DRAW.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed) >> 20;
    let draw = draw as usize;
    twice::<Global>(draw, || twice::<Domain>(draw, || ())); // inside one of the process's
    twice::<Domain>(draw / 5, || ());
    world.acted(Role::Signal, 1);
}

fn twice<P: Targets>(draw: usize, inside: impl FnOnce()) {
    if let Some(slots) = P::slots() {
        let outer = slots.fixed.hold(draw);
        let inner = slots.fixed.hold(draw / 7);
        inside();
        _ = (outer.end(), inner.end());
    }
}

/// One section in one of several shapes; none where the run has no such targets.
pub fn section<P: Reads>(hand: &mut Hand) {
    let Some(target) = P::drawn(&mut hand.numbers) else {
        return;
    };
    hand.had_section(P::READER);
    match hand.numbers.below(64) {
        0..4 => nested(hand, &target),
        4..8 => repinning(hand, &target),
        8 => updating(hand, &target),
        // Polling drives grace periods, so it is not used where the scenario has no requests.
        9 if hand.world.options.kinds.contains(&Kind::Poll) => asking(hand, &target),
        10 => inside_another(hand, &target),
        11 => many::<P>(hand),
        12 => outliving(hand, target),
        13 => visiting(hand, &target),
        14..24 => P::own_shape(hand, target),
        _ => plain(hand, &target),
    }
}

fn plain<P: Periods>(hand: &mut Hand, target: &Target<P>) {
    let held = hold(hand, target);
    last(hand);
    end(hand, held);
}

/// Opens a section, with one of the elements.
fn hold<P: Periods>(hand: &mut Hand, target: &Target<P>) -> Held<P::Section> {
    target.hold(hand.numbers.next() as usize)
}

/// The checks at the end of every section.
pub fn end<G>(hand: &mut Hand, held: Held<G>) {
    if let Some((kind, age)) = held.end() {
        hand.saw(kind, age);
    }
}

/// Stays in the section, sometimes asleep.
fn last(hand: &mut Hand) {
    let delays = hand.world.options.delays;
    let lasting = hand.numbers.once_in(delays.section_every.max(1));
    match hand.numbers.below(2000) {
        _ if lasting => {
            let time = hand.numbers.next() % delays.section_us.max(1);
            hand.sleep(Duration::from_micros(time));
        }
        1 if hand.numbers.once_in(20) => hand.sleep(Duration::from_millis(300)),
        2..60 => thread::yield_now(), // interrupted, for as long as it takes
        shape => stay(shape % 64 * 10),
    }
}

/// Two sections; the outer one ends first.
fn nested<P: Periods>(hand: &mut Hand, target: &Target<P>) {
    let outer = hold(hand, target);
    let inner = hold(hand, target);
    stay(hand.numbers.below(100));
    end(hand, outer);
    stay(hand.numbers.below(200));
    end(hand, inner);
}

fn repinning<P: Periods>(hand: &mut Hand, target: &Target<P>) {
    let mut section = P::enter(&target.whose);
    for _ in 0..20 {
        let seen = target.find(hand.numbers.next() as usize, &section);
        stay(hand.numbers.below(50));
        if let Some((kind, age)) = seen.as_ref().map(Seen::judge) {
            hand.saw(kind, age);
        }
        P::repin(&mut section);
    }
}

/// Visits all entries of the map, and looks at the elements once more at the end.
fn visiting<P: Periods>(hand: &mut Hand, target: &Target<P>) {
    let section = P::enter(&target.whose);
    let Some(map) = section.load(&target.map) else {
        return;
    };
    let map = map.pin();
    let elements = map.values().flatten();
    let seen: Vec<_> = elements.filter_map(|it| Seen::of(&it.0)).collect();
    last(hand);
    for (kind, age) in seen.iter().map(Seen::judge) {
        hand.saw(kind, age);
    }
}

/// Retires or calls inside a section; none of it may run before the section ends.
fn updating<P: Periods>(hand: &mut Hand, target: &Target<P>) {
    let held = hold(hand, target);
    let kind = hand.deferred();
    writer::update(hand, target, kind, true);
    end(hand, held);
}

/// A section of the process inside, and the reverse: neither affects the other.
fn inside_another<P: Periods>(hand: &mut Hand, target: &Target<P>) {
    let Some(process) = Global::slots() else {
        return;
    };
    let outer = hold(hand, process.fixed);
    let held = hold(hand, target);
    stay(hand.numbers.below(200));
    assert!(
        target.whose.try_synchronize().is_err() && target.whose.try_barrier().is_err(),
        "waited inside a section of the process's"
    );
    end(hand, outer);
    stay(hand.numbers.below(200));
    end(hand, held);
}

/// Takes a cookie inside a section; it must not be satisfied there. A wait must not succeed either.
fn asking<P: Periods>(hand: &mut Hand, target: &Target<P>) {
    let own = &*target.whose;
    let earlier = hand.world.is_broken(Broken::FalseCookie).then(|| {
        let cookie = own.start_grace_period();
        cookie.wait();
        cookie
    });
    let held = hold(hand, target);
    let before = statistics().grace_periods;
    let cookie = earlier.unwrap_or_else(|| own.start_grace_period());
    stay(hand.numbers.below(2000));
    if cookie.is_done() {
        Finding::Cookie.note(None, 0);
    }
    let spanned = (statistics().grace_periods - before).min(3) as usize;
    if P::READER == Role::Reader {
        hand.world.spans[spanned].fetch_add(1, Ordering::Relaxed);
    }
    let patience = Duration::from_micros(hand.numbers.next() % 500);
    if hand.numbers.once_in(8) && own.synchronize_timeout(patience).is_ok() {
        Finding::TooShort.note(None, 0);
    }
    if hand.world.may_drain(P::READER) && hand.numbers.once_in(16) {
        own.drain(Duration::from_millis(1)); // runs what is ready: this section blocks the rest
    }
    end(hand, held);
}

/// Sections of several targets at once, which end in any order.
fn many<P: Targets>(hand: &mut Hand) {
    let numbers = &mut hand.numbers;
    let targets: Vec<_> = (0..3).filter_map(|_| P::drawn(numbers)).collect();
    let mut open = Vec::new();
    for target in &targets {
        open.push(hold(hand, target));
        stay(hand.numbers.below(50));
    }
    while !open.is_empty() {
        let held = open.swap_remove(hand.numbers.below(open.len()));
        end(hand, held);
        stay(hand.numbers.below(50));
    }
}

/// The section, or a cell that is read, outlives the target: the target's cells may outlive the domain.
fn outliving<P: Periods>(hand: &mut Hand, target: Shared<P>) {
    let held = hold(hand, &target);
    let own = target.whose.clone();
    drop(target);
    stay(hand.numbers.below(1000));
    if !own.in_section() {
        Finding::TooShort.note(None, 2); // it missed its own reader
    }
    drop(own);
    end(hand, held);
}

impl Reads for Global {
    fn own_shape(hand: &mut Hand, target: Shared<Global>) {
        plain(hand, &target);
    }
}

impl Reads for Domain {
    /// Waits for a domain inside a section of an earlier one, which prevents circular waiting; seldom.
    fn own_shape(hand: &mut Hand, target: Shared<Domain>) {
        let Some(slots) = Domain::slots() else { return };
        let earlier = hand.numbers.below(slots.count() - 1);
        let later = earlier + 1 + hand.numbers.below(slots.count() - 1 - earlier);
        let (Some(outer), Some(inner)) = (slots.target(earlier), slots.target(later)) else {
            return;
        };
        if !hand.numbers.once_in(8) {
            return plain(hand, &target);
        }
        let held = hold(hand, &outer);
        hand.begin(Kind::Synchronize);
        // Refused where the thread has no slot: then the library does not know to which domain its section
        // belongs.
        _ = inner.whose.try_synchronize();
        hand.end();
        end(hand, held);
    }
}

/// Sections that were passed on and not yet taken.
static PASSED_ON: Mutex<VecDeque<Sent>> = Mutex::new(VecDeque::new());

/// The largest number of them.
const MOST: usize = 18;

/// Ends passed-on sections that no thread takes any more.
pub fn end_passed_on() {
    let all = std::mem::take(&mut *lock(&PASSED_ON));
    all.into_iter().for_each(|held| _ = held.end());
}

impl Reads for Srcu {
    /// Another thread ends the section; this thread may have ended by then, and the target may be dropped.
    fn own_shape(hand: &mut Hand, target: Shared<Srcu>) {
        let draw = hand.numbers.next() as usize;
        if hand.numbers.once_in(2) {
            let oldest = lock(&PASSED_ON).pop_front();
            if let Some(held) = oldest {
                last(hand);
                end(hand, held);
            }
            return;
        }
        let held = target.hold_sent(draw);
        drop(target);
        let mut post = lock(&PASSED_ON);
        if hand.numbers.once_in(2) && post.len() < MOST {
            post.push_back(held);
            return;
        }
        drop(post);
        last(hand);
        end(hand, held);
    }
}
