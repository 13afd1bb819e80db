//! Calls of the engine that concern one queue only.

use std::ops::Range;

use quiescent_engine::cpu::{Cpu, Lane};
use quiescent_engine::credit::Cause;
use quiescent_engine::record::{CpuInput, Input, Output};
use quiescent_engine::{Now, Pos};

use crate::prim::part::{Part, straight};

fn done(done: &bool) -> Output {
    Output::Done(*done)
}

/// Calls that need the queue's lock. Each calls the engine's method of the same name, and records the call.
impl Part<Cpu> {
    pub fn extract(&mut self, lane: Lane, max: u64) -> Range<Pos> {
        straight!(
            Input::Cpu(self.id(), CpuInput::Extract { lane, max }),
            |r: &Range<Pos>| Output::Range(r.start, r.end),
            self.inner().extract(lane, max)
        )
    }

    pub fn ran(&mut self, lane: Lane, range: Range<Pos>) -> bool {
        let Range { start, end } = range;
        straight!(
            Input::Cpu(self.id(), CpuInput::Ran { lane, start, end }),
            done,
            self.inner().ran(lane, range)
        )
    }

    pub fn unreported(&self) -> bool {
        straight!(
            Input::Cpu(self.id(), CpuInput::Untold),
            done,
            Cpu::unreported(self)
        )
    }

    pub fn due(&self, now: Now, low: bool) -> Option<Cause> {
        straight!(
            Input::Cpu(self.id(), CpuInput::Due { now, low }),
            |r: &Option<Cause>| Output::Due(*r),
            Cpu::due(self, now, low)
        )
    }

    pub fn deadline(&self) -> Option<u64> {
        straight!(
            Input::Cpu(self.id(), CpuInput::Deadline),
            |r: &Option<u64>| Output::Deadline(*r),
            Cpu::deadline(self)
        )
    }
}
