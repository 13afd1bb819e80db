//! Output that every command shares: places of results and pages, the progress bar, and Ctrl-C.

pub mod file;
pub mod interrupt;
pub mod output;
pub mod paper;
pub mod progress;
