//! The guide: a chapter for each common use of this library.
//!
//! All code in it is compiled and run as tests. [The crate's page](crate) introduces read-copy-update; after
//! it read the first two chapters, then those that you need.
//!
//! | chapter | contents |
//! |---|---|
//! | [Which structure](which_structure) | cell, map, list, reference count or lock: what each costs |
//! | [A configuration](config_cell) | one value that all threads read and one thread replaces |
//! | [A routing table](route_table) | a large value, changed by copies and in batches |
//! | [A linked list by hand](linked_list) | links between objects; the argument for each `unsafe` |
//! | [Lock-free structures](lock_free) | pop by value; marker nodes in place of pointer tags |
//! | [Pointers of your own](own_pointers) | `AtomicPtr`s, `retire(address, function)`: stack, list, array |
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
//! | [Your own tests](own_tests) | Miri, sanitizers, loom and shuttle with the library inside |
//! | [Coming from another crate](migration) | crossbeam-epoch, seize, haphazard, arc-swap, liburcu |
//!
//! `lib/quiescent/examples` has complete programs. [`limitations`](crate::limitations) says what the library
//! does not do, and what happens when memory, threads or descriptors run out.

/// A module for each chapter: its text.
macro_rules! chapters {
    ($($chapter:ident)*) => {$(
        #[doc = include_str!(concat!("guide/", stringify!($chapter), ".md"))]
        pub mod $chapter {}
    )*};
}

chapters!(
    which_structure config_cell route_table linked_list lock_free own_pointers signal_handlers long_loops
    stalls back_pressure hot_updater event_loops memory_pressure forks async_code sleepable_readers domains
    own_tests migration
);

/// The example of the package's README, compiled as a test.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub mod readme {}
