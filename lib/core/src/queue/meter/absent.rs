//! Without the feature `telemetry`: nothing is counted.

use std::ops::Range;

use quiescent_engine::Pos;
use quiescent_engine::cpu::{Cpu, LANES};
use quiescent_engine::credit::{Queued, Urgency};

use crate::queue::chain::Chain;
use crate::queue::intrusive::RunHead;
use crate::queue::lane::Entry;
use crate::queue::per_thread::BLOCK_LANES;

/// How a host counts: not at all.
pub type CountsOf = fn();

/// The counts of hosts that have no page.
pub fn uncounted() {}

/// What is queued is not counted.
#[derive(Debug)]
pub struct Meter;

#[allow(clippy::unused_self, reason = "the interface of the meter that counts")]
impl Meter {
    pub const fn new(_: CountsOf) -> Meter {
        Meter
    }

    /// True if there is a page: never.
    #[inline]
    pub const fn is_open(&self) -> bool {
        false
    }
}

/// The telemetry number of the process's domain.
pub const PROCESS: u32 = 0;
/// The telemetry number of all domains without a name.
pub const UNNAMED: u32 = 1;
/// The telemetry number of the first domain with counted readers; the others follow.
pub const SRCUS: u32 = 1 << 13;

type Chains = [Chain; BLOCK_LANES];

/// The telemetry cursor of a queue: it has no position.
#[derive(Debug)]
pub struct Cursor;

#[allow(
    clippy::unused_self,
    reason = "the interface of the cursor that counts"
)]
impl Cursor {
    pub const fn new() -> Cursor {
        Cursor
    }

    pub fn set_place(&mut self, _: u32) {}
    pub fn update(&mut self, _: &Meter, _: &Cpu, _: &Chains, _: &[Queued; LANES]) {}
    pub fn extracted(&mut self, _: &Meter, _: &Cpu, _: usize, _: &Range<Pos>, _: &[Entry]) {}
    pub fn head_pushed(&mut self, _: &Meter, _: &Cpu, _: RunHead, _: Pos) {}
    pub fn head_popped(&mut self, _: &Meter, _: &Cpu, _: RunHead, _: &Range<Pos>) {}
    pub fn broke(&mut self, _: &Meter, _: &Cpu, _: usize, _: u64, _: Urgency) {}
    pub fn credit(&mut self, _: &Meter, _: usize, _: bool) {}
}
