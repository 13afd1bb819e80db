//! The input of a replay: callbacks that arrive, where RCU's threads ran, wake-ups of all others.

pub(crate) mod arrival;
pub(crate) mod clock;
mod placement;
mod recorded;

pub use arrival::{Arrival, Queued, never_lazy};
pub use placement::{Placed, Placements, placed_at};
pub use recorded::{Options, Recorded, Recorder, Wakeup, recorded};
