//! `bench trickle` in virtual time: the machine of threads, beside real threads.
//!
//! The procedure is that of the measurement, step by step: a producer that has read once hands over a block
//! at each of its absolute deadlines, from the beginning on; wake-ups are counted from half a second after
//! that until the trickle is over; grace periods and fences until everything is freed, or for as long as the
//! measurement waits. No parameter is taken from the measurement.

use quiescent_engine::owner;

use crate::input::op::{Op, Work};
use crate::input::options::Options;
use crate::input::work::Queued;
use crate::threads::{Threads, Verb};

/// A trickle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trickle {
    /// How blocks are handed over.
    pub verb: Verb,
    /// So many a second.
    pub rate: u64,
    /// For so long.
    pub ms: u64,
    /// Then the producer ends, rather than sleep.
    pub exits: bool,
    /// How long it is waited, after that, for what has not been freed.
    pub patience_ms: u64,
    /// Ticks a second of the clock that the library reads.
    pub hz: u32,
    /// The seed: where in a second of the clock the trickle begins.
    pub seed: u64,
}

/// What a trickle has shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrickleResult {
    /// Wake-ups of the library's threads, a second.
    pub wakeups_per_s: f64,
    /// Grace periods, to the end.
    pub grace_periods: u64,
    /// Process-wide fences, to the end.
    pub fences: u64,
    /// Blocks that were not freed.
    pub never_run: u64,
    /// What was over too early: 0, or the engine has a bug.
    pub too_early: u64,
}

/// What the measurement leaves out at its beginning, at most.
const WARM_MS: u64 = 500;
/// Bytes of a block.
const BLOCK: usize = 64;
const MS: u64 = 1_000_000;

/// The producer.
struct Producer {
    trickle: Trickle,
    func: usize,
    handed: u64,
    due: bool,
}

impl Work for Producer {
    fn next(&mut self, _: u64) -> Op {
        let Trickle { rate, ms, .. } = self.trickle;
        if self.handed == rate * ms / 1000 {
            return match std::mem::replace(&mut self.due, true) {
                false => Op::SleepUntil(ms * MS),
                true => Op::Exit,
            };
        }
        self.due = !self.due;
        match self.due {
            true => Op::SleepUntil(self.handed * 1_000_000_000 / rate),
            false => {
                self.handed += 1;
                Queued::of(self.func).call()
            }
        }
    }
}

/// Replays a trickle.
pub fn trickle(it: Trickle) -> TrickleResult {
    let mut machine = Threads::new(Options {
        seed: it.seed,
        ..Options::threads(it.hz)
    });
    let bytes = match it.verb {
        Verb::Retire | Verb::RetireOnWorker => owner::weight(BLOCK),
        _ => owner::ENTRY, // a closure of a word
    };
    let func = machine.func("block", bytes as u64, it.verb);
    let producer = Producer {
        trickle: it,
        func,
        handed: 0,
        due: false,
    };
    match it.exits {
        true => machine.spawn("producer", 0, true, producer),
        false => machine.spawn_endless("producer", 0, true, producer),
    }
    let warm = WARM_MS.min(it.ms / 10);
    machine.window(warm * MS, u64::MAX);
    machine.run(it.ms * MS);
    let wakeups = machine.stats().wakeups_of("quiescent");
    machine.run_out((it.ms + it.patience_ms) * MS);
    let counted = machine.counted();
    TrickleResult {
        wakeups_per_s: wakeups as f64 * 1000.0 / (it.ms - warm) as f64,
        grace_periods: counted.grace_periods,
        fences: counted.fences(),
        never_run: machine.owed(),
        too_early: machine.too_early(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Trickle = Trickle {
        verb: Verb::Retire,
        rate: 10,
        ms: 15_000,
        exits: false,
        patience_ms: 12_000,
        hz: 250,
        seed: 1,
    };

    #[test]
    fn everything_is_handed_over_once_and_freed_in_time() {
        for verb in Verb::NAMES.map(|name| Verb::named(name).unwrap()) {
            for (rate, exits) in [(1, true), (10, false), (100, true), (1000, false)] {
                let it = Trickle {
                    verb,
                    rate,
                    exits,
                    ..PLAIN
                };
                let shown = trickle(it);
                assert_eq!((shown.never_run, shown.too_early), (0, 0), "{it:?}");
                assert!(
                    shown.grace_periods > 0 && shown.wakeups_per_s > 0.0,
                    "{it:?}"
                );
            }
        }
    }

    #[test]
    fn where_in_a_second_it_begins_changes_little() {
        for (verb, rate) in [(Verb::Retire, 10), (Verb::Retire, 1000), (Verb::Call, 100)] {
            let of = |seed| {
                trickle(Trickle {
                    verb,
                    rate,
                    seed,
                    ..PLAIN
                })
            };
            let first = of(0);
            for seed in 1..20 {
                let (a, b) = (of(seed).grace_periods as f64, first.grace_periods as f64);
                assert!((a / b - 1.0).abs() <= 0.15, "{verb:?} {rate}/s: {a}, {b}");
            }
        }
    }
}
