//! Errors that end the reading: they name the input, the place and the remedy.

use std::{fmt, io};

/// What to do about an input that breaks off.
pub(crate) const CUT: &str = "the file is cut short or damaged: copy or record it again";

/// Sorts lines of ftrace text by their time, which follows `[cpu]` and perhaps flags.
const SORT: &str = "grep -v '^#' FILE | sed -E 's/^(.*\\] *[^ ]* +)([0-9]+\\.[0-9]+): /\\2 &/' | \
                    LC_ALL=C sort -sn | cut -d' ' -f2-";

/// What ends the reading of a trace.
///
/// A line that cannot be read is no such error: it is counted ([`Faults`](crate::Faults)).
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The input cannot be opened or read on.
    Input {
        /// The file as it was named.
        name: String,
        /// The message of the system or the decompressor.
        source: io::Error,
        /// What to do about it.
        remedy: &'static str,
    },
    /// The input is recognised as something that is not read, or not from a pipe.
    Kind {
        /// The file as it was named.
        name: String,
        /// What it looks like.
        found: &'static str,
        /// What to do about it.
        remedy: &'static str,
    },
    /// The timeline cannot be written.
    Output {
        /// The message of the system.
        source: io::Error,
        /// What to do about it.
        remedy: &'static str,
    },
    /// The trace lacks the requested part.
    Missing {
        /// The file as it was named.
        name: String,
        /// What is missing.
        what: &'static str,
        /// The line up to which it was searched.
        lines: u64,
        /// What to do about it.
        remedy: &'static str,
    },
    /// Records are out of order: neither a duration nor a state is known.
    Order {
        /// The file as it was named.
        name: String,
        /// The line of the first record with an earlier time than the one before.
        line: u64,
        /// How many such records there are, or how many are earlier than the latest before them.
        count: u64,
        /// The line at which the header of another trace stands.
        again: Option<u64>,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Input {
                name,
                source,
                remedy,
            } => write!(f, "{name}: {source}; {remedy}"),
            Error::Kind {
                name,
                found,
                remedy,
            } => write!(f, "{name}: this is {found}; {remedy}"),
            Error::Output { source, remedy } => {
                write!(f, "the timeline cannot be written: {source}; {remedy}")
            }
            Error::Missing {
                name,
                what,
                lines,
                remedy,
            } => write!(
                f,
                "{name}: the trace has no {what} in its {lines} lines; {remedy}"
            ),
            Error::Order {
                name,
                line,
                count,
                again: Some(again),
            } => write!(
                f,
                "{name}: line {line}: another trace begins at line {again}, and {count} records are earlier \
                 than those before them. Of two recordings give one: `tail -n +{again} FILE | quiescent \
                 trace -` is the last. Files of single CPUs have to be sorted by time: `{SORT} | \
                 quiescent trace -`"
            ),
            Error::Order {
                name, line, count, ..
            } => write!(
                f,
                "{name}: line {line}: the record has an earlier time than the one before ({count} records \
                 of the trace do): clocks of CPUs disagree, or two traces are in one file; record with \
                 trace_clock mono or boot, or cut the file before that line"
            ),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Input { source, .. } | Error::Output { source, .. } => Some(source),
            Error::Kind { .. } | Error::Missing { .. } | Error::Order { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_is_the_systems_where_it_has_one() {
        use std::error::Error as _;
        let source = || std::io::Error::from(std::io::ErrorKind::StorageFull);
        let full = Error::Output {
            source: source(),
            remedy: "",
        };
        let cause = full
            .source()
            .expect("a cause")
            .downcast_ref::<std::io::Error>();
        assert_eq!(cause.expect("the system's").kind(), source().kind());
        let missing = Error::Missing {
            name: "trace.txt".into(),
            what: "record",
            lines: 0,
            remedy: "",
        };
        assert!(missing.source().is_none());
    }
}
