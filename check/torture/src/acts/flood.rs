//! Forward progress: so many callbacks at once that they have to run while more arrive, and a chain of
//! callbacks each of which queues the next. All of them run, each once.
//!
//! The thread reports progress only when another callback has run: if none runs, it hangs, which the watchdog
//! reports.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::book::events::What;
use crate::book::finding::Finding;
use crate::book::hand::Hand;
use crate::book::kind::Kind;
use crate::book::options::Broken;
use crate::book::periods::Periods;
use crate::book::tide::Tide;

/// The largest number of callbacks of a flood.
const MOST: usize = 20_000;

/// Starts floods until the run is over.
pub fn run<P: Periods>(hand: Hand) {
    hand.act_and_rest(400, |hand| {
        let own = &P::statics()[hand.numbers.below(P::statics().len())];
        flood(hand, own);
    });
}

fn flood<P: Periods>(hand: &mut Hand, at: &'static P) {
    let tide = &hand.place.tide;
    tide.rising.store(true, Ordering::Relaxed);
    let count = 1 + hand.numbers.below(MOST);
    hand.record(What::Flood, None, count as u64);
    chain(tide, at);
    for number in 0..count {
        if number % 256 == 0 && !hand.goes_on() {
            break;
        }
        tide.queue();
        let run = move || tide.ran();
        match hand.numbers.below(64) {
            0 => at.defer_hurry(run),
            1..16 => at.defer_lazy(run),
            _ => at.defer(run),
        }
    }
    tide.rising.store(false, Ordering::Relaxed);
    tide.queue();
    at.defer_hurry(|| tide.ran()); // lazy ones run with it
    if hand.world.is_broken(Broken::LostFlood) {
        tide.queue();
    }
    ebb(hand, tide);
}

/// A callback that queues the next one, as long as the flood lasts.
fn chain<P: Periods>(tide: &'static Tide, at: &'static P) {
    tide.queue();
    at.defer_hurry(move || {
        if tide.rising.load(Ordering::Relaxed) {
            chain(tide, at);
        }
        tide.ran();
    });
}

/// Waits until everything has run.
fn ebb(hand: &mut Hand, tide: &Tide) {
    hand.begin(Kind::Defer);
    let mut last = 0;
    loop {
        let [queued, ran] = tide.both();
        if ran > queued {
            Finding::RanTwice.note(Some(Kind::Defer), ran - queued);
        }
        if ran >= queued {
            break;
        }
        if ran != last {
            hand.beat();
            last = ran;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    hand.end();
}
