//! The results of the experiments, as rows and as text.

mod claims;
mod listings;
mod rows;
mod table;
mod text;

pub use rows::{report, rows};
#[cfg(test)]
pub use table::{table, unjudged};
pub use text::text;

use super::Source;

/// The subject of a real figure's row.
fn subject(source: Source) -> &'static str {
    match source {
        Source::Kernel => "kernel",
        Source::Published => "published",
    }
}

/// The verdict on what does not hold.
const MISSED: &str = "MISSED";

/// The verdict on what holds or not; a figure without one was fitted.
fn verdict(holds: Option<bool>) -> &'static str {
    match holds {
        Some(true) => "met",
        Some(false) => MISSED,
        None => "fitted",
    }
}
