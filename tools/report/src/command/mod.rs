//! What every command gets and gives, whatever it measures.

mod control;
mod error;
mod occasion;

pub use control::{Control, Progress, Silent};
pub use error::Error;
pub use occasion::Occasion;
