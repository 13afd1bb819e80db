//! Input and output that every command shares.

mod control;
mod error;
mod occasion;
mod text;

pub use control::{Control, Progress, Silent};
pub use error::Error;
pub use occasion::Occasion;
pub use text::{TEXT_MOST, read_text, read_text_of};
