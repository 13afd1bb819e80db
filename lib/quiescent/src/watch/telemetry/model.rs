//! Models count nothing.

use quiescent_core::queue::meter::UNNAMED;

pub(crate) fn place_of(_: &str) -> u32 {
    UNNAMED
}
