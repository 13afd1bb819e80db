//! Threads that wait: for all callbacks (`barrier`), by running them (`drain`), or idle, with queued entries
//! that other threads have to serve (quiet).

use std::time::Duration;

use quiescent::{Global, drain};

use super::writer;
use crate::book::hand::Hand;
use crate::book::kind::{KINDS, Kind};
use crate::book::options::Broken;
use crate::book::target::Targets;

/// Waits for everything that any thread has queued.
pub fn barriers(mut hand: Hand) {
    while hand.goes_on() {
        if !hand.world.barriers_allowed() {
            hand.sleep(Duration::from_millis(100));
            continue;
        }
        for _ in 0..hand.numbers.below(4) {
            writer::round::<Global>(&mut hand);
        }
        if let Some(slots) = Global::slots() {
            writer::barrier(&mut hand, slots.fixed);
        }
        hand.acted();
        hand.rest(30);
    }
}

/// Runs everything that is queued, from time to time.
pub fn drains(mut hand: Hand) {
    while hand.goes_on() {
        if hand.world.barriers_allowed() {
            writer::round::<Global>(&mut hand);
            drain(Duration::from_micros(hand.numbers.next() % 20_000));
            hand.acted();
        }
        hand.rest(200);
    }
}

/// Queues, does nothing for a while, and continues when others may be taking over its queue.
pub fn quiet(mut hand: Hand) {
    let long = hand.world.options.duration > Duration::from_secs(20);
    while hand.goes_on() {
        for _ in 0..hand.numbers.below(30) {
            writer::round::<Global>(&mut hand);
        }
        let milliseconds = match hand.numbers.below(40) {
            // Longer than a lazy object waits, if there is time for it.
            0 if long => 10_000 + hand.numbers.next() % 3000,
            1..6 => hand.numbers.next() % 1000,
            _ => hand.numbers.next() % 30,
        };
        hand.sleep(Duration::from_millis(milliseconds));
        hand.acted();
    }
}

/// Queues lazily and nothing else, then waits until all of it has run: at its flush time, when memory is low,
/// or because of other entries.
pub fn lazies(mut hand: Hand) {
    let kinds = hand.world.options.kinds.iter().copied();
    let mut lazy: Vec<Kind> = kinds.filter(|kind| kind.is_lazy()).collect();
    if lazy.is_empty() {
        lazy = (0..KINDS).map(Kind::lazy).collect(); // its writers wait; this thread does not
    }
    while hand.goes_on() {
        for _ in 0..1 + hand.numbers.below(12) {
            let kind = lazy[hand.numbers.below(lazy.len())];
            writer::update_process(&mut hand, kind);
        }
        // The watchdog checks entries that are not lazy, or late.
        while !hand.ledger().is_over() && hand.goes_on() {
            hand.sleep(Duration::from_millis(5));
        }
        if hand.ledger().is_over() && !hand.world.is_broken(Broken::NeverLazy) {
            hand.acted();
        }
    }
}
