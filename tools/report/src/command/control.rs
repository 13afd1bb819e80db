//! What a long measurement gets from its caller: a stop flag, and a place for its progress.

use std::sync::atomic::{AtomicBool, Ordering};

/// Shows progress. The command line draws a bar; tests use [`Silent`].
pub trait Progress {
    /// A part of `steps` steps begins.
    fn begin(&self, what: &str, steps: u64);
    /// `steps` more are done.
    fn advance(&self, steps: u64);
    /// The part is over.
    fn end(&self);
}

/// Shows no progress.
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _what: &str, _steps: u64) {}
    fn advance(&self, _steps: u64) {}
    fn end(&self) {}
}

/// The caller's control of a measurement. The flag is read between rounds: a stop takes effect within
/// milliseconds, and everything measured until then is kept.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    stop: &'a AtomicBool,
    /// The place for progress.
    pub progress: &'a dyn Progress,
}

impl<'a> Control<'a> {
    /// Stops when `stop` is true, and reports to `progress`.
    pub fn new(stop: &'a AtomicBool, progress: &'a dyn Progress) -> Self {
        Control { stop, progress }
    }

    /// It is never stopped, and its progress is not shown.
    pub fn none() -> Control<'static> {
        static STOP: AtomicBool = AtomicBool::new(false);
        Control::new(&STOP, &Silent)
    }

    /// It was stopped before its beginning.
    pub fn cancelled() -> Control<'static> {
        static STOP: AtomicBool = AtomicBool::new(true);
        Control::new(&STOP, &Silent)
    }

    /// The stop flag, for other threads.
    pub fn flag(&self) -> &'a AtomicBool {
        self.stop
    }

    /// Was a stop requested?
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
