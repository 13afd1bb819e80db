//! What a running program's callbacks, grace periods and reclaiming threads do, as they do it: the inside of `quiescent top`.
//!
//! | module | job |
//! |---|---|
//! | `sample` | [`Sample`]: what can be read at one moment, and [`Source`], where it is read |
//! | `process` | [`Process`]: a source, a running process by its number |
//! | `kernel` | [`Kernel`]: a source, the RCU of the running kernel, by the best that it shows |
//! | `interval` | [`Interval`]: what happened between two samples, as rates |
//! | `order` | [`Order`] and [`View`]: sorted by which column, which rows |
//! | `summary` | what happened in all, in the words of what is looked at |
//! | `text` | an interval as lines, for pipes and files |
//! | `state`, `screen` | keys, and what is drawn on a terminal |
//! | `watch` | [`watch()`]: the loop on a terminal |
//!
//! Nobody is woken for a look, and nothing runs in the process that is looked at: everything is read from `/proc` and from the page that its
//! library counts into ([`quiescent::telemetry`]).
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
mod kernel;
mod order;
mod process;
mod sample;
mod screen;
mod state;
mod summary;
mod text;
mod watch;

pub use interval::{Interval, Row, ThreadRow};
pub use kernel::Kernel;
pub use order::{Order, View};
pub use process::Process;
pub use quiescent::telemetry::What;
pub use sample::{Function, Holdout, SOFTIRQS, Sample, Source, Subject, Thread};
pub use text::text;
pub use watch::watch;
