//! Long readers: a section lasts until a report names its thread, while other threads wait for it all the
//! time. A missing report is a finding, and so is one before its time.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use quiescent::report::Report;
use quiescent::{read_lock, synchronize};

use crate::events::What;
use crate::finding::Finding;
use crate::hand::Hand;
use crate::options::Broken;
use crate::reader;
use crate::world::{self, World};

/// Sets the library's report function.
pub fn listen() {
    quiescent::report::on_report(note_report);
}

fn note_report(report: &Report) {
    let (Some(world), Report::Stalled(stall)) = (world::current(), report) else {
        return;
    };
    world.stalls.fetch_add(1, Ordering::Relaxed);
    let ms = stall.age.as_millis() as u64;
    world.elsewhere.record(world, What::Stalled, None, ms);
    let patience = world.options.library.stall_after;
    if patience.is_some_and(|patience| age(world, stall.age) < patience) {
        Finding::StallTooEarly.note(None, ms);
    }
    if world.is_broken(Broken::DeafToStalls) {
        return;
    }
    for reader in &stall.readers {
        let named = |thread: i32| u32::try_from(thread) == Ok(reader.holdout.thread_id);
        for place in &world.places {
            if named(place.thread.load(Ordering::Relaxed)) {
                place.named.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

fn age(world: &World, age: Duration) -> Duration {
    match world.is_broken(Broken::EarlyStall) {
        true => age / 1000,
        false => age,
    }
}

/// Opens long sections until the run is over.
pub fn run(mut hand: Hand) {
    while hand.goes_on() {
        if stall(&mut hand) {
            hand.acted();
        }
        let pause = Duration::from_millis(hand.numbers.next() % 400);
        hand.sleep(pause);
    }
}

/// One section; true if it was reported.
fn stall(hand: &mut Hand) -> bool {
    let place = hand.place;
    let before = place.named.load(Ordering::Relaxed);
    let reported = || place.named.load(Ordering::Relaxed) > before;
    // Earlier than the watchdog, which would report that others hang.
    let patience = hand.world.options.patience / 2;
    let guard = read_lock();
    let seen = reader::find(hand.world, hand.numbers.next() as usize, &guard);
    hand.record(What::Stay, None, 0);
    let waiter = thread::Builder::new()
        .name("stall-waiter".into())
        .spawn(synchronize);
    let start = Instant::now();
    while !reported() && !hand.world.stopped() && start.elapsed() < patience {
        thread::sleep(Duration::from_millis(2));
        hand.beat();
    }
    if waiter.is_ok() && !reported() && !hand.world.stopped() {
        Finding::StallUnreported.note(None, start.elapsed().as_millis() as u64);
    }
    let reports = place.named.load(Ordering::Relaxed) - before;
    hand.record(What::Left, None, reports);
    hand.had_section();
    reader::finish(hand, seen);
    drop(guard);
    if let Ok(waiter) = waiter
        && waiter.join().is_err()
    {
        Finding::Panicked.note(None, 1);
    }
    reports > 0
}
