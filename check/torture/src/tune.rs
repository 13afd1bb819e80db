//! Changes the settings of the running library all the time: it reports low memory, shrinks and grows the
//! budget, lets other threads reclaim, lets the program run its callbacks itself, and changes flush times.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quiescent::tuning::{
    FlushTimes, drain_ready, flush_times, memory_is_low, on_ready, set_budget, set_closures,
    set_destructors, set_flush_times, set_on_worker, set_thread_on_worker,
};
use quiescent::{Runner, statistics};

use crate::events::What;
use crate::hand::Hand;
use crate::writer;

/// Reports low memory.
pub fn pressure(mut hand: Hand) {
    while hand.goes_on() {
        if hand.world.barriers_allowed() {
            let times = 1 + hand.numbers.below(20);
            hand.record(What::Low, None, times as u64);
            (0..times).for_each(|_| memory_is_low());
            hand.acted();
        }
        rest(&mut hand, 300);
    }
}

/// Changes the budget, from almost nothing to plenty.
pub fn budget(mut hand: Hand) {
    let before = statistics();
    while hand.goes_on() {
        if hand.world.barriers_allowed() {
            let bytes = 1 << (10 + hand.numbers.below(16));
            let callbacks = 1 << hand.numbers.below(20);
            hand.record(What::Budget, None, bytes);
            set_budget(bytes, callbacks);
            hand.acted();
            rest(&mut hand, 50);
        }
        set_budget(before.budget_bytes, before.budget_callbacks);
        rest(&mut hand, 200);
    }
}

/// Moves work to other threads and back.
pub fn toggle(mut hand: Hand) {
    let times = flush_times();
    while hand.goes_on() {
        let way = hand.numbers.below(7);
        hand.record(What::Set, None, way as u64);
        match way {
            0 | 1 => set_on_worker(hand.numbers.once_in(2)),
            2 => {
                let own = [None, Some(false), Some(true)][hand.numbers.below(3)];
                set_thread_on_worker(own);
                queue_some(&mut hand);
            }
            3 if hand.world.barriers_allowed() => drained(&mut hand),
            4 => set_destructors([Runner::Owner, Runner::Worker][hand.numbers.below(2)]),
            _ => {
                // Not longer than the first one, by which entries count as late.
                let shorter = |most: Duration, draw| most * (draw % 5) as u32 / 4;
                set_flush_times(FlushTimes {
                    lazy: shorter(times.lazy, hand.numbers.next()),
                    prompt: shorter(times.prompt, hand.numbers.next()),
                });
            }
        }
        hand.acted();
        rest(&mut hand, 40);
    }
    set_on_worker(false);
    set_destructors(Runner::Owner);
    set_flush_times(times);
}

/// For some time the program runs its callbacks itself, on this thread.
fn drained(hand: &mut Hand) {
    static READY: AtomicU64 = AtomicU64::new(0);
    on_ready(|| _ = READY.fetch_add(1, Ordering::Relaxed));
    set_closures(Runner::Drained);
    for _ in 0..hand.numbers.below(20) {
        queue_some(hand);
        let most = hand.numbers.below(200) as u64;
        _ = drain_ready(most, Duration::from_micros(hand.numbers.next() % 1000));
        rest(hand, 4);
    }
    set_closures(Runner::Worker);
}

fn queue_some(hand: &mut Hand) {
    for _ in 0..hand.numbers.below(30) {
        let kind = hand.deferred();
        writer::update(hand, kind);
    }
}

fn rest(hand: &mut Hand, milliseconds: u64) {
    let time = Duration::from_micros(hand.numbers.next() % (1000 * milliseconds));
    hand.sleep(time);
}
