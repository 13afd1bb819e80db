//! Reads kernel traces, ftrace text and `trace.dat`, and says what a model of the machine needs and what it is held against.
//!
//! | module | job |
//! |---|---|
//! | `input` | [`open`]: files, plain or compressed by xz, gzip or zstd, `trace.dat`, and standard input |
//! | `dat` | `trace.dat` of versions 6 and 7 as the text that the kernel would have written, all buffers merged by time |
//! | `line`, `reader` | [`Reader`]: a [`Record`] for each event, in every text layout met so far, in the memory of a block |
//! | `fields`, `event` | [`Event`]: what an event says, by the kernel's text formats |
//! | `window`, `clock` | the part that is looked at; HZ and the jiffy number |
//! | `recorded`, `arrival`, `placement` | [`Recorded`]: the input of a replay |
//! | `measure` | [`Figures`]: grace periods, callbacks, wake-ups, ticks, idle entries of a window |
//! | `analysis` | [`Analysis`]: tables of wake-ups, callbacks, batches, grace periods, idle; a timeline |
//! | `faults`, `error` | what was counted and passed over; what ends the reading |
//!
//! **Memory**: 128 KiB of text at a time, and ten blocks as large that a thread reads ahead ([`open`]), six if a thread parses lines ([`Reader::ahead`]); in front of it a decompressor's window (at most 80 MiB for xz, as `xz -9` wants,
//! 32 MiB for zstd, little for gzip) or, for a `trace.dat`, a page for each CPU and the tables of a kernel, about 12 MB
//! ([`from_seek`] says more).
//!
//! Three rules hold throughout. A line or a field that cannot be read is counted with its line number and never guessed
//! at. Nothing panics, whatever the bytes. Nothing grows with the length of a trace, except what is asked for by name:
//! arrivals and wake-ups of a replay, grace periods of the figures.
//!
//! Both consumers can be fed in one pass:
//!
//! ```
//! use quiescent_trace::{Measure, Options, Reader, Recorder, open};
//!
//! let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/traces/classic-b-nocb-file100.txt.xz");
//! let mut reader = Reader::new(path, open(path)?);
//! let (mut measure, mut recorder) = (Measure::new(None), Recorder::new(Options::default()));
//! while let Some(record) = reader.next_record()? {
//!     measure.feed(&record);
//!     recorder.feed(&record);
//! }
//! let figures = measure.finish(reader.summary())?;
//! let recorded = recorder.finish(reader.summary())?;
//! assert_eq!(figures.callbacks, recorded.in_window().count() as u64);
//! # Ok::<(), quiescent_trace::Error>(())
//! ```

mod analysis;
mod arrival;
mod clock;
mod cpuset;
mod dat;
mod dist;
mod error;
mod event;
mod faults;
mod fields;
mod input;
mod line;
mod measure;
mod names;
mod placement;
mod reader;
mod recorded;
mod window;

pub use analysis::{
    About, Analysis, Column, DISTINCT_MOST, Filter, Findings, Kind, Line, NAMES_MOST, Table,
    Thread, VALUES_MOST, WAITING_MOST,
};
pub use arrival::{Arrival, Queued, never_lazy};
pub use cpuset::CpuSet;
pub use dist::{Distribution, Percentiles};
pub use error::Error;
pub use event::Event;
pub use faults::{Fault, Faults, Malformed};
pub use input::{from_read, from_seek, open};
pub use line::{Flags, Record, Unit};
pub use measure::{Figures, FirstScan, Function, GracePeriod, Holdouts, Measure, measure};
pub use names::{Role, kind_of, role};
pub use placement::{Placed, Placements, placed_at};
pub use reader::{Buffer, LINE_MOST, Reader, Summary};
pub use recorded::{Options, Recorded, Recorder, Wakeup, recorded};
pub use window::{Bounds, END_MARK, START_MARK, Window};
