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

pub mod barrier;
pub mod clock;
pub mod crew;
pub mod deferral;
pub mod domain;
pub mod flood;
pub mod idle;
pub mod instructions;
pub mod mixed;
pub mod once;
pub mod order;
mod pairs;
pub mod pool;
pub mod pressure;
pub mod probes;
pub mod process;
pub mod read;
pub mod rest;
pub mod retire;
pub mod scale;
pub mod srcu;
pub mod stall;
pub mod subjects;
pub mod sync;
pub mod tally;
pub mod targets;
pub mod trickle;
pub mod waves;
