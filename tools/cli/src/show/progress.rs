//! The progress bar: on standard error, on a terminal only, and drawn only when the progress advances (a
//! thread of its own would disturb the measurement).

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use quiescent_report::Progress;
use quiescent_report::text::shown;
use std::io::IsTerminal;

/// A bar, or nothing.
pub struct Bar(Option<ProgressBar>);

impl Bar {
    /// A bar on a terminal; nothing when `quiet` or elsewhere.
    pub fn new(quiet: bool) -> Self {
        if quiet || !std::io::stderr().is_terminal() {
            return Bar(None);
        }
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        let colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let template = match colour {
            true => "{msg:>22} [{bar:40.cyan}] {pos}/{len} {elapsed}",
            false => "{msg:>22} [{bar:40}] {pos}/{len} {elapsed}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        Bar(Some(bar))
    }

    /// Prints other output, with the bar hidden meanwhile.
    pub fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        match &self.0 {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }
}

impl Progress for Bar {
    fn begin(&self, what: &str, steps: u64) {
        if let Some(bar) = &self.0 {
            bar.set_message(shown(what).into_owned());
            bar.set_length(steps);
            bar.reset();
            bar.tick();
        }
    }

    fn advance(&self, steps: u64) {
        if let Some(bar) = &self.0 {
            bar.inc(steps);
        }
    }

    fn end(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
