//! What is measured on Linux only: it asks `/proc`, signals, seccomp, or the kernel's grace periods.

pub mod barrier;
pub mod fence_count;
pub mod flood;
pub mod hold;
pub mod idle;
pub mod pressure;
mod resting;
pub mod scale;
pub mod stall;
mod stalled;
pub mod sync;
mod together;
pub mod trickle;

use super::plan::Bench;

/// The measurements.
pub(super) const ALL: [&Bench; 9] = [
    &sync::SYNC,
    &pressure::PRESSURE,
    &scale::SCALE,
    &idle::IDLE,
    &trickle::TRICKLE,
    &flood::FLOOD,
    &stall::STALL,
    &hold::HOLD,
    &barrier::BARRIER,
];
