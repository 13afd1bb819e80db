//! One error type: the request, the place of the error, and the remedy.

use std::fmt;

/// The reason why a command failed. The text names the input, the place and the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The request makes no sense (exit code 2).
    Usage(String),
    /// The machine or a program refused (exit code 1).
    Failed(String),
}

impl Error {
    /// A failure while doing `what`, because of `why`; `remedy` is what the user can do.
    pub fn failed(what: impl fmt::Display, why: impl fmt::Display, remedy: &str) -> Self {
        Error::Failed(format!("{what}: {why}; {remedy}"))
    }

    /// The same error with the name of the caller before its text.
    #[must_use]
    pub fn of(self, caller: &str) -> Self {
        match self {
            Error::Usage(text) => Error::Usage(format!("{caller}: {text}")),
            Error::Failed(text) => Error::Failed(format!("{caller}: {text}")),
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
