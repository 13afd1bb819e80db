//! Callbacks, grace periods and reclaiming threads of a running program, live: the library of `quiescent
//! top`.
//!
//! | folder | job |
//! |---|---|
//! | `sample` | [`Sample`]: one reading; [`Source`]: a [`Process`] by its number, or the [`Kernel`] |
//! | `interval` | [`Interval`]: rates between two samples; [`Order`], [`View`]: which rows, sorted how |
//! | `text` | an interval as lines, for pipes and files, and what happened in all |
//! | `screen` | [`watch()`]: the loop on a terminal, keys, and what is drawn |
//!
//! A folder imports only folders that stand above it in this table.
//!
//! A reading wakes no thread of the process, and nothing runs in it: everything is read from `/proc` and from
//! the page that its library counts into (`quiescent::telemetry`).
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

/// What each column and metric is; `quiescent top --help-metrics` prints it.
pub const METRICS: &str = include_str!("metrics.txt");

mod interval;
mod sample;
mod screen;
mod text;

pub use interval::{Held, Interval, Order, Row, ThreadRow, View};
pub use quiescent_live::telemetry::What;
pub use sample::{Function, Holdout, Kernel, Process, SOFTIRQS, Sample, Source, Subject, Thread};
pub use screen::watch;
pub use text::text;
