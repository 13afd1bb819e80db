//! What a long measurement gets from its caller: a way to be stopped, and somebody to tell how far it is.

use std::sync::atomic::{AtomicBool, Ordering};

/// Somebody who shows progress. The command line draws a bar; tests and scripts stay silent.
pub trait Progress {
    /// A part of `steps` steps begins.
    fn begin(&self, what: &str, steps: u64);
    /// `steps` more are done.
    fn advance(&self, steps: u64);
    /// The part is over.
    fn end(&self);
}

/// Shows nothing.
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _what: &str, _steps: u64) {}
    fn advance(&self, _steps: u64) {}
    fn end(&self) {}
}

/// How a caller steers a measurement. It is looked at between rounds, so a stop takes effect within milliseconds
/// and what was measured until then is kept.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    stop: &'a AtomicBool,
    /// Who is told how far it is.
    pub progress: &'a dyn Progress,
}

impl<'a> Control<'a> {
    /// Steers by `stop` (set it to true to stop) and reports to `progress`.
    pub fn new(stop: &'a AtomicBool, progress: &'a dyn Progress) -> Self {
        Control { stop, progress }
    }

    /// What is set when somebody asks to stop, for those who look from another thread.
    pub fn flag(&self) -> &'a AtomicBool {
        self.stop
    }

    /// Whether somebody asked to stop.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
