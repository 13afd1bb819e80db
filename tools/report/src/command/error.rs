//! One error type: what was asked, where it went wrong, and what to do about it.

use std::fmt;

/// Why something could not be had or measured. The text names the input, the place and the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The request makes no sense (exit code 2).
    Usage(String),
    /// The machine or a program refused (exit code 1).
    Failed(String),
}

impl Error {
    /// A failure while doing `what`, because of `why`; `remedy` is what a person can do.
    pub fn failed(what: impl fmt::Display, why: impl fmt::Display, remedy: &str) -> Self {
        Error::Failed(format!("{what}: {why}; {remedy}"))
    }

    /// With the name of who asked before it.
    #[must_use]
    pub fn of(self, who: &str) -> Self {
        match self {
            Error::Usage(text) => Error::Usage(format!("{who}: {text}")),
            Error::Failed(text) => Error::Failed(format!("{who}: {text}")),
        }
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
