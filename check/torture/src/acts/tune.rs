//! Changes the settings of the running library all the time: it reports low memory, shrinks and grows the
//! budget, lets other threads reclaim, lets the program run its callbacks itself, and changes flush times.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quiescent::tuning::{
    FlushTimes, drain_ready, flush_times, memory_is_low, on_ready, set_budget, set_closures,
    set_destructors, set_flush_times, set_on_worker, set_thread_on_worker,
};
use quiescent::{Domain, Runner, statistics};

use super::writer;
use crate::book::events::What;
use crate::book::hand::Hand;
use crate::book::kind::Kind;
use crate::book::target::{Target, Targets};

/// Reports low memory.
pub fn pressure(mut hand: Hand) {
    while hand.goes_on() {
        if hand.world.barriers_allowed() {
            let times = 1 + hand.numbers.below(20);
            hand.record(What::Low, None, times as u64);
            (0..times).for_each(|_| memory_is_low());
            hand.acted();
        }
        hand.rest(300);
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
            hand.rest(50);
        }
        set_budget(before.budget_bytes, before.budget_callbacks);
        hand.rest(200);
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
                queue_some(&mut hand, writer::update_process);
            }
            3 if hand.world.barriers_allowed() => drained_process(&mut hand),
            4 => set_destructors([Runner::Owner, Runner::Worker][hand.numbers.below(2)]),
            _ => set_flush_times(shorter(&mut hand, times)),
        }
        hand.acted();
        hand.rest(40);
    }
    set_on_worker(false);
    set_destructors(Runner::Owner);
    set_flush_times(times);
}

/// For some time the program runs the process's callbacks itself, on this thread.
fn drained_process(hand: &mut Hand) {
    static READY: AtomicU64 = AtomicU64::new(0);
    on_ready(|| _ = READY.fetch_add(1, Ordering::Relaxed));
    set_closures(Runner::Drained);
    drained(hand, writer::update_process, drain_ready);
    set_closures(Runner::Worker);
}

/// Queues and runs in turn.
fn drained<D>(
    hand: &mut Hand,
    update: impl Fn(&mut Hand, Kind) -> bool,
    drain: impl Fn(u64, Duration) -> D,
) {
    for _ in 0..hand.numbers.below(20) {
        queue_some(hand, &update);
        let most = hand.numbers.below(200) as u64;
        _ = drain(most, Duration::from_micros(hand.numbers.next() % 1000));
        hand.rest(4);
    }
}

/// Changes the settings of the program's own domains: the budget, flush times, the thread that runs their
/// callbacks.
pub fn domains(mut hand: Hand) {
    let first = Domain::new();
    let (times, before) = (first.flush_times(), first.statistics());
    while hand.goes_on() {
        let Some(target) = Domain::drawn(&mut hand.numbers) else {
            break;
        };
        let domain = &target.whose;
        let way = hand.numbers.below(5);
        hand.record(What::Set, None, way as u64);
        match way {
            0 if hand.world.barriers_allowed() => {
                domain.set_budget(
                    1 << (10 + hand.numbers.below(16)),
                    1 << hand.numbers.below(20),
                );
                queue_some(&mut hand, |hand, kind| {
                    writer::update(hand, &target, kind, false)
                });
                hand.rest(50);
                domain.set_budget(before.budget_bytes, before.budget_callbacks);
            }
            1 if hand.world.barriers_allowed() => drained_domain(&mut hand, &target),
            2 => {
                // Not before the process's stall time: an earlier report is a finding.
                let at_least = hand.world.options.library.stall_after.unwrap_or_default();
                let later = Duration::from_millis(hand.numbers.next() % 500);
                domain.set_stall_after(at_least + later);
            }
            _ => domain.set_flush_times(shorter(&mut hand, times)),
        }
        hand.acted();
        hand.rest(40);
    }
}

/// For some time the program runs the domain's callbacks itself, on this thread.
fn drained_domain(hand: &mut Hand, target: &Target<Domain>) {
    let domain = &target.whose;
    domain.set_closures(Runner::Drained);
    let update = |hand: &mut Hand, kind| writer::update(hand, target, kind, false);
    drained(hand, update, |most, limit| domain.drain_ready(most, limit));
    domain.set_closures(Runner::Worker);
}

/// Not longer than the first ones, by which entries count as late.
fn shorter(hand: &mut Hand, first: FlushTimes) -> FlushTimes {
    let mut shorter = |most: Duration| most * (hand.numbers.next() % 5) as u32 / 4;
    FlushTimes {
        lazy: shorter(first.lazy),
        prompt: shorter(first.prompt),
    }
}

fn queue_some(hand: &mut Hand, update: impl Fn(&mut Hand, Kind) -> bool) {
    for _ in 0..hand.numbers.below(30) {
        let kind = hand.deferred();
        update(hand, kind);
    }
}
