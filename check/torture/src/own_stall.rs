//! Isolation: a section of an `Srcu` or of a domain stays open, and checks that its own grace periods and
//! callbacks wait for it, and that no others do: neither another domain's, nor the process's.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use quiescent::{SyncError, synchronize_timeout};

use crate::events::What;
use crate::finding::Finding;
use crate::hand::Hand;
use crate::options::Broken;
use crate::periods::{Periods, Whose};
use crate::srcu_reader;

/// Opens long sections until the run is over.
pub fn run<P: Periods>(mut hand: Hand) {
    while hand.goes_on() {
        stall::<P>(&mut hand);
        hand.acted();
        let pause = Duration::from_millis(hand.numbers.next() % 100);
        hand.sleep(pause);
    }
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

fn stall<P: Periods>(hand: &mut Hand) {
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
    if let Some(target) = srcu_reader::target::<P>(hand)
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
    P::end(guard, hand);
    if stalled.synchronize_timeout(patience).is_err() {
        Finding::Hang.note(None, 1);
        return;
    }
    stalled.barrier();
    if own.load(Ordering::Relaxed) != 1 {
        Finding::BarrierEarly.note(None, 1);
    }
}
