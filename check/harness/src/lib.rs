//! Test tools for the engine of kernels, `quiescent-kernel`. Not part of the product.
//!
//! | module | contents |
//! |---|---|
//! | [`host`] | a machine around the engine that a test drives by hand |
//! | [`explore`] | breadth-first search over the states of any model |
//! | [`search`] | a model of that machine, its rules, and the search of every order of its actions |
//! | [`world`] | the engine's state as one value |
//!
//! ```
//! use quiescent_harness::host::TestHost;
//! use quiescent_kernel::EarlyQs;
//!
//! let mut machine = TestHost::kernel(2, 1000, EarlyQs::Init);
//! machine.enter(1); // CPU 1 opens a section
//! let ticket = machine.wait_for_gp(0);
//! machine.drive(ticket, 50);
//! assert!(!machine.satisfied(ticket), "CPU 1 blocks the grace period");
//! machine.exit(1);
//! machine.drive(ticket, 50);
//! assert!(machine.satisfied(ticket));
//! ```

#[doc(hidden)]
pub use quiescent_kernel; // for macros

pub mod explore;
pub mod host;
pub mod search;
pub mod world;
