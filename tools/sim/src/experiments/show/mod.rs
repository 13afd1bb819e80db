//! The results of the experiments, as rows and as text.

mod claims;
mod listings;
mod rows;
mod table;
mod text;

pub use rows::{report, rows};
#[cfg(test)]
pub use table::tests::{table, unjudged};
pub use text::text;

use super::Source;

/// The subject of a real figure's row.
fn subject(source: Source) -> &'static str {
    match source {
        Source::Kernel | Source::Unseen => "kernel",
        Source::Published => "published",
    }
}
