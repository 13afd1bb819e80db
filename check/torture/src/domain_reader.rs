//! Readers under a program's own [`Domain`]s: as [`srcu_reader`], but sections stay on their thread; they are
//! opened in many domains in turn and inside one another, repinned, and opened in signal handlers.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use quiescent::Domain;

use crate::finding::Finding;
use crate::hand::Hand;
use crate::kind::Kind;
use crate::options::Broken;
use crate::periods::{DOMAINS, Inside, Periods as _};
use crate::reader::stay;
use crate::srcu_reader::{asking, end, inside_another, last, nested, target, updating};
use crate::target::{Held, TARGETS, Target};
use crate::world::World;

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
            std::mem::forget(DOMAINS[0].read_lock());
        }
    }
}

/// One section in one of several shapes; none where the cast has no domains.
pub fn section(hand: &mut Hand) {
    let Some(target) = target::<Domain>(hand) else {
        return;
    };
    hand.had_domain_section();
    match hand.numbers.below(64) {
        0..6 => nested(hand, &target),
        6..14 => repinning(hand, &target),
        14..24 => many(hand),
        24 => waiting_for_another(hand),
        25 => updating(hand, &target),
        26..28 if hand.world.options.kinds.contains(&Kind::Poll) => asking(hand, &target),
        28..31 => inside_another(hand, &target),
        31 => outliving(hand, target),
        _ => {
            let held = target.hold(hand.numbers.next() as usize);
            last(hand);
            end(hand, held);
        }
    }
}

fn repinning(hand: &mut Hand, target: &Target<Domain>) {
    let mut guard = Domain::enter(&target.whose);
    for _ in 0..20 {
        let seen = target.find(hand.numbers.next() as usize, &guard);
        stay(hand.numbers.below(50));
        if let Some((kind, age)) = seen.map(|seen| seen.judge()) {
            hand.saw(kind, age);
        }
        match &mut guard {
            Inside::Static(guard) => guard.repin(),
            Inside::Owned(guard) => guard.repin(),
        }
    }
}

/// Sections of all domains at once, which end in any order.
fn many(hand: &mut Hand) {
    let targets: Vec<_> = (0..TARGETS)
        .filter_map(|_| target::<Domain>(hand))
        .collect();
    let mut open: Vec<Held<Domain>> = Vec::new();
    for target in &targets {
        open.push(target.hold(hand.numbers.next() as usize));
        stay(hand.numbers.below(50));
    }
    while !open.is_empty() {
        let held = open.swap_remove(hand.numbers.below(open.len()));
        end(hand, held);
        stay(hand.numbers.below(50));
    }
}

/// Waits for a domain inside a section of an earlier one, which prevents circular waiting.
fn waiting_for_another(hand: &mut Hand) {
    let earlier = hand.numbers.below(TARGETS - 1);
    let later = earlier + 1 + hand.numbers.below(TARGETS - 1 - earlier);
    let slots = &hand.world.domains;
    let (Some(outer), Some(inner)) = (slots[earlier].target(), slots[later].target()) else {
        return;
    };
    let held = outer.hold(hand.numbers.next() as usize);
    hand.begin(Kind::Synchronize);
    // Refused where the thread has no slot: then the library does not know to which domain its section
    // belongs.
    _ = inner.whose.try_synchronize();
    hand.end();
    end(hand, held);
}

/// The section, or a cell that is read, outlives the target: the target's cells may outlive the domain.
fn outliving(hand: &mut Hand, target: Arc<Target<Domain>>) {
    let held = target.hold(hand.numbers.next() as usize);
    let domain = target.whose.clone();
    drop(target);
    stay(hand.numbers.below(1000));
    if !domain.in_section() {
        Finding::TooShort.note(None, 2); // it missed its own reader
    }
    drop(domain);
    end(hand, held);
}

/// A nested section in a signal handler: only loads and atomic additions.
pub fn in_handler(world: &'static World, draw: usize) {
    let Some(target) = world.domains.first().and_then(|slot| slot.fixed.as_ref()) else {
        return;
    };
    let outer = target.hold(draw);
    let inner = target.hold(draw / 7);
    _ = (outer.end(), inner.end());
}
