//! The oracle: a value that is poisoned after its grace period. A reader that sees poison has read something
//! that could have been freed.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use quiescent::{RcuCell, Retired, read, read_lock, start_grace_period};

use super::Numbers;

const ALIVE: u64 = 0x600d_600d_600d_600d;
const POISON: u64 = 0xdead_dead_dead_dead;

/// Poisoned values kept from the allocator, so that a late reader meets poison and not a new value.
const QUARANTINE: usize = 64;

/// A reader has seen poison.
static FAILED: AtomicBool = AtomicBool::new(false);

/// The value.
pub struct Canary {
    /// Whatever the allocator writes into freed memory first is not the mark.
    _front: [u64; 4],
    mark: AtomicU64,
}

impl Canary {
    /// A live one.
    pub fn new() -> Canary {
        Canary {
            _front: [0; 4],
            mark: AtomicU64::new(ALIVE),
        }
    }

    /// No reader may find it from now on.
    pub fn poison(&self) {
        self.mark.store(POISON, Ordering::Relaxed);
    }

    /// Is it alive? Any other answer than true is an early end of a grace period.
    pub fn is_alive(&self) -> bool {
        self.mark.load(Ordering::Relaxed) == ALIVE
    }

    /// What a reader does.
    ///
    /// # Panics
    /// If it sees poison; updaters stop then, too.
    #[track_caller]
    pub fn check(&self) {
        let mark = self.mark.load(Ordering::Relaxed);
        if mark != ALIVE {
            FAILED.store(true, Ordering::Relaxed);
            panic!("a reader sees {mark:#x}: its grace period ended too early");
        }
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        self.poison();
    }
}

/// Who takes part, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Threads that read until the updaters are done.
    pub readers: usize,
    /// Threads that start short-lived reading threads, one after the other.
    pub churners: usize,
    /// Threads that replace the value.
    pub updaters: usize,
    /// Replacements by each of them; more until there were [`SECTIONS`], fewer (but [`ENOUGH`]) if
    /// they take long.
    pub updates: u64,
}

/// Sections that make a run worth something.
pub const SECTIONS: u64 = 1000;

/// Replacements by each updater that do.
pub const ENOUGH: u64 = 20;

/// Where processors are few and busy, a run is cut short after this.
const LONG: Duration = Duration::from_secs(3);

impl Plan {
    /// The usual mixture.
    pub const fn new(updates: u64) -> Plan {
        Plan {
            readers: 3,
            churners: 1,
            updaters: 2,
            updates,
        }
    }

    /// Runs it; returns how many sections the readers had.
    ///
    /// # Panics
    /// If a reader sees poison.
    pub fn run(self) -> u64 {
        let cell = RcuCell::new(Canary::new());
        let stop = AtomicBool::new(false);
        let sections = AtomicU64::new(0);
        thread::scope(|scope| {
            for reader in 0..self.readers {
                let (cell, stop, sections) = (&cell, &stop, &sections);
                scope.spawn(move || {
                    let mut numbers = Numbers(reader as u64);
                    while !stop.load(Ordering::Relaxed) {
                        read_somehow(cell, &mut numbers);
                        if sections.fetch_add(1, Ordering::Relaxed) % 64 == 0 {
                            thread::sleep(Duration::from_micros(50)); // others want to run too
                        }
                    }
                });
            }
            for churner in 0..self.churners {
                let (cell, stop, sections) = (&cell, &stop, &sections);
                scope.spawn(move || churn(cell, stop, sections, churner as u64));
            }
            let updaters: Vec<_> = (0..self.updaters as u64)
                .map(|updater| {
                    let (cell, sections) = (&cell, &sections);
                    scope.spawn(move || update(cell, sections, self.updates, updater))
                })
                .collect();
            let ends: Vec<_> = updaters.into_iter().map(|updater| updater.join()).collect();
            stop.store(true, Ordering::Relaxed);
            for end in ends {
                end.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            }
        });
        sections.into_inner()
    }
}

