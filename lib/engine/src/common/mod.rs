//! What a kernel's engine has in common with this one.

pub mod barrier;
pub mod cblist;
pub mod seq;

pub(crate) use crate::{cpu, host};
