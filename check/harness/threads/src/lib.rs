//! Tests of the engine of threads (`lib/engine`): a host that a test drives by hand. Not part of the product.
//!
//! ```
//! use quiescent_harness_threads::TestHost;
//!
//! let mut host = TestHost::threads(2);
//! host.enter(1); // thread 1 opens a section
//! let ticket = host.wait_for_gp(0);
//! host.drive(0, ticket, 50);
//! assert!(!host.satisfied(ticket), "thread 1 blocks the grace period");
//! host.exit(1);
//! host.drive(0, ticket, 50);
//! assert!(host.satisfied(ticket));
//! ```

mod host;

pub use host::{Done, Readers, TestHost};
