//! The progress bar: on standard error, on a terminal only, and drawn only when the progress advances, also
//! by nothing (a thread of its own would disturb the measurement). At most two drawings a second: a session
//! may be recorded. A part that takes long has an estimate of its rest as soon as there is one.

use quiescent_report::Progress;
use quiescent_report::text::shown;
use std::cell::RefCell;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// A part that will take longer than this in all shows how long the rest of it will take.
const LONG: Duration = Duration::from_secs(10);
/// What was done in less time tells nothing of the rest.
const KNOWN: Duration = Duration::from_millis(500);
/// The shortest time between two drawings, of different parts as well.
const BETWEEN: Duration = Duration::from_millis(500);
/// Letters of the bar: a line with its estimate fits 80 columns.
const LETTERS: usize = 12;

/// A bar, or nothing.
pub struct Bar(Option<RefCell<Part>>);

/// The part that is under way.
struct Part {
    what: String,
    steps: u64,
    done: u64,
    began: Instant,
    /// The time of the last drawing, and whether it can still be seen.
    drawn: Option<Instant>,
    is_seen: bool,
}

impl Bar {
    /// A bar on a terminal; nothing when `quiet` or elsewhere.
    pub fn new(quiet: bool) -> Self {
        let shown = !quiet && std::io::stderr().is_terminal();
        Bar(shown.then(|| RefCell::new(Part::new("", 0))))
    }

    /// Prints other output, with the bar hidden meanwhile.
    pub fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        let was_drawn = self.with(|part| part.clear()).unwrap_or(false);
        let printed = print();
        if was_drawn {
            self.with(|part| part.draw());
        }
        printed
    }

    fn with<T>(&self, change: impl FnOnce(&mut Part) -> T) -> Option<T> {
        self.0.as_ref().map(|part| change(&mut part.borrow_mut()))
    }
}

impl Progress for Bar {
    fn begin(&self, what: &str, steps: u64) {
        self.with(|part| {
            *part = Part {
                drawn: part.drawn,
                is_seen: part.is_seen,
                ..Part::new(what, steps)
            };
            part.draw_when_due();
        });
    }

    fn advance(&self, steps: u64) {
        self.with(|part| {
            part.done += steps;
            part.draw_when_due();
        });
    }

    fn end(&self) {
        self.with(|part| part.clear());
    }
}

impl Part {
    fn new(what: &str, steps: u64) -> Part {
        Part {
            what: shown(what).into_owned(),
            steps,
            done: 0,
            began: Instant::now(),
            drawn: None,
            is_seen: false,
        }
    }

    /// The line, after so much time.
    fn line(&self, gone: Duration) -> String {
        let done = match self.steps {
            0 => 0,
            steps => LETTERS * self.done.min(steps) as usize / steps as usize,
        };
        let bar = "=".repeat(done);
        let rest = match self.steps.checked_sub(self.done) {
            Some(left) if self.done > 0 && gone >= KNOWN => {
                let left = gone.mul_f64(left as f64 / self.done as f64);
                match gone + left >= LONG {
                    true => format!(", about {} left", time(left)),
                    false => String::new(),
                }
            }
            _ => String::new(),
        };
        let (what, all, gone) = (&self.what, self.steps, time(gone));
        format!(
            "{what:>22} [{bar:<LETTERS$}] {}/{all} {gone}{rest}",
            self.done
        )
    }

    fn draw_when_due(&mut self) {
        if is_due(self.drawn.map(|it| it.elapsed())) {
            self.draw();
        }
    }

    fn draw(&mut self) {
        let width = terminal_size::terminal_size_of(std::io::stderr()).map_or(80, |it| it.0.0);
        let line = self.line(self.began.elapsed());
        let line: String = line.chars().take(width.saturating_sub(1).into()).collect();
        write(&format!("\r{line}\x1b[K"));
        (self.drawn, self.is_seen) = (Some(Instant::now()), true);
    }

    /// Was it drawn?
    fn clear(&mut self) -> bool {
        let was_drawn = std::mem::take(&mut self.is_seen);
        if was_drawn {
            write("\r\x1b[K");
        }
        was_drawn
    }
}

/// Is the next drawing due, so long after the last one?
fn is_due(after: Option<Duration>) -> bool {
    after.is_none_or(|it| it >= BETWEEN)
}

fn write(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

fn time(of: Duration) -> String {
    match of.as_secs() {
        short if short < 100 => format!("{short} s"),
        long => format!("{} min", long / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_drawings_a_second_at_most() {
        let after = |ms| is_due(Some(Duration::from_millis(ms)));
        assert!(is_due(None) && !after(0) && !after(499) && after(500) && after(1000));
    }

    #[test]
    fn a_line_has_its_share_and_an_estimate_after_a_while() {
        let mut part = Part::new("rounds", 8);
        part.done = 2;
        let bar = format!("[{}{}]", "=".repeat(3), " ".repeat(9));
        let short = format!("                rounds {bar} 2/8 2 s");
        assert_eq!(part.line(Duration::from_secs(2)), short);
        let soon = part.line(Duration::from_secs(4));
        assert!(soon.ends_with("2/8 4 s, about 12 s left"), "{soon}");
        let long = part.line(Duration::from_secs(40));
        assert!(long.ends_with("2/8 40 s, about 2 min left"), "{long}");
        (part.done, part.steps) = (1_000_000, 9_000_000);
        let wide = part.line(Duration::from_secs(99));
        assert!(
            wide.ends_with("about 13 min left") && wide.len() < 80,
            "{wide}"
        );
        (part.done, part.steps) = (2, 0);
        assert!(part.line(Duration::from_secs(40)).ends_with("] 2/0 40 s"));
        (part.done, part.steps) = (3, 3);
        let full = part.line(LONG);
        assert!(full.contains(&format!("[{}] 3/3", "=".repeat(LETTERS))));
    }
}
