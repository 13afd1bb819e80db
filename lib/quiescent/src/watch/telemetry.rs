//! Telemetry: a page of shared memory with counts of what was queued and executed. The public side is
//! `quiescent::telemetry`.

use std::io;

use quiescent_core::domain::env::Env;
use quiescent_core::os;

mod page;
mod publish;

pub(crate) use page::{Names, begin_again, counts, leave, names, place_of};
pub(crate) use publish::publish;

/// Starts counting; does nothing if it is on already. It stays on until the process ends.
///
/// # Errors
/// There is no descriptor or no memory for the page. Then nothing is counted.
pub(crate) fn start_in(env: &'static Env) -> io::Result<()> {
    page::start(env)
}

/// Whether it should start with the process.
pub(crate) fn is_demanded() -> bool {
    std::env::var_os("QUIESCENT_TELEMETRY")
        .filter(|_| !os::has_more_rights())
        .is_some_and(|value| !value.is_empty() && value != "0" && value != "off")
}