/// Short-lived threads: the first section of each is its registration.
fn churn(cell: &RcuCell<Canary>, stop: &AtomicBool, sections: &AtomicU64, seed: u64) {
    let mut numbers = Numbers(!seed);
    while !stop.load(Ordering::Relaxed) && !FAILED.load(Ordering::Relaxed) {
        sections.fetch_add(1, Ordering::Relaxed);
        let seed = numbers.next();
        let short = thread::scope(|scope| {
            scope
                .spawn(move || {
                    let mut numbers = Numbers(seed);
                    for _ in 0..numbers.below(4) + 1 {
                        read_somehow(cell, &mut numbers);
                    }
                })
                .join()
        });
        if let Err(panic) = short {
            std::panic::resume_unwind(panic);
        }
    }
}

/// One section in one of several shapes, with reads before and after a delay.
pub fn read_somehow(cell: &RcuCell<Canary>, numbers: &mut Numbers) {
    let delay = |n: usize| (0..n).for_each(|_| std::hint::spin_loop());
    match numbers.below(16) {
        0 => read(|guard| {
            let value = cell.load(guard);
            value.check();
            thread::yield_now(); // the section is interrupted, for as long as it takes
            value.check();
        }),
        1 | 2 => {
            let outer = read_lock();
            let inner = read_lock();
            let value = cell.load(&inner);
            drop(outer);
            delay(200);
            value.check();
        }
        3 | 4 => {
            let mut guard = read_lock();
            for _ in 0..20 {
                let value = cell.load(&guard);
                delay(20);
                value.check();
                guard.repin();
            }
        }
        length => read(|guard| {
            let value = cell.load(guard);
            value.check();
            delay(length * 10);
            value.check();
        }),
    }
}

/// Replaces the value, waits in one of several ways, poisons the old one.
fn update(cell: &RcuCell<Canary>, sections: &AtomicU64, updates: u64, seed: u64) {
    let mut quarantine: Vec<Option<Box<Canary>>> = (0..QUARANTINE).map(|_| None).collect();
    let start = Instant::now();
    for round in 0.. {
        let enough = round >= ENOUGH && sections.load(Ordering::Relaxed) >= SECTIONS;
        let long = round >= updates || start.elapsed() > LONG;
        if enough && long || FAILED.load(Ordering::Relaxed) {
            break;
        }
        let old = cell.store(Canary::new());
        let old = match (round + seed) % 4 {
            0 => {
                let cookie = start_grace_period();
                while !cookie.is_done() {
                    thread::yield_now();
                }
                old.poison();
                old.wait()
            }
            1 => wait_impatiently(old),
            _ => old.wait(),
        };
        old.poison();
        quarantine[round as usize % QUARANTINE] = Some(old);
    }
}

/// Asks again and again, with deadlines that pass at first. (Each call wants a grace period that starts
/// after it, so short ones would never do beside busy readers.)
fn wait_impatiently(mut old: Retired<Canary>) -> Box<Canary> {
    let mut patience = Duration::from_micros(20);
    loop {
        match old.wait_timeout(patience) {
            Ok(value) => return value,
            Err(refused) => old = refused.object,
        }
        patience *= 2;
    }
}

/// One reader against one updater, both as fast as they can: a reader that is late to be seen is met by
/// the poison within its own section.
///
/// # Panics
/// If it sees poison.
pub fn litmus(rounds: u32) {
    let cell = RcuCell::new(Canary::new());
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut numbers = Numbers(5);
            while !stop.load(Ordering::Relaxed) {
                let guard = read_lock();
                let value = cell.load(&guard);
                for _ in 0..numbers.below(60) {
                    value.check();
                }
            }
        });
        let mut quarantine: Vec<Option<Box<Canary>>> = (0..QUARANTINE).map(|_| None).collect();
        for round in 0..rounds as usize {
            if FAILED.load(Ordering::Relaxed) {
                break;
            }
            let old = cell.store(Canary::new()).wait();
            old.poison();
            quarantine[round % QUARANTINE] = Some(old);
        }
        stop.store(true, Ordering::Relaxed);
    });
}
