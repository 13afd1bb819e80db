//! Readers under [`Srcu`](quiescent::Srcu)s: as [`reader`]; they also sleep inside, and pass some sections
//! to other threads, with the element found in them.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use quiescent::{Srcu, read_lock};

use crate::finding::Finding;
use crate::hand::Hand;
use crate::kind::Kind;
use crate::options::Broken;
use crate::own_writer;
use crate::periods::Periods;
use crate::reader::{self, Seen, stay};
use crate::target::{Held, Target};

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
            std::mem::forget(hand.world.srcus[0].target().map(|target| target.hold(0)));
        }
    }
}

/// The target in one of the slots.
pub fn target<P: Periods>(hand: &mut Hand) -> Option<Arc<Target<P>>> {
    let slots = P::slots(hand.world);
    slots.get(hand.numbers.below(slots.len().max(1)))?.target()
}

/// One section in one of several shapes; none where the cast has no `Srcu`s.
pub fn section(hand: &mut Hand) {
    let Some(target) = target::<Srcu>(hand) else {
        return;
    };
    hand.had_srcu_section();
    let draw = hand.numbers.next() as usize;
    match hand.numbers.below(64) {
        0..6 => nested(hand, &target),
        6..16 => hand_on(hand, target),
        16..26 => take_over(hand),
        26 => updating(hand, &target),
        27..29 if hand.world.options.kinds.contains(&Kind::Poll) => asking(hand, &target),
        29..32 => inside_another(hand, &target),
        32..48 => here(hand, &target, draw),
        _ => {
            let held = target.hold(draw);
            last(hand);
            end(hand, held);
        }
    }
}

/// A section that ends on this thread; inside it no thread waits.
fn here(hand: &mut Hand, target: &Target<Srcu>, draw: usize) {
    let guard = target.whose.read_lock();
    let found = target.find_under(draw, &guard, |cell, guard| cell.load(guard));
    last(hand);
    assert!(
        target.whose.try_synchronize().is_err(),
        "waited inside a section of its own"
    );
    if let Some((kind, age)) = found.as_ref().map(Seen::judge) {
        hand.saw(kind, age);
    }
    drop(guard);
}

/// Stays in the section, sometimes asleep.
pub fn last(hand: &mut Hand) {
    let delays = hand.world.options.delays;
    let lasting = hand.numbers.once_in(delays.section_every.max(1));
    match hand.numbers.below(2000) {
        _ if lasting => {
            let time = hand.numbers.next() % delays.section_us.max(1);
            hand.sleep(Duration::from_micros(time));
        }
        1 if hand.numbers.once_in(20) => hand.sleep(Duration::from_millis(300)),
        2..60 => thread::yield_now(),
        shape => stay(shape % 64 * 10),
    }
}

/// The checks at the end of every section.
pub fn end<P: Periods>(hand: &mut Hand, held: Held<P>) {
    if let Some((kind, age)) = held.end() {
        hand.saw(kind, age);
    }
}

/// Two sections; the outer one ends first.
pub fn nested<P: Periods>(hand: &mut Hand, target: &Target<P>) {
    let outer = target.hold(hand.numbers.next() as usize);
    let inner = target.hold(hand.numbers.next() as usize);
    stay(hand.numbers.below(100));
    end(hand, outer);
    stay(hand.numbers.below(200));
    end(hand, inner);
}

/// Another thread ends the section; this thread may have ended by then, and the target may be dropped.
fn hand_on(hand: &mut Hand, target: Arc<Target<Srcu>>) {
    let held = target.hold(hand.numbers.next() as usize);
    drop(target);
    let index = hand.numbers.below(hand.world.handed_on.len());
    if let Some(held) = hand.world.handed_on[index].leave(held) {
        end(hand, held);
    }
}

fn take_over(hand: &mut Hand) {
    let index = hand.numbers.below(hand.world.handed_on.len());
    if let Some(held) = hand.world.handed_on[index].take() {
        last(hand);
        end(hand, held);
    }
}

/// Updates inside a section.
pub fn updating<P: Periods>(hand: &mut Hand, target: &Target<P>) {
    let held = target.hold(hand.numbers.next() as usize);
    let kind = hand.deferred();
    own_writer::update(hand, target, kind, true);
    end(hand, held);
}

/// A section of the global domain inside, and the reverse: neither affects the other.
pub fn inside_another<P: Periods>(hand: &mut Hand, target: &Target<P>) {
    let domain = read_lock();
    let held = target.hold(hand.numbers.next() as usize);
    let found = reader::find(hand.world, hand.numbers.next() as usize, &domain);
    stay(hand.numbers.below(200));
    assert!(
        target.whose.try_synchronize().is_err(),
        "waited inside a section of the process's domain"
    );
    reader::finish(hand, found);
    drop(domain);
    stay(hand.numbers.below(200));
    end(hand, held);
}

/// Takes a cookie inside a section; it must not be satisfied there. A wait must not succeed either.
pub fn asking<P: Periods>(hand: &mut Hand, target: &Target<P>) {
    let own = &*target.whose;
    let earlier = hand.world.is_broken(Broken::FalseCookie).then(|| {
        let cookie = own.start_grace_period();
        cookie.wait();
        cookie
    });
    let held = target.hold(hand.numbers.next() as usize);
    let cookie = earlier.unwrap_or_else(|| own.start_grace_period());
    stay(hand.numbers.below(2000));
    if cookie.is_done() {
        Finding::Cookie.note(None, 0);
    }
    if hand.numbers.once_in(8) {
        let patience = Duration::from_micros(hand.numbers.next() % 500);
        if own.synchronize_timeout(patience).is_ok() {
            Finding::TooShort.note(None, 0);
        }
    }
    if hand.world.barriers_allowed() && hand.numbers.once_in(16) {
        own.drain_for(Duration::from_millis(1)); // times out: this section blocks it
    }
    end(hand, held);
}
