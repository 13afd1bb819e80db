//! Counts of what could not be read, in bounded memory.
//!
//! A trace of several gigabytes may have one bad line or a hundred million: all are counted, and the first
//! few are kept with their line numbers. Faults do not stop the reading; the caller decides what a count
//! means.

use serde::Serialize;
use std::fmt;

/// Bytes that a line may have.
pub const LINE_MOST: usize = 64 * 1024;

/// How many faults are kept with their places; the others are only counted.
const KEPT: usize = 16;

/// Why a line, or a field of it, could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Fault {
    /// No layout of ftrace text that is known.
    Shape,
    /// Recorded with the `raw` option: numbers without names.
    Raw,
    /// Recorded without `context-info`: task, CPU and time are missing.
    Context,
    /// The time is no number, or too large for nanoseconds in 64 bits.
    Time,
    /// An earlier time than that of a record before, or one without a unit among others that have it: a task
    /// may have such a line in its name.
    Backwards,
    /// A CPU number above 65535.
    Cpu,
    /// Longer than [`LINE_MOST`] bytes.
    Long,
    /// trace-cmd had no format for the event.
    Unknown,
    /// The event is known, and a field that it must have is missing.
    Field(&'static str),
    /// The kernel hid the pointer, so that callbacks cannot be distinguished.
    Hidden,
    /// A function is an address: the symbols of the kernel were hidden, or left out.
    Address,
    /// A part of this packet of a Perfetto trace could not be read.
    Packet {
        /// The byte of the file at which the packet starts.
        byte: u64,
    },
    /// No whole packet of a Perfetto trace starts here; nothing behind it is read.
    Rest {
        /// The byte of the file.
        byte: u64,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Shape => f.write_str("not a line of ftrace text"),
            Fault::Raw => {
                f.write_str("recorded with the `raw` option; write `noraw` to trace_options")
            }
            Fault::Context => f.write_str(
                "recorded without `context-info`: no task, CPU and time; write `context-info` to \
                 trace_options",
            ),
            Fault::Time => f.write_str("the time cannot be read"),
            Fault::Backwards => f.write_str("its time is earlier than that of a record before it"),
            Fault::Cpu => f.write_str("a CPU number above 65535"),
            Fault::Long => write!(f, "longer than {} bytes", LINE_MOST),
            Fault::Unknown => f.write_str(
                "trace-cmd had no format for this event (`UNKNOWN EVENT`): a probe or a module that was \
                 removed before the report, or made after the recording began; record again, and keep it \
                 until the end",
            ),
            Fault::Field(name) => write!(f, "the event has no readable field `{name}`"),
            Fault::Hidden => {
                f.write_str("the pointer is hidden; write `nohash-ptr` to trace_options")
            }
            Fault::Address => f.write_str(
                "the function is an address; record as root with kernel.kptr_restrict=0, and report without \
                 -R",
            ),
            Fault::Packet { byte } => write!(
                f,
                "the packet at byte {byte} of the Perfetto trace, or an event in it, is damaged"
            ),
            Fault::Rest { byte } => write!(
                f,
                "no whole packet starts at byte {byte} of the Perfetto trace, and nothing behind it is read: \
                 copy or record it again"
            ),
        }
    }
}

/// A fault and its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Malformed {
    /// Line number, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub fault: Fault,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.fault)
    }
}

/// All that could not be read: a count, and the first sixteen.
///
/// ```
/// use quiescent_trace::{Fault, Faults};
///
/// let mut faults = Faults::default();
/// for line in 1..=100 {
///     faults.add(line, Fault::Shape);
/// }
/// assert_eq!(faults.count(), 100);
/// assert_eq!(faults.first().len(), 16);
/// assert_eq!(faults.first()[0].to_string(), "line 1: not a line of ftrace text");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Faults {
    count: u64,
    first: Vec<Malformed>,
}

impl Faults {
    /// Counts one more.
    pub fn add(&mut self, line: u64, fault: Fault) {
        self.count += 1;
        if self.first.len() < KEPT {
            self.first.push(Malformed { line, fault });
        }
    }

    /// Those of later lines, which are counted from behind this line on.
    pub(crate) fn join(&mut self, before: u64, later: &Faults) {
        self.count += later.count;
        let room = KEPT.saturating_sub(self.first.len());
        let later = later.first.iter().take(room).map(|it| Malformed {
            line: before + it.line,
            ..*it
        });
        self.first.extend(later);
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The first of them, in the order of the file.
    pub fn first(&self) -> &[Malformed] {
        &self.first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_ones_are_kept_also_of_parts() {
        let part = |lines: std::ops::Range<u64>| {
            let mut faults = Faults::default();
            lines.for_each(|line| faults.add(line, Fault::Shape));
            faults
        };
        let mut all = part(0..10);
        all.join(10, &part(0..20));
        let lines: Vec<u64> = all.first().iter().map(|fault| fault.line).collect();
        assert_eq!((all.count(), lines), (30, (0..16).collect()));
        assert_eq!(part(0..17).first().len(), 16);
    }
}
