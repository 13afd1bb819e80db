//! Threads that wait: for all callbacks (`barrier`), by running them (`drain`), or idle, with queued entries
//! that other threads have to serve (quiet).

use std::time::Duration;

use quiescent::{barrier, barrier_async, drain};

use crate::entry::DOMAIN;
use crate::events::What;
use crate::hand::Hand;
use crate::kind::{KINDS, Kind};
use crate::options::Broken;
use crate::waking;
use crate::writer;

/// Everything that any thread has queued has run when `barrier` returns, or its future is ready. Some futures
/// are dropped early.
pub fn barriers(mut hand: Hand) {
    while hand.goes_on() {
        if !hand.world.barriers_allowed() {
            hand.sleep(Duration::from_millis(100));
            continue;
        }
        for _ in 0..hand.numbers.below(4) {
            writer::round(&mut hand);
        }
        let places = &hand.world.places;
        let committed: Vec<u64> = places
            .iter()
            .map(|place| place.ledger.committed())
            .collect();
        hand.record(What::Barrier, None, 0);
        if !hand.world.is_broken(Broken::SkipBarrier) {
            match hand.numbers.below(3) {
                0 => waking::block_on(&hand.place.bell, barrier_async()),
                1 => {
                    waking::abandon(&hand.place.bell, barrier_async());
                    barrier();
                }
                _ => barrier(),
            }
        }
        hand.record(What::BarrierEnd, None, 0);
        for (place, committed) in places.iter().zip(committed) {
            place.ledger.check_barrier(committed, DOMAIN);
        }
        hand.acted();
        let pause = Duration::from_micros(hand.numbers.next() % 30_000);
        hand.sleep(pause);
    }
}

/// Runs everything that is queued, from time to time.
pub fn drains(mut hand: Hand) {
    while hand.goes_on() {
        if hand.world.barriers_allowed() {
            writer::round(&mut hand);
            drain(Duration::from_micros(hand.numbers.next() % 20_000));
            hand.acted();
        }
        let pause = Duration::from_micros(hand.numbers.next() % 200_000);
        hand.sleep(pause);
    }
}

/// Queues, does nothing for a while, and continues when others may be taking over its queue.
pub fn quiet(mut hand: Hand) {
    let long = hand.world.options.duration > Duration::from_secs(20);
    while hand.goes_on() {
        for _ in 0..hand.numbers.below(30) {
            writer::round(&mut hand);
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
            writer::update(&mut hand, kind);
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
