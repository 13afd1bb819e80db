//! Why something of a live kernel could not be had.

use std::fmt;

/// The text names the input, the place and the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The request makes no sense.
    Usage(String),
    /// The machine refuses.
    Failed(String),
}

impl Error {
    pub(crate) fn failed(what: impl fmt::Display, why: impl fmt::Display, remedy: &str) -> Self {
        Error::Failed(format!("{what}: {why}; {remedy}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Usage(text) | Error::Failed(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}
