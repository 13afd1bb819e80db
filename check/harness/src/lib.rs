//! Test tools for the engine of *quiescent*. Not part of the product.
//!
//! | module | contents |
//! |---|---|
//! | [`replay`] | records of a host's calls and the engine's queries, and their replay |
//! | [`host`] | a machine around the engine that a test drives by hand |
//! | [`search`] | a model of that machine, its rules, and the search of every order of its actions |
//! | [`models`] | models of parts of the engine |
//!
//! ```
//! use quiescent_harness::host::TestHost;
//!
//! let mut machine = TestHost::threads(2);
//! machine.enter(1); // CPU 1 opens a section
//! let ticket = machine.wait_for_gp(0);
//! machine.drive(0, ticket, 50);
//! assert!(!machine.satisfied(ticket), "CPU 1 blocks the grace period");
//! machine.exit(1);
//! machine.drive(0, ticket, 50);
//! assert!(machine.satisfied(ticket));
//! ```

#[doc(hidden)]
pub use quiescent_engine; // for macros

pub mod host;
pub mod models;
mod record;
pub mod replay;
pub mod search;
