//! Without the feature `telemetry`, and in models: nothing is counted.

use quiescent_core::queue::meter::UNNAMED;

pub(crate) fn place_of(_: &str) -> u32 {
    UNNAMED
}
