//! Forward progress: so many callbacks at once that they have to run while more arrive, and a chain of
//! callbacks each of which queues the next. All of them run, each once.
//!
//! The thread reports progress only when another callback has run: if none runs, it hangs, which the watchdog
//! reports.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use quiescent::{Domain, Srcu, defer, defer_hurry, defer_lazy};

use crate::events::What;
use crate::finding::Finding;
use crate::hand::Hand;
use crate::kind::Kind;
use crate::options::Broken;
use crate::periods::{DOMAINS, SRCUS};
use crate::target::TARGETS;

/// The largest number of callbacks of a flood.
const MOST: usize = 20_000;

/// Where callbacks are queued.
#[derive(Clone, Copy)]
enum At {
    Process,
    Srcu(&'static Srcu),
    Domain(&'static Domain),
}

impl At {
    fn defer(self, f: impl FnOnce() + Send + 'static) {
        match self {
            At::Process => defer(f),
            At::Srcu(srcu) => srcu.defer(f),
            At::Domain(domain) => domain.defer(f),
        }
    }

    fn defer_hurry(self, f: impl FnOnce() + Send + 'static) {
        match self {
            At::Process => defer_hurry(f),
            At::Srcu(srcu) => srcu.defer_hurry(f),
            At::Domain(domain) => domain.defer_hurry(f),
        }
    }

    fn defer_lazy(self, f: impl FnOnce() + Send + 'static) {
        match self {
            At::Process => defer_lazy(f),
            At::Srcu(srcu) => srcu.defer_lazy(f),
            At::Domain(domain) => domain.defer_lazy(f),
        }
    }
}

/// Starts floods until the run is over.
pub fn run(hand: Hand) {
    floods(hand, |_| At::Process);
}

/// The same under an `Srcu`.
pub fn under_srcus(hand: Hand) {
    floods(hand, |hand| At::Srcu(&SRCUS[hand.numbers.below(TARGETS)]));
}

/// The same under a domain of the program's own.
pub fn under_domains(hand: Hand) {
    floods(hand, |hand| {
        At::Domain(&DOMAINS[hand.numbers.below(TARGETS)])
    });
}

fn floods(mut hand: Hand, at: impl Fn(&mut Hand) -> At) {
    while hand.goes_on() {
        let at = at(&mut hand);
        flood(&mut hand, at);
        hand.acted();
        let pause = Duration::from_millis(hand.numbers.next() % 400);
        hand.sleep(pause);
    }
}

/// The numbers of callbacks that were queued and that ran, since the run began. One for each place, never
/// freed.
#[derive(Default)]
pub struct Tide {
    queued: AtomicU64,
    ran: AtomicU64,
    /// The chain continues while this is set.
    rising: AtomicBool,
}

impl Tide {
    /// One more is queued.
    pub fn queue(&self) {
        self.queued.fetch_add(1, Ordering::Relaxed);
    }

    /// One has run.
    pub fn ran(&self) {
        self.ran.fetch_add(1, Ordering::Release);
    }

    /// How many have been queued, and have run.
    pub fn both(&self) -> [u64; 2] {
        // In this order: what runs may queue before it counts as run.
        let ran = self.ran.load(Ordering::Acquire);
        [self.queued.load(Ordering::Relaxed), ran]
    }
}

fn flood(hand: &mut Hand, at: At) {
    let tide = &hand.place.tide;
    tide.rising.store(true, Ordering::Relaxed);
    let count = 1 + hand.numbers.below(MOST);
    hand.record(What::Flood, None, count as u64);
    chain(tide, at);
    for number in 0..count {
        if number % 256 == 0 && !hand.goes_on() {
            break;
        }
        tide.queued.fetch_add(1, Ordering::Relaxed);
        let run = move || _ = tide.ran.fetch_add(1, Ordering::Relaxed);
        match hand.numbers.below(64) {
            0 => at.defer_hurry(run),
            1..16 => at.defer_lazy(run),
            _ => at.defer(run),
        }
    }
    tide.rising.store(false, Ordering::Relaxed);
    tide.queued.fetch_add(1, Ordering::Relaxed);
    at.defer_hurry(|| _ = tide.ran.fetch_add(1, Ordering::Relaxed)); // lazy ones run with it
    if hand.world.is_broken(Broken::LostFlood) {
        tide.queued.fetch_add(1, Ordering::Relaxed);
    }
    ebb(hand, tide);
}

/// A callback that queues the next one, as long as the flood lasts.
fn chain(tide: &'static Tide, at: At) {
    tide.queued.fetch_add(1, Ordering::Relaxed);
    at.defer_hurry(move || {
        if tide.rising.load(Ordering::Relaxed) {
            chain(tide, at);
        }
        tide.ran.fetch_add(1, Ordering::Release);
    });
}

/// Waits until everything has run.
fn ebb(hand: &mut Hand, tide: &Tide) {
    hand.begin(Kind::Call);
    let mut last = 0;
    loop {
        // In this order: the chain queues the next callback before it counts as run.
        let ran = tide.ran.load(Ordering::Acquire);
        let queued = tide.queued.load(Ordering::Relaxed);
        if ran > queued {
            Finding::RanTwice.note(Some(Kind::Call), ran - queued);
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
