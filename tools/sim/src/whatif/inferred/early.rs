//! How early the clocks of an emulated machine go off: how wrong its frequency was measured at boot.
//!
//! Where one CPU executes at a time, and two clocks go off in a tick, the handler of the CPU whose clock is
//! the later one begins (`smp`). A clock that was set again within a jiffy, for a timer of the CPU's own, had
//! less time to be wrong than the other one. So of ticks of two CPUs one of which has set its clock again,
//! that CPU begins half of the time where the frequency is right, nearly always where clocks go off early,
//! and seldom where they go off late. Recordings of one kernel's image have the same share.

use std::collections::BTreeSet;

use quiescent_trace::{Event, Record};

use super::{MANY, NEAR};
use crate::kernel::smp::CYCLE_PS;

/// Follows the ticks of a trace.
#[derive(Debug, Default)]
pub(super) struct Early {
    /// The CPUs of the tick that is under way, in order, and when it began.
    ticking: Vec<u32>,
    began: u64,
    /// Those of the tick before.
    before: BTreeSet<u32>,
    /// CPUs that have set their clocks again since then, and those that have since this one.
    again: BTreeSet<u32>,
    later: BTreeSet<u32>,
    /// Ticks that tell something, and those in which the CPU with the newer clock began.
    all: u64,
    newer: u64,
}

impl Early {
    pub fn see(&mut self, record: &Record<'_>, event: &Event<'_>) {
        match event {
            Event::Tick { .. } if record.time_ns > self.began + NEAR => {
                self.over();
                self.began = record.time_ns;
                self.ticking.push(record.cpu);
            }
            Event::Tick { .. } => self.ticking.push(record.cpu),
            Event::Hrtimer { .. } => {
                self.later.insert(record.cpu);
            }
            _ => {}
        }
    }

    /// All CPUs of the tick are known.
    fn over(&mut self) {
        let now: BTreeSet<u32> = self.ticking.iter().copied().collect();
        if let ([first, _], 1) = (&self.ticking[..], self.again.intersection(&now).count())
            && now == self.before
        {
            self.all += 1;
            self.newer += u64::from(self.again.contains(first));
        }
        self.ticking.clear();
        self.before = now;
        self.again = std::mem::take(&mut self.later);
    }

    /// How early, in millionths of the delay. Clocks are set again anywhere in a jiffy, and each is rounded
    /// to a cycle.
    pub fn finish(mut self, hz: u32) -> Option<i64> {
        self.over();
        if self.all < MANY {
            return None;
        }
        let share = self.newer as f64 / self.all as f64;
        let odd = (share - 0.5).abs();
        // Cycles that a clock is early by after a jiffy: more than one, or less.
        let cycles = match odd > 1.0 / 3.0 {
            true => 1.0 / (6.0 * (0.5 - odd).max(0.01)),
            false => 1.5 - (2.25 - 6.0 * odd).sqrt(),
        };
        let cycle_us = CYCLE_PS as f64 / 1e6;
        Some((cycles.copysign(share - 0.5) * cycle_us * f64::from(hz)).round() as i64)
    }
}
