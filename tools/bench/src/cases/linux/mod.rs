//! What is measured on Linux only: it asks `/proc`, signals, seccomp, or the kernel's grace periods.

pub mod barrier;
pub mod domain;
pub mod flood;
pub mod hold;
pub mod idle;
pub mod pressure;
pub mod scale;
pub mod sections;
pub mod srcu;
pub mod stall;
pub mod sync;
pub mod trickle;

use crate::measure::once::{Kind, kind};

/// The kinds of questions of these cases.
pub(super) const KINDS: [Kind; 9] = [
    kind::<barrier::BarrierAsk>(),
    kind::<domain::child::DomainAsk>(),
    kind::<flood::FloodAsk>(),
    kind::<hold::HoldAsk>(),
    kind::<idle::IdleAsk>(),
    kind::<pressure::child::PressureAsk>(),
    kind::<scale::child::ScaleAsk>(),
    kind::<stall::StallAsk>(),
    kind::<trickle::child::TrickleAsk>(),
];
