//! The state of a thread of the run: its place, its choices, its counts. Counts are merged from time to time,
//! and when the thread drops it.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use super::events::What;
use super::kind::{KINDS, Kind};
use super::ledger::Ledger;
use super::numbers::Numbers;
use super::options::Broken;
use super::role::{READERS, Role};
use super::world::{AGES, Place, World};

/// Sections after which counts are merged.
const MERGE: u64 = 64;

/// Does nothing for so many turns of a loop.
pub fn stay(turns: usize) {
    (0..turns).for_each(|_| std::hint::spin_loop());
}

/// A thread's own state.
pub struct Hand {
    /// The run.
    pub world: &'static World,
    /// Its place, exclusively as long as the hand lives.
    pub place: &'static Place,
    /// The number of the place.
    pub number: usize,
    /// Its random numbers.
    pub numbers: Numbers,
    /// How often it saw each age.
    ages: Box<[[u64; AGES]; KINDS]>,
    /// Sections since the counts were merged: of the process, of `Srcu`s, of domains.
    sections: [u64; 3],
}

impl Hand {
    /// Takes a place. `turn` distinguishes the short-lived threads of one place.
    pub fn new(world: &'static World, place: usize, turn: u64) -> Hand {
        let thread = place as u64 | turn << 16;
        // SAFETY: gettid has no arguments and cannot fail.
        let id = unsafe { libc::gettid() };
        world.places[place].thread.store(id, Ordering::Relaxed);
        Hand {
            world,
            place: &world.places[place],
            number: place,
            numbers: Numbers::new(world.options.seed, thread + 1),
            ages: Box::new([[0; AGES]; KINDS]),
            sections: [0; 3],
        }
    }

    /// The ledger of its place.
    pub fn ledger(&self) -> &'static Ledger {
        &self.place.ledger
    }

    /// Reports progress; pauses when all actors do. False at the end of the run.
    pub fn goes_on(&self) -> bool {
        self.beat();
        while self.world.paused() {
            thread::sleep(Duration::from_millis(5));
        }
        !self.world.stopped()
    }

    /// Reports progress.
    pub fn beat(&self) {
        self.place.beat.fetch_add(1, Ordering::Relaxed);
    }

    /// Is it time for this misuse? One chance in 64 is taken, and the run's first: how many there are depends
    /// on the load of the machine.
    pub fn misuses(&mut self, broken: Broken) -> bool {
        let world = self.world;
        world.is_broken(broken)
            && (self.numbers.once_in(64) || !world.misused.swap(true, Ordering::Relaxed))
    }

    /// One of the scenario's kinds that do not wait; any, if it has none.
    pub fn deferred(&mut self) -> Kind {
        let kinds = &self.world.options.kinds;
        let draws = (0..8).map(|_| kinds[self.numbers.below(kinds.len())]);
        let found = draws.filter(|kind| !kind.waits()).last();
        found.unwrap_or_else(|| Kind::deferred(self.numbers.below(64)))
    }

    /// The thread is busy with this kind.
    pub fn begin(&self, kind: Kind) {
        self.place.doing.store(kind as u8 + 1, Ordering::Relaxed);
    }

    /// The thread has performed one action of its role.
    pub fn acted(&self) {
        self.world.acted(self.place.role, 1);
    }

    /// Records an event.
    pub fn record(&self, what: What, kind: Option<Kind>, value: u64) {
        self.place.ring.record(what, kind, value);
    }

    /// The thread is busy with nothing that waits.
    pub fn end(&self) {
        self.place.doing.store(0, Ordering::Relaxed);
    }

    /// Does nothing for so long, or until the run is over.
    pub fn sleep(&self, time: Duration) {
        const SLICE: Duration = Duration::from_millis(20);
        let start = Instant::now();
        while let Some(left) = time.checked_sub(start.elapsed()) {
            if self.world.stopped() || left.is_zero() {
                break;
            }
            thread::sleep(left.min(SLICE));
            self.beat();
        }
    }

    /// Sleeps for less than so many milliseconds.
    pub fn rest(&mut self, milliseconds: u64) {
        let time = self.numbers.next() % (1000 * milliseconds);
        self.sleep(Duration::from_micros(time));
    }

    /// Acts until the run is over, and rests for less than so many milliseconds after each time.
    pub fn act_and_rest(mut self, milliseconds: u64, mut action: impl FnMut(&mut Hand)) {
        while self.goes_on() {
            action(&mut self);
            self.acted();
            self.rest(milliseconds);
        }
    }

    /// Sleeps for up to so many microseconds, often not at all.
    pub fn dawdle(&mut self, microseconds: usize) {
        match self.numbers.below(4) {
            0 => self.sleep(Duration::from_micros(
                self.numbers.clone().below(microseconds.max(1)) as u64,
            )),
            1 => thread::yield_now(),
            _ => {}
        }
    }

    /// Saw this age at the end of a section.
    pub fn saw(&mut self, kind: Kind, age: u32) {
        self.ages[kind as usize][(age as usize).min(AGES - 1)] += 1;
    }

    /// Had a section, as a reader with this role.
    pub fn had_section(&mut self, reader: Role) {
        let of = READERS.iter().position(|role| *role == reader);
        let of = of.expect("a reader's");
        self.sections[of] += 1;
        if self.sections[of] >= MERGE {
            self.merge();
        }
    }

    fn merge(&mut self) {
        for (tally, ages) in self.world.tallies.iter().zip(self.ages.iter_mut()) {
            for (sum, age) in tally.ages.iter().zip(ages) {
                sum.fetch_add(std::mem::take(age), Ordering::Relaxed);
            }
        }
        for (role, sections) in READERS.into_iter().zip(&mut self.sections) {
            self.world.acted(role, std::mem::take(sections));
        }
    }
}

impl Drop for Hand {
    fn drop(&mut self) {
        self.merge();
        self.place.thread.store(0, Ordering::Relaxed);
    }
}
