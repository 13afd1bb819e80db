//! Observability: reports and telemetry.

pub(crate) mod report;
#[cfg(not(quiescent_model))]
pub(crate) mod telemetry;
#[cfg(quiescent_model)]
#[path = "telemetry/model.rs"]
pub(crate) mod telemetry;
