//! A run's results: counts and delays, notes for a trace, system calls; and the oracle's verdict.

pub(crate) mod look;
pub(crate) mod notes;
pub(crate) mod oracle;
pub(crate) mod points;
pub(crate) mod stats;
pub(crate) mod syscalls;
