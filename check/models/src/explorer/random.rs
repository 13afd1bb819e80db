//! Random choices: half of the executions use priorities, half a random walk.
//!
//! *Priorities* are the probabilistic concurrency testing of Burckhardt, Kothari, Musuvathi and Nagarakatte
//! (ASPLOS 2010): every thread has a random one, the highest runs, and at a few random moments the running
//! thread gets the lowest one. A bug that needs `d` such moments is found with probability at least
//! 1/(threads · choices^(d-1)) an execution. The *walk* switches threads with a probability drawn for the
//! execution. Stores are ignored with a probability drawn for it, too.

use super::choice::Kind;
use crate::chance::Rng;

/// The largest number of lowered priorities an execution.
const DROPS: usize = 4;
/// In a long execution the running thread is demoted once in so many choices: its loop may wait for another.
const TURN: usize = 1 << 14;
/// How often time may advance while a thread is stopped.
const JUMPS: u32 = 6;

/// The state of a random policy.
#[derive(Debug, Default)]
pub(crate) struct Random {
    rng: Rng,
    /// Priorities by thread; grows as threads appear. Empty for a walk.
    priorities: Vec<u64>,
    by_priority: bool,
    drops: [usize; DROPS],
    lowest: u64,
    made: usize,
    switch: u64,
    delay: u64,
    /// For [`long`](super::long) executions.
    long: bool,
    /// In 65 536 choices, how often the running thread is stopped.
    stops: u64,
    /// This thread does not run, for as long as another one can.
    pub(crate) stopped: Option<usize>,
    jumps: u32,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        let mut random = Random {
            rng: Rng::new(seed),
            by_priority: true,
            ..Random::default()
        };
        random.next_execution(100);
        random
    }

    /// For one long execution: of unknown length, and with stopped threads in half of the walks.
    pub(crate) fn long(seed: u64) -> Random {
        let mut random = Random::new(seed);
        random.by_priority = random.rng.chance(1, 2);
        random.long = true;
        random
    }

    /// Draws the parameters of one execution; the one before made `length` choices.
    pub(crate) fn next_execution(&mut self, length: usize) {
        self.priorities.clear();
        self.by_priority = !self.by_priority;
        let length = match self.long {
            true => 100 << self.rng.below(10),
            false => length.max(16),
        };
        self.drops = std::array::from_fn(|_| self.rng.below(length));
        self.lowest = 1 << 32;
        self.made = 0;
        self.switch = [128, 48, 12, 4][self.rng.below(4)];
        self.delay = [0, 24, 128, 232][self.rng.below(4)];
        self.stopped = None;
        if self.long && !self.by_priority {
            self.stops = [0, 0, 16, 96][self.rng.below(4)];
        }
    }

    /// A number for the scenario.
    pub(crate) fn draw(&mut self) -> u64 {
        self.rng.next_u64()
    }

    /// Is the running thread stopped here, while others can run?
    pub(crate) fn stops(&mut self, me: usize) -> bool {
        let may = self.stops > 0 && self.stopped.is_none();
        if may && self.rng.chance(self.stops, 65_536) {
            (self.stopped, self.jumps) = (Some(me), JUMPS);
        }
        self.stopped == Some(me)
    }

    /// May time advance once more while a thread is stopped?
    pub(crate) fn may_jump(&mut self) -> bool {
        let may = self.jumps > 0;
        self.jumps = self.jumps.saturating_sub(1);
        may
    }

    pub(crate) fn flush(&mut self, count: usize) -> usize {
        if self.rng.chance(self.delay, 256) {
            1 + self.rng.below(count - 1)
        } else {
            0
        }
    }

    /// The index of the thread that runs. At a preemption point the first is the running one.
    pub(crate) fn thread(&mut self, kind: Kind, threads: &[usize]) -> usize {
        self.made += 1;
        if !self.by_priority {
            let stay = kind == Kind::Preempt && !self.rng.chance(self.switch, 256);
            return if stay {
                0
            } else {
                self.rng.below(threads.len())
            };
        }
        let turn = self.long && self.made.is_multiple_of(TURN);
        if kind == Kind::Preempt && (turn || self.drops.contains(&self.made)) {
            self.demote(threads[0]);
        }
        let best = (0..threads.len()).max_by_key(|&i| self.priority(threads[i]));
        best.expect("a thread to choose")
    }

    /// This thread runs only when no other can: its priority was lowered, or it spins.
    pub(crate) fn demote(&mut self, thread: usize) {
        let _ = self.priority(thread);
        self.lowest -= 1;
        self.priorities[thread] = self.lowest;
    }

    fn priority(&mut self, thread: usize) -> u64 {
        while self.priorities.len() <= thread {
            self.priorities
                .push((1 << 32) + (self.rng.next_u64() >> 24));
        }
        self.priorities[thread]
    }
}
