//! The guide: a chapter for each common use of this library.
//!
//! All code in it is compiled and run as tests. [The crate's page](crate) introduces read-copy-update; after
//! it read the first chapter, then those that you need.
//!
//! | chapter | contents |
//! |---|---|
//! | [A configuration](config_cell) | one value that all threads read and one thread replaces |
//! | [A routing table](route_table) | a large value, changed by copies and in batches |
//! | [A linked list by hand](linked_list) | links between objects; the argument for each `unsafe` |
//! | [Lock-free structures](lock_free) | pop by value; marker nodes in place of pointer tags |
//! | [Signal handlers](signal_handlers) | what a handler may and may not do |
//! | [Long loops](long_loops) | long reads that do not block grace periods |
//! | [A reader that stalls](stalls) | stall reports, their frequency, and remedies |
//! | [Back-pressure](back_pressure) | the budget; values with `Drop` and their weight |
//! | [A hot updater](hot_updater) | how much memory fast updates hold, and how to hold less |
//! | [Event loops](event_loops) | threads with deadlines, callbacks on your own thread, flush times |
//! | [Memory pressure](memory_pressure) | what is freed when memory is low, the sources, the delays |
//! | [Fork](forks) | what the child can use, and what only the parent runs |
//! | [Async code](async_code) | what may be held across an `await`, and waiting without a thread |
//! | [Readers that may sleep](sleepable_readers) | sections that wait or end on another thread: `Srcu` |
//! | [Domains](domains) | separate grace periods, budget and callbacks for some data: `Domain` |
//! | [Coming from another crate](migration) | crossbeam-epoch and arc-swap, idiom by idiom |
//!
//! `lib/quiescent/examples` has complete programs. [`limitations`](crate::limitations) says what the library
//! does not do, and what happens when memory, threads or descriptors run out.

#[doc = include_str!("guide/config_cell.md")]
pub mod config_cell {}

#[doc = include_str!("guide/route_table.md")]
pub mod route_table {}

#[doc = include_str!("guide/linked_list.md")]
pub mod linked_list {}

#[doc = include_str!("guide/lock_free.md")]
pub mod lock_free {}

#[doc = include_str!("guide/signal_handlers.md")]
pub mod signal_handlers {}

#[doc = include_str!("guide/long_loops.md")]
pub mod long_loops {}

#[doc = include_str!("guide/stalls.md")]
pub mod stalls {}

#[doc = include_str!("guide/back_pressure.md")]
pub mod back_pressure {}

#[doc = include_str!("guide/hot_updater.md")]
pub mod hot_updater {}

#[doc = include_str!("guide/event_loops.md")]
pub mod event_loops {}

#[doc = include_str!("guide/memory_pressure.md")]
pub mod memory_pressure {}

#[doc = include_str!("guide/forks.md")]
pub mod forks {}

#[doc = include_str!("guide/async_code.md")]
pub mod async_code {}

#[doc = include_str!("guide/sleepable_readers.md")]
pub mod sleepable_readers {}

#[doc = include_str!("guide/domains.md")]
pub mod domains {}

#[doc = include_str!("guide/migration.md")]
pub mod migration {}

/// The example of the README, compiled as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../../README.md")]
pub mod readme {}
