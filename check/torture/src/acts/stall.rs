//! Long readers. A section of the process lasts until a report names its thread, while other threads wait
//! for it all the time: a missing report is a finding, and so is one before its time. A section of an `Srcu`
//! or of a domain stays open, and checks that its own grace periods and callbacks wait for it, and that no
//! others do: neither another domain's, nor the process's.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use quiescent::report::Report;
use quiescent::{Global, SyncError, synchronize, synchronize_timeout};

use super::reader;
use crate::book::events::What;
use crate::book::finding::Finding;
use crate::book::hand::Hand;
use crate::book::options::Broken;
use crate::book::periods::{Periods, Whose};
use crate::book::role::Role;
use crate::book::target::Targets;
use crate::book::world::{self, World};

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
    world.elsewhere.record(What::Stalled, None, ms);
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
        hand.rest(400);
    }
}

/// One section; true if it was reported.
fn stall(hand: &mut Hand) -> bool {
    let place = hand.place;
    let before = place.named.load(Ordering::Relaxed);
    let reported = || place.named.load(Ordering::Relaxed) > before;
    // Earlier than the watchdog, which would report that others hang.
    let patience = hand.world.options.patience / 2;
    let Some(slots) = Global::slots() else {
        return false;
    };
    let held = slots.fixed.hold(hand.numbers.next() as usize);
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
    hand.had_section(Role::Reader);
    reader::end(hand, held);
    if let Ok(waiter) = waiter
        && waiter.join().is_err()
    {
        Finding::Panicked.note(None, 1);
    }
    reports > 0
}

/// Opens long sections of new domains, and checks that they are isolated, until the run is over.
pub fn alone<P: Targets>(hand: Hand) {
    hand.act_and_rest(100, isolated::<P>);
}

fn counted<P: Periods>(periods: &P) -> Arc<AtomicU32> {
    let ran = Arc::new(AtomicU32::new(0));
    let own = Arc::clone(&ran);
    periods.defer_hurry(move || _ = own.fetch_add(1, Ordering::Relaxed));
    ran
}

/// Not when it is refused. (For a thread without a slot the library does not know the domain of its section.)
fn is_held_up(waited: &Result<(), SyncError>) -> bool {
    matches!(waited, Err(SyncError::TimedOut { .. }))
}

fn isolated<P: Targets>(hand: &mut Hand) {
    let (stalled, other) = (Whose::Owned(P::made()), P::made());
    let guard = P::enter(&stalled);
    hand.record(What::Stay, None, 0);
    let own = counted(&*stalled);
    let elsewhere = match hand.world.is_broken(Broken::WrongSrcu) {
        true => counted(&*stalled),
        false => counted(&other),
    };
    // Earlier than the watchdog, which would report this thread as hanging.
    let patience = hand.world.options.patience / 3;
    if is_held_up(&other.synchronize_timeout(patience)) {
        Finding::NotIsolated.note(None, 1);
    }
    hand.beat();
    if let Some(target) = P::drawn(&mut hand.numbers)
        && is_held_up(&target.whose.synchronize_timeout(patience))
    {
        Finding::NotIsolated.note(None, 2);
    }
    hand.beat();
    if is_held_up(&synchronize_timeout(patience)) {
        Finding::NotIsolated.note(None, 3);
    }
    hand.beat();
    let start = Instant::now();
    while elsewhere.load(Ordering::Relaxed) == 0 {
        if start.elapsed() > patience {
            Finding::NotIsolated.note(None, 4);
            break;
        }
        thread::sleep(Duration::from_micros(200));
    }
    let waited = stalled.synchronize_timeout(Duration::from_micros(100));
    if waited.is_ok() || own.load(Ordering::Relaxed) != 0 {
        Finding::TooShort.note(None, 1);
    }
    hand.record(What::Left, None, 0);
    drop(guard);
    if stalled.synchronize_timeout(patience).is_err() {
        Finding::Hang.note(None, 1);
        return;
    }
    stalled.barrier();
    if own.load(Ordering::Relaxed) != 1 {
        Finding::BarrierEarly.note(None, 1);
    }
}
