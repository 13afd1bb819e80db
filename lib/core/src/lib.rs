//! The building blocks of an RCU domain: engine and its lock, readers, queues, deferral, grace periods.
//!
//! The crate serves libraries built on it: [`quiescent`] for Rust programs, with one domain per process,
//! thread-locals and worker threads; and simulations and models with their own threads. This crate has no
//! statics, no thread-locals and no threads: a host creates an [`Env`](domain::env::Env), keeps a
//! [`Local`](reader::local::Local) for each thread, and implements [`Host`](domain::host::Host).
//!
//! The folders are layers; each imports only those above it in this list:
//!
//! | folder | content |
//! |---|---|
//! | `os` | operating-system calls |
//! | `prim` | atomics, fences, locks, sleeping; several interchangeable sets |
//! | `queue` | blocks, lanes, intrusive callbacks, the queue of a thread |
//! | `reader` | reader words, thread slots, reader records, counted sections |
//! | `domain` | a domain: its state and life, grace periods, queueing, running, the worker's pass |
//!
//! The interface is internal to this project. Its users are released together with it, and it changes without
//! notice.
//!
//! [`quiescent`]: https://docs.rs/quiescent

// Pages say which feature or system an item needs; not which primitives, which are for checkers.
#![cfg_attr(docsrs, feature(doc_cfg), doc(auto_cfg(hide(quiescent_model))))]
#![allow(
    missing_docs,
    reason = "an interface within the project: what a method's name and type do not say is written down"
)]
#![allow(
    clippy::new_without_default,
    reason = "constructors are constants; a default is none"
)]
// The model's set of primitives omits items that these links name.
#![cfg_attr(
    quiescent_model,
    allow(rustdoc::broken_intra_doc_links, rustdoc::private_intra_doc_links)
)]
// Without a feature its parts have no callers.
#![cfg_attr(
    not(all(
        feature = "telemetry",
        feature = "fork",
        feature = "pressure",
        feature = "helpers"
    )),
    allow(dead_code, unused_imports)
)]

// First, because later modules use its macros.
#[macro_use]
pub mod prim;

pub mod domain;
pub mod os;
pub mod queue;
pub mod reader;

#[cfg(all(test, not(quiescent_model)))]
#[path = "../../../check/models/inside/core/testing.rs"]
mod testing;
