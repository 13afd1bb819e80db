//! Readers under [`Domain`]s of the program's own: as [`srcu_reader`], but sections stay on their thread; they are opened in many
//! domains by turns and inside one another, repinned, and opened in signal handlers.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use quiescent::Domain;

use crate::finding::Finding;
use crate::hand::Hand;
use crate::kind::Kind;
use crate::options::Broken;
use crate::periods::{DOMAINS, Inside, Periods as _};
use crate::plot::{GROUNDS, Held, Plot};
use crate::reader::stay;
use crate::srcu_reader::{asking, end, inside_another, last, nested, plot, updating};
use crate::world::World;

/// Reads until it is over.
pub fn run(mut hand: Hand) {
    for turn in 0u64.. {
        if !hand.goes_on() {
            break;
        }
        section(&mut hand);
        if turn % 64 == 0 {
            thread::sleep(Duration::from_micros(50)); // others want to run too
        }
        if turn == 1000 && hand.world.is_broken(Broken::StuckReader) {
            std::mem::forget(DOMAINS[0].read_lock());
        }
    }
}

/// One section in one of several shapes; none where nobody reads under a domain.
pub fn section(hand: &mut Hand) {
    let Some(plot) = plot::<Domain>(hand) else {
        return;
    };
    hand.had_domain_section();
    match hand.numbers.below(64) {
        0..6 => nested(hand, &plot),
        6..14 => repinning(hand, &plot),
        14..24 => many(hand),
        24 => waiting_for_another(hand),
        25 => updating(hand, &plot),
        26..28 if hand.world.options.kinds.contains(&Kind::Poll) => asking(hand, &plot),
        28..31 => inside_another(hand, &plot),
        31 => outliving(hand, plot),
        _ => {
            let held = plot.hold(hand.numbers.next() as usize);
            last(hand);
            end(hand, held);
        }
    }
}

fn repinning(hand: &mut Hand, plot: &Plot<Domain>) {
    let mut guard = Domain::enter(&plot.whose);
    for _ in 0..20 {
        let seen = plot.find(hand.numbers.next() as usize, &guard);
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
    let plots: Vec<_> = (0..GROUNDS).filter_map(|_| plot::<Domain>(hand)).collect();
    let mut open: Vec<Held<Domain>> = Vec::new();
    for plot in &plots {
        open.push(plot.hold(hand.numbers.next() as usize));
        stay(hand.numbers.below(50));
    }
    while !open.is_empty() {
        let held = open.swap_remove(hand.numbers.below(open.len()));
        end(hand, held);
        stay(hand.numbers.below(50));
    }
}

/// Waits for a domain inside a section of an earlier one: so nobody waits in a circle.
fn waiting_for_another(hand: &mut Hand) {
    let earlier = hand.numbers.below(GROUNDS - 1);
    let later = earlier + 1 + hand.numbers.below(GROUNDS - 1 - earlier);
    let fields = &hand.world.fields;
    let (Some(outer), Some(inner)) = (fields[earlier].plot(), fields[later].plot()) else {
        return;
    };
    let held = outer.hold(hand.numbers.next() as usize);
    hand.begin(Kind::Synchronize);
    // Refused where the thread has no slot: then it is not known of which domain its section is.
    _ = inner.whose.try_synchronize();
    hand.end();
    end(hand, held);
}

/// The section, or a cell that is read, outlives the plot: its cells may outlive the domain.
fn outliving(hand: &mut Hand, plot: Arc<Plot<Domain>>) {
    let held = plot.hold(hand.numbers.next() as usize);
    let domain = plot.whose.clone();
    drop(plot);
    stay(hand.numbers.below(1000));
    if !domain.in_section() {
        Finding::TooShort.note(None, 2); // it does not know of its own reader
    }
    drop(domain);
    end(hand, held);
}

/// A nested section in a signal handler: nothing but loads and atomic additions.
pub fn in_handler(world: &'static World, draw: usize) {
    let Some(plot) = world.fields.first().and_then(|field| field.steady.as_ref()) else {
        return;
    };
    let outer = plot.hold(draw);
    let inner = plot.hold(draw / 7);
    _ = (outer.end(), inner.end());
}
