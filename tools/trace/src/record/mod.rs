//! The input of a replay: callbacks that arrive, who waits, and where RCU's threads ran.

pub(crate) mod arrival;
pub(crate) mod callbacks;
pub(crate) mod clock;
pub(crate) mod offloading;
mod placement;
mod recorded;
pub(crate) mod waits;

pub use arrival::{Arrival, Queued};
pub use placement::{Placed, Placements};
pub use recorded::{Options, Recorded, Recorder, recorded};
pub use waits::{Awaited, Edge, Wait, WaitFollow, is_outside};
