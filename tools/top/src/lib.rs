//! What a running program's callbacks, grace periods and reclaiming threads do, as they do it: the inside of
//! `quiescent top`.
//!
//! | folder | job |
//! |---|---|
//! | `sample` | [`Sample`]: what can be read at one moment, and [`Source`], where it is read: [`Process`], a running process by its number; [`Kernel`], the RCU of the running kernel |
//! | `interval` | [`Interval`]: what happened between two samples, as rates; [`Order`] and [`View`]: sorted by which column, which rows |
//! | `text` | an interval as lines, for pipes and files, and what happened in all |
//! | `screen` | [`watch()`]: the loop on a terminal, keys, and what is drawn |
//!
//! A folder imports only folders that stand above it in this table.
//!
//! A reading wakes no thread of the process, and nothing runs in it: everything is read from `/proc` and from
//! the page that its library counts into ([`quiescent::telemetry`]).
//!
//! ```
//! use quiescent_top::{Interval, Process, Source, View, text};
//!
//! quiescent::telemetry::start()?;
//! let mut source = Process::new(std::process::id());
//! let before = source.read()?;
//! quiescent::defer(|| ());
//! quiescent::barrier();
//! let interval = Interval::between(&before, &source.read()?);
//! assert_eq!(interval.functions.len(), 1);
//! print!("{}", text(&interval, &View::default(), 100));
//! # Ok::<(), std::io::Error>(())
//! ```

#![deny(missing_docs)]

mod interval;
mod sample;
mod screen;
mod text;

pub use interval::{Interval, Order, Row, ThreadRow, View};
pub use quiescent::telemetry::What;
pub use sample::{Function, Holdout, Kernel, Process, SOFTIRQS, Sample, Source, Subject, Thread};
pub use screen::watch;
pub use text::text;
