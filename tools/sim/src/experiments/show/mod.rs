//! The results of the experiments, as rows, as text and as a part of a page.

mod claims;
mod listings;
pub mod page;
mod rows;
mod text;

pub use rows::{report, rows};
pub use text::text;

use quiescent_report::OURS;

use super::Source;

/// The subject of a real figure's row.
fn subject(source: Source) -> &'static str {
    match source {
        Source::Kernel => "kernel",
        Source::Published => "published",
        Source::Threads => OURS,
    }
}

fn verdict(holds: bool) -> &'static str {
    match holds {
        true => "met",
        false => "MISSED",
    }
}
