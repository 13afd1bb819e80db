//! The progress bar: on standard error, on a terminal only, and drawn only when the progress advances (a
//! thread of its own would disturb the measurement). A part that takes long has an estimate of its rest.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use quiescent_report::Progress;
use quiescent_report::text::shown;
use std::cell::Cell;
use std::io::IsTerminal;
use std::time::Duration;

/// A part that takes longer than this shows how long the rest of it will take.
const LONG: Duration = Duration::from_secs(10);

/// A bar, or nothing.
pub struct Bar(Option<Shown>);

struct Shown {
    bar: ProgressBar,
    /// The rest's time is shown.
    estimates: Cell<bool>,
}

impl Shown {
    fn style(&self, estimates: bool) {
        let colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let cyan = if colour { ".cyan" } else { "" };
        let rest = if estimates { ", about {eta} left" } else { "" };
        let template = format!("{{msg:>22}} [{{bar:40{cyan}}}] {{pos}}/{{len}} {{elapsed}}{rest}");
        if let Ok(style) = ProgressStyle::with_template(&template) {
            self.bar.set_style(style.progress_chars("=> "));
        }
        self.estimates.set(estimates);
    }
}

impl Bar {
    /// A bar on a terminal; nothing when `quiet` or elsewhere.
    pub fn new(quiet: bool) -> Self {
        if quiet || !std::io::stderr().is_terminal() {
            return Bar(None);
        }
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        let estimates = Cell::new(false);
        let shown = Shown { bar, estimates };
        shown.style(false);
        Bar(Some(shown))
    }

    /// Prints other output, with the bar hidden meanwhile.
    pub fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        match &self.0 {
            Some(it) => it.bar.suspend(print),
            None => print(),
        }
    }
}

impl Progress for Bar {
    fn begin(&self, what: &str, steps: u64) {
        if let Some(it) = &self.0 {
            it.style(false);
            it.bar.set_message(shown(what).into_owned());
            it.bar.set_length(steps);
            it.bar.reset();
            it.bar.tick();
        }
    }

    fn advance(&self, steps: u64) {
        if let Some(it) = &self.0 {
            let has_end = it.bar.length().is_some_and(|it| it > 0);
            if has_end && !it.estimates.get() && it.bar.elapsed() >= LONG {
                it.style(true);
            }
            it.bar.inc(steps);
        }
    }

    fn end(&self) {
        if let Some(it) = &self.0 {
            it.bar.finish_and_clear();
        }
    }
}
