//! Changes the settings of a program's own domain all the time: the budget, flush times, the thread that runs
//! its callbacks.

use std::time::Duration;

use quiescent::tuning::FlushTimes;
use quiescent::{Domain, Runner};

use crate::events::What;
use crate::hand::Hand;
use crate::own_writer;
use crate::srcu_reader;
use crate::target::Target;

/// Changes settings until the run is over.
pub fn run(mut hand: Hand) {
    let first = Domain::new();
    let (times, before) = (first.flush_times(), first.statistics());
    while hand.goes_on() {
        let Some(target) = srcu_reader::target::<Domain>(&mut hand) else {
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
                queue_some(&mut hand, &target);
                rest(&mut hand, 50);
                domain.set_budget(before.budget_bytes, before.budget_callbacks);
            }
            1 if hand.world.barriers_allowed() => drained(&mut hand, &target),
            2 => {
                // Not before the process's stall time: an earlier report is a finding.
                let at_least = hand.world.options.library.stall_after.unwrap_or_default();
                let later = Duration::from_millis(hand.numbers.next() % 500);
                domain.set_stall_after(at_least + later);
            }
            _ => {
                // Not longer than the first one, by which entries count as late.
                let shorter = |most: Duration, draw| most * (draw % 5) as u32 / 4;
                domain.set_flush_times(FlushTimes {
                    lazy: shorter(times.lazy, hand.numbers.next()),
                    prompt: shorter(times.prompt, hand.numbers.next()),
                });
            }
        }
        hand.acted();
        rest(&mut hand, 40);
    }
}

/// For some time the program runs the domain's callbacks itself, on this thread.
fn drained(hand: &mut Hand, target: &Target<Domain>) {
    target.whose.set_closures(Runner::Drained);
    for _ in 0..hand.numbers.below(20) {
        queue_some(hand, target);
        let most = hand.numbers.below(200) as u64;
        let limit = Duration::from_micros(hand.numbers.next() % 1000);
        _ = target.whose.drain_ready(most, limit);
        rest(hand, 4);
    }
    target.whose.set_closures(Runner::Worker);
}

fn queue_some(hand: &mut Hand, target: &Target<Domain>) {
    for _ in 0..hand.numbers.below(30) {
        let kind = hand.deferred();
        own_writer::update(hand, target, kind, false);
    }
}

fn rest(hand: &mut Hand, milliseconds: u64) {
    let time = Duration::from_micros(hand.numbers.next() % (1000 * milliseconds));
    hand.sleep(time);
}
