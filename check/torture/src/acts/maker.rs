//! Makes and drops `Srcu`s and domains that others use: their queued entries must still run, each once; their
//! open sections end later; the memory of a dropped one is used for the next.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use quiescent::RcuOption;

use super::writer::give_back;
use crate::book::element::Element;
use crate::book::ending::Dropping;
use crate::book::hand::Hand;
use crate::book::kind::Kind;
use crate::book::periods::{Periods, Whose};
use crate::book::target::{self, NO_TARGET, Target, Targets};

/// Makes and drops until the run is over.
pub fn run<P: Targets>(hand: Hand) {
    hand.act_and_rest(20, |hand| match hand.numbers.below(4) {
        0 if hand.numbers.once_in(2) => outlived::<P>(hand),
        0 => short_life::<P>(hand),
        _ => turn_over::<P>(hand),
    });
}

/// Replaces the target of a slot. The first slot keeps its first target.
fn turn_over<P: Targets>(hand: &mut Hand) {
    let Some(slots) = P::slots() else { return };
    let index = 1 + hand.numbers.below(slots.count() - 1);
    let target = Target::made(hand.world.places.len());
    let old = slots.replace(index, Some(target));
    drop(old); // possibly the last reference; if not, the thread with the last one drops it
}

/// One that no other thread uses; its own thread leaves entries queued, and a grace period in progress.
fn short_life<P: Periods>(hand: &mut Hand) {
    static RAN: AtomicU64 = AtomicU64::new(0);
    let own = Whose::Owned(P::made());
    match hand.numbers.below(5) {
        0 => return, // never used
        1 => drop(P::enter(&own)),
        2 => _ = own.start_grace_period(),
        3 => {
            own.start_grace_period(); // a request, and nothing else
            return;
        }
        _ => {
            let guard = P::enter(&own);
            own.defer(|| _ = RAN.fetch_add(1, Ordering::Relaxed));
            drop(guard);
        }
    }
    own.defer_lazy(|| _ = RAN.fetch_add(1, Ordering::Relaxed));
}

/// One whose cell outlives it.
fn outlived<P: Periods>(hand: &mut Hand) {
    let (world, own) = (hand.world, P::made());
    let Some((entry, birth)) = hand.ledger().take(Kind::Retired, NO_TARGET) else {
        return;
    };
    let cell = RcuOption::empty_in(own.clone());
    entry.make_fit();
    let element = Element::new(entry, birth, Kind::Retired);
    drop(cell.store(Some(Dropping(element))));
    own.before_drop(&mut hand.numbers);
    drop(own);
    if let Some(old) = cell.take() {
        target::note(world, NonNull::from(&old.0));
        give_back(hand, old, Kind::Retired);
    }
}
