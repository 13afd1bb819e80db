//! Domains.

pub(crate) mod counters;
pub(crate) mod grounds;
pub(crate) mod numbers;
pub(crate) mod policy;
pub(crate) mod process;
pub(crate) mod yard;
