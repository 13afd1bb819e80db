//! `trace.dat`, the file of trace-cmd, versions 6 and 7: a stream of records.
//!
//! A record has the fields of its event, if it is one that is decoded. Everything in it comes from the file:
//! formats of events, names of functions, strings and tasks.
//!
//! | module | job |
//! |---|---|
//! | `walk` | numbers and strings of either byte order, complaints with their place |
//! | `pack` | zstd and zlib, within limits |
//! | `layout` | where everything is, in both versions |
//! | `symbols` | functions, strings and tasks by number |
//! | `format` | fields of events |
//! | `page` | events of one page |
//! | `merge` | events of all CPUs and buffers, by time |
//! | `lines` | the records |
//!
//! **Buffers.** A recording may have several, the first one and those of instances; all are read and merged.
//!
//! **Memory.** One page, or one chunk where data is compressed, for each CPU of each buffer, all of them
//! within `HELD_MOST` (32 MiB); symbols and formats, within 24 and 16 MiB, twice while they are read; one
//! zstd window of at most 100 MiB. A file that asks for more is refused. An ordinary one takes about 12 MB:
//! kallsyms and formats of a whole kernel.
//!
//! **Lost events** are written where the pages report them, and at the end those that only the statistics of
//! the CPUs report.
//!
//! **Not read**: `TIME_SHIFT` and `TSC2NSEC` (times of a guest stay the guest's; `x86-tsc` has no unit),
//! reports of latency tracers.

mod format;
mod layout;
mod lines;
mod merge;
mod pack;
mod page;
mod symbols;
mod walk;

pub(crate) use layout::MAGIC;
pub(crate) use lines::Dat;
pub(crate) use pack::{Frames, Packing};
pub(crate) use walk::Source;

#[cfg(test)]
mod tests;
