//! Makes and drops `Srcu`s and domains that others use: what they have queued runs all the same, each once; what is open there ends later; the place
//! of one that is gone goes to the next.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::element::{Dropping, Element};
use crate::hand::Hand;
use crate::kind::Kind;
use crate::periods::{Periods, Whose, give_back};
use crate::plot::{self, GROUNDS, NOBODYS, Plot};

/// Makes until it is over.
pub fn run<P: Periods>(mut hand: Hand) {
    while hand.goes_on() {
        match hand.numbers.below(4) {
            0 if hand.numbers.once_in(2) => outlived::<P>(&mut hand),
            0 => short_life::<P>(&mut hand),
            _ => turn_over::<P>(&mut hand),
        }
        hand.acted();
        let pause = Duration::from_micros(hand.numbers.next() % 20_000);
        hand.sleep(pause);
    }
}

/// Puts a new plot where an old one is. The first ground keeps the one it began with.
fn turn_over<P: Periods>(hand: &mut Hand) {
    let ground = 1 + hand.numbers.below(GROUNDS - 1);
    let plot = Arc::new(Plot::<P>::made(hand.world.places.len()));
    let old = P::grounds(hand.world)[ground].replace(Some(plot));
    drop(old); // perhaps the last; if not, whoever has that drops it
}

/// One that nobody else knows of; its own thread leaves things queued, and the grace period under way.
fn short_life<P: Periods>(hand: &mut Hand) {
    static RAN: AtomicU64 = AtomicU64::new(0);
    let own = Whose::Owned(P::made());
    match hand.numbers.below(5) {
        0 => return, // never used
        1 => drop(P::enter(&own)),
        2 => _ = own.start_grace_period(),
        3 => {
            own.start_grace_period(); // wanted, and nothing else
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
    let Some((entry, birth)) = hand.ledger().take(Kind::Retired, NOBODYS) else {
        return;
    };
    let cell = own.cell();
    entry.make_fit();
    let element = Element::new(entry, birth, Kind::Retired);
    drop(cell.store(Some(Dropping(element))));
    own.before_drop(hand);
    drop(own);
    let old = cell.store(None);
    if let Some(dropping) = &*old {
        plot::note(world, NonNull::from(&dropping.0));
    }
    give_back(old, Kind::Retired, hand);
}
