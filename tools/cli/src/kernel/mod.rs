//! This machine's own kernel, waiting for its own grace period.
//!
//! `membarrier(MEMBARRIER_CMD_GLOBAL)` returns after every CPU has passed a quiescent state; the kernel
//! implements it with a grace period of its own (membarrier(2): "an expensive, system-wide operation"). An
//! unprivileged program has no other way to time one. It does *not* wait when only one CPU is on line, and is
//! refused when the kernel was booted with `nohz_full`.
//!
//! Its guarantee differs from this library's: the kernel's call waits for every CPU of the machine and
//! contains the kernel's own pauses between scans (milliseconds, so that readers and idle CPUs are not
//! disturbed); the library's waits for the readers of one process.

pub mod beside;
pub mod calls;
pub mod facts;
pub mod load;
pub mod place;
pub mod predict;
pub mod show;
pub mod verdict;

/// The start of the names of `kernel bench`'s measured rows.
const CASE: &str = "synchronize";
