//! What a machine is given: its options, and what its tasks do.

pub(crate) mod op;
pub(crate) mod options;
pub(crate) mod policy;
pub(crate) mod work;
