//! Observability: reports and telemetry.

pub(crate) mod report;
#[cfg(feature = "telemetry")]
pub(crate) mod telemetry;
#[cfg(not(feature = "telemetry"))]
#[path = "telemetry/absent.rs"]
pub(crate) mod telemetry;
