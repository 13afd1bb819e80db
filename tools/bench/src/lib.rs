//! Side-by-side measurements of `quiescent`, of other libraries, and of this machine's kernel.
//!
//! The `quiescent` command is the way in; this crate holds what it measures with and the one report shape
//! that every command prints (DESIGN "what every part gives a person"):
//!
//! | module | job |
//! |---|---|
//! | [`report`], [`stats`], [`table`] | rows with a median and its range; JSON and text |
//! | [`page`] | what was found as a page of HTML, from the same structures |
//! | [`subjects`] | who is measured: one file a library, the same loops for all |
//! | [`read`] | CPU time of a read-side pair |
//! | [`sync`] | latency and fences of a grace period, one child process a subject and case |
//! | [`srcu`] | both for readers that may sleep |
//! | [`domain`] | both in domains of the program's own, and whether those are apart |
//! | [`scale`] | grace periods, registration, exit and memory with up to thousands of registered threads |
//! | [`retire`], [`mixed`] | what it costs to have a block reclaimed later, alone and beside readers |
//! | [`idle`], [`trickle`], [`flood`], [`stall`], [`barrier`] | how quiet a library is, and how bounded; [`waves`] measures several at once |
//! | [`instructions`] | callgrind instruction counts of the same loops, and the disassembly of ours |
//! | [`kernel`] | this machine's real kernel: what it is like, its grace periods, and the model's prediction beside them |
//! | [`published`], [`benchmark`], [`verdict`], [`reproduce`] | the main job: tables, the kernel's own grace periods, targets |
//!
//! Three rules hold throughout. Peers are measured *in turn*, interleaved, in many short rounds whose order
//! rotates, because a shared machine drifts. What the loop itself costs is measured the same way and
//! subtracted from everybody. And no figure is compared with one from another run.
//!
//! ```
//! use quiescent_bench::report::{Report, Row};
//!
//! let mut report = Report::new("bench read", 1);
//! report.rows.push(Row::of("quiescent", "empty", "cpu_ns", "ns/pair", &[1.4, 1.3, 1.9]).unwrap());
//! let text = report.to_json();
//! assert_eq!(Report::from_json(&text).unwrap().rows[0].median, 1.4);
//! ```

pub mod barrier;
pub mod benchmark;
pub mod clock;
pub mod control;
pub mod crew;
pub mod deferral;
pub mod domain;
pub mod figures;
pub mod flood;
pub mod host;
pub mod idle;
pub mod instructions;
pub mod kernel;
pub mod mixed;
pub mod model;
pub mod once;
pub mod order;
pub mod page;
mod pairs;
pub mod pool;
pub mod pressure;
pub mod probes;
pub mod process;
pub mod published;
pub mod read;
pub mod report;
pub mod reproduce;
pub mod rest;
pub mod retire;
pub mod scale;
pub mod srcu;
pub mod stall;
pub mod stats;
pub mod subjects;
pub mod sync;
pub mod table;
pub mod tally;
pub mod trickle;
pub mod verdict;
pub mod waves;
pub mod whatif;

pub use control::{Control, Progress};
pub use quiescent_live::Error;
pub use report::{Report, Row};
