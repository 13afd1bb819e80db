//! Observability: reports and telemetry.

pub(crate) mod report;
#[cfg(feature = "telemetry")]
pub(crate) mod telemetry;
