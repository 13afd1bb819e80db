//! Reads kernel traces (ftrace text, `trace.dat`, Perfetto): the input for a replay in the model, and the
//! figures that the model is compared with.
//!
//! | folder | job |
//! |---|---|
//! | `base` | [`Error`] ends the reading; [`Faults`] are counted; sets of CPUs, distributions |
//! | `event` | [`Event`]: an event's fields, by the kernel's formats, of text and of what is no text |
//! | `line` | [`Reader`]: a [`Record`] for each event, in all known text layouts, in constant memory |
//! | `dat` | records of `trace.dat`, versions 6 and 7; buffers merged by time |
//! | `perfetto` | records of Perfetto's trace, in the order of time |
//! | `input` | [`open`]: files of all kinds, plain or compressed by xz, gzip or zstd, and standard input |
//! | `measure` | [`Figures`] of a window: grace periods (followed here), wake-ups, ticks, idle entries |
//! | `record` | [`Recorded`]: the input of a replay, and HZ; callbacks and waits are followed here |
//! | `analysis` | [`Analysis`]: tables of wake-ups, callbacks, batches, grace periods, idle; a timeline |
//!
//! A folder imports only folders that stand above it in this table.
//!
//! **Memory**: 128 KiB of text at a time, six times as much if a thread reads ahead ([`Reader::ahead`]); in
//! front of it a decompressor's window (at most 80 MiB for xz, as `xz -9` wants, 100 MiB for zstd, little for
//! gzip) or, for a `trace.dat`, a page for each CPU and the tables of a kernel, about 12 MB ([`from_seek`]
//! says more), or 32 MiB of Perfetto's bundles.
//!
//! Three rules hold throughout. A line or a field that cannot be read is counted with its line number and
//! never guessed at. Nothing panics, whatever the bytes. Nothing grows with the length of a trace, except
//! what is asked for by name: arrivals of a replay, grace periods of the figures.
//!
//! The input of a replay and the figures come of one pass: [`recorded`].

/// What each column and metric of the analyses is; `quiescent trace --help-metrics` prints it.
pub const METRICS: &str = include_str!("metrics.txt");

mod analysis;
mod base;
mod dat;
mod event;
mod input;
mod line;
mod measure;
mod perfetto;
mod record;

pub use analysis::{
    About, Analysis, Column, DISTINCT_MOST, Filter, Findings, Kind, Line, NAMES_MOST, Table,
    Thread, VALUES_MOST, WAITING_MOST, damage,
};
pub use base::{
    CpuSet, Distribution, Error, Fault, Faults, LINE_MOST, Malformed, Percentiles, Role, kind_of,
    role,
};
pub use event::Event;
pub use input::{Opened, follow, from_read, from_seek, open, opened};
pub use line::{Buffer, Flags, Input, Reader, Record, Summary, Unit};
pub use measure::{Bounds, END_MARK, Figures, GracePeriod, START_MARK, Window};
pub use record::{
    Arrival, Awaited, Edge, Options, Placed, Placements, Queued, Recorded, Recorder, Wait,
    WaitFollow, is_outside, recorded,
};
