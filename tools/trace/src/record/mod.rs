//! The input of a replay: callbacks that arrive, and where RCU's threads ran.

pub(crate) mod arrival;
pub(crate) mod callbacks;
pub(crate) mod clock;
mod placement;
mod recorded;

pub use arrival::{Arrival, Queued};
pub use placement::{Placed, Placements};
pub use recorded::{Options, Recorded, Recorder, recorded};
