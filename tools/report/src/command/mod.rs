//! Input and output that every command shares.

mod control;
mod error;
mod occasion;

pub use control::{Control, Progress, Silent};
pub use error::Error;
pub use occasion::Occasion;
