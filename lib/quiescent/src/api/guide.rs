//! The guide: one chapter for each thing that people build with this library.
//!
//! Every piece of code in it is compiled and run as a test. Begin with [the crate's page](crate) if
//! read-copy-update is new to you; then read the first chapter, and after it those that you need.
//!
//! | chapter | what it is about |
//! |---|---|
//! | [A configuration](config_cell) | one value that all threads read and one replaces |
//! | [A routing table](route_table) | a large value, changed by copies and in batches |
//! | [A linked list by hand](linked_list) | links between objects, step by step; why each `unsafe` is right |
//! | [Signal handlers](signal_handlers) | what a handler may do, and what it may not |
//! | [Long loops](long_loops) | reading for long without holding up those who wait |
//! | [A reader that stalls](stalls) | how it is named, how often, and what to do about it |
//! | [Back-pressure](back_pressure) | when more is retired than can be freed: the budget |
//! | [Event loops](event_loops) | threads with deadlines, callbacks on a thread of one's own, how long things wait |
//! | [Memory pressure](memory_pressure) | what goes at once when memory is low, who says so, and how fast |
//! | [Fork](forks) | what the child goes on with, and what it leaves to the parent |
//! | [Async code](async_code) | what may live across an `await`, and waiting without a thread |
//! | [Readers that may sleep](sleepable_readers) | sections that wait, live across an `await`, or end elsewhere: `Srcu` |
//! | [Domains](domains) | grace periods, budget and callbacks of its own, for some of the data: `Domain` |
//! | [Coming from another crate](migration) | crossbeam-epoch and arc-swap, idiom by idiom |
//!
//! Complete programs are in `lib/quiescent/examples`. What the library does not do, and what happens
//! when memory, threads or descriptors run out, is told in [`limitations`](crate::limitations).

#[doc = include_str!("guide/config_cell.md")]
pub mod config_cell {}

#[doc = include_str!("guide/route_table.md")]
pub mod route_table {}

#[doc = include_str!("guide/linked_list.md")]
pub mod linked_list {}

#[doc = include_str!("guide/signal_handlers.md")]
pub mod signal_handlers {}

#[doc = include_str!("guide/long_loops.md")]
pub mod long_loops {}

#[doc = include_str!("guide/stalls.md")]
pub mod stalls {}

#[doc = include_str!("guide/back_pressure.md")]
pub mod back_pressure {}

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
