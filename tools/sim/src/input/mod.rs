//! The input of a machine: its options, and the actions of its tasks.

pub(crate) mod op;
pub(crate) mod options;
pub(crate) mod release;
pub(crate) mod steps;
pub(crate) mod work;
