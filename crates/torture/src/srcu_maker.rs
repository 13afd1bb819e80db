//! Makes and drops `Srcu`s that others use: what they have queued runs all the same, each once; what is open there ends later; the place
//! of one that is gone goes to the next.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quiescent::Srcu;

use crate::hand::Hand;
use crate::plot::{GROUNDS, Plot};

/// Makes until it is over.
pub fn run(mut hand: Hand) {
    while hand.goes_on() {
        match hand.numbers.below(4) {
            0 => short_life(&mut hand),
            _ => turn_over(&mut hand),
        }
        hand.acted();
        let pause = Duration::from_micros(hand.numbers.next() % 20_000);
        hand.sleep(pause);
    }
}

/// Puts a new plot where an old one is. The first ground keeps the one it began with.
fn turn_over(hand: &mut Hand) {
    let ground = 1 + hand.numbers.below(GROUNDS - 1);
    let plot = Arc::new(Plot::made(hand.world.places.len()));
    let old = hand.world.grounds[ground].replace(Some(plot));
    drop(old); // perhaps the last; if not, whoever has that drops it
}

/// One that nobody else knows of; its own thread leaves things queued, and the grace period under way.
fn short_life(hand: &mut Hand) {
    static RAN: AtomicU64 = AtomicU64::new(0);
    let srcu = Srcu::new();
    match hand.numbers.below(4) {
        0 => return, // never used
        1 => drop(srcu.read_lock()),
        2 => _ = srcu.start_poll(),
        _ => {
            let guard = srcu.read_lock();
            srcu.call(|| _ = RAN.fetch_add(1, Ordering::Relaxed));
            drop(guard);
        }
    }
    srcu.call_lazy(|| _ = RAN.fetch_add(1, Ordering::Relaxed));
}
