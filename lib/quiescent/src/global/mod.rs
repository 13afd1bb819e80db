//! What there is one of in a process: thread exit, fork.

pub(crate) mod fork;
pub(crate) mod thread_exit;
