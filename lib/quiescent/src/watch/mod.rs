//! What the library tells about itself: reports, telemetry, memory pressure.

pub(crate) mod pressure;
pub(crate) mod stall;
#[cfg(not(quiescent_model))]
pub mod telemetry;
#[cfg(quiescent_model)]
#[path = "telemetry/model.rs"]
pub(crate) mod telemetry;
