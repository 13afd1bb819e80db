//! What every command shares on its way out: where results and pages go, the progress bar, and how a run is
//! stopped.

pub mod file;
pub mod interrupt;
pub mod output;
mod page_file;
pub mod paper;
pub mod progress;
