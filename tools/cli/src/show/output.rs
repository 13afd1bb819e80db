//! Writes results: a closed pipe (`| head`) ends the command without an error, with code 0.
//!
//! All that this program prints passes through [`Printed`] or [`tell`], which escape what a terminal would
//! obey (`quiescent_report::text`), to a pipe as well: the program's own output is printed nowhere else. Raw
//! are JSON, which escapes in its own way, and what has nothing from outside in it.

use quiescent_report::text::{folded, shown_lines};
use quiescent_report::{Error, Report};
use std::backtrace::{Backtrace, BacktraceStatus};
use std::borrow::Borrow;
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Exit code: done.
pub const DONE: u8 = 0;
/// Exit code: something failed or was found.
pub const FINDING: u8 = 1;
/// Exit code: wrong usage.
pub const USAGE: u8 = 2;
/// Exit code: stopped by Ctrl-C (128 + SIGINT, as shells have it).
pub const STOPPED: u8 = 130;

/// Is JSON printed as lines, of the rows alone?
static LINES: AtomicBool = AtomicBool::new(false);

/// From here on all JSON is.
pub fn print_lines() {
    LINES.store(true, Ordering::Relaxed);
}

/// What may be printed.
pub struct Printed(String);

impl Printed {
    /// One line of JSON, or one for each row.
    pub fn json(report: &Report) -> Self {
        Printed(match LINES.load(Ordering::Relaxed) {
            true => report.to_json_lines(),
            false => report.to_json() + "\n",
        })
    }

    /// Text in lines, which may quote anything.
    pub fn text(text: impl AsRef<str>) -> Self {
        Printed(shown_lines(text.as_ref()).into_owned())
    }

    /// The same, with its answers in colour if standard output may have it.
    pub fn coloured(text: impl AsRef<str>) -> Self {
        let Printed(text) = Printed::text(text);
        Printed(match colour() {
            true => paint(&text),
            false => text,
        })
    }

    /// JSON, or this text: only that is made which is printed.
    pub fn either<R: Borrow<Report>, T: AsRef<str>>(
        json: bool,
        report: impl FnOnce() -> R,
        text: impl FnOnce() -> T,
    ) -> Self {
        match json {
            true => Printed::json(report().borrow()),
            false => Printed::text(text()),
        }
    }

    /// A document in a language of its own, which escapes what it quotes, or quotes nothing.
    pub fn document(text: String) -> Self {
        Printed(text)
    }
}

/// Writes to standard output. A closed pipe is no error.
pub fn print(printed: &Printed) -> Result<(), Error> {
    print_on(printed).map(|_| ())
}

/// Writes text in lines to standard error. Without a reader it is lost.
pub fn tell(text: impl AsRef<str>) {
    let _ = std::io::stderr().write_all(shown_lines(text.as_ref()).as_bytes());
}

/// The same, in lines that a terminal does not have to part.
pub fn tell_folded(text: &str) {
    let terminal = terminal_size::terminal_size_of(std::io::stderr());
    let width = terminal.map_or(usize::MAX, |(width, _)| LEAST.max(width.0.into()));
    tell(folded(text, width, 2));
}

/// From here on the message of a panic, which may quote anything, is escaped as all others are.
pub fn tell_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let trace = Backtrace::capture();
        let more = match trace.status() {
            BacktraceStatus::Captured => format!("{trace}\n"),
            _ => String::new(),
        };
        tell(format!("{panic}\n{more}"));
    }));
}

/// The same, for a caller with more output: is the pipe still open?
pub fn print_on(printed: &Printed) -> Result<bool, Error> {
    let mut out = std::io::stdout().lock();
    match out
        .write_all(printed.0.as_bytes())
        .and_then(|()| out.flush())
    {
        Ok(()) => Ok(true),
        Err(why) if why.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(why) => {
            let remedy = "is the disk full, or the output closed?";
            Err(Error::failed("cannot write the results", why, remedy))
        }
    }
}

/// Columns of a line that is not for a terminal.
const ELSEWHERE: usize = 118;

/// The least for which lines are parted.
const LEAST: usize = 60;

/// Columns of a line on standard output: of the terminal, if it is one.
pub fn columns() -> usize {
    let terminal = terminal_size::terminal_size_of(std::io::stdout());
    terminal.map_or(ELSEWHERE, |(width, _)| LEAST.max(width.0.into()))
}

/// May standard output be coloured? It is a terminal, and `NO_COLOR` (no-color.org) is unset or empty.
fn colour() -> bool {
    std::io::stdout().is_terminal() && !no_colour(std::env::var_os("NO_COLOR").as_deref())
}

fn no_colour(variable: Option<&std::ffi::OsStr>) -> bool {
    variable.is_some_and(|value| !value.is_empty())
}

/// Colours the answers in the last column of the targets table: green `yes`, red `NO`.
fn paint(text: &str) -> String {
    let mut painted = String::with_capacity(text.len() + 64);
    for line in text.split_inclusive('\n') {
        let body = line.trim_end_matches('\n');
        let (colour, answer) = match body.rsplit_once("  ") {
            Some((_, answer)) if answer.trim() == "yes" => ("32", answer.trim()),
            Some((_, answer)) if answer.trim() == "NO" => ("31", answer.trim()),
            _ => {
                painted += line;
                continue;
            }
        };
        let kept = &body[..body.len() - answer.len()];
        painted += &format!("{kept}\x1b[{colour}m{answer}\x1b[0m\n");
    }
    painted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_painted_and_nothing_else() {
        assert_eq!(paint("a  1  yes\n"), "a  1  \x1b[32myes\x1b[0m\n");
        assert_eq!(paint("a  1   NO\n"), "a  1   \x1b[31mNO\x1b[0m\n");
        assert_eq!(
            paint("NO grace periods\nsays yes\n"),
            "NO grace periods\nsays yes\n"
        );
    }

    #[test]
    fn text_is_escaped_and_json_is_not_changed() {
        assert_eq!(Printed::text("a\x1b[2J\u{9b}\n").0, "a\\x1b[2J\\u{9b}\n");
        let mut report = Report::new("a\u{9b}", 0);
        report.option("name", "\u{202e}");
        assert_eq!(Printed::json(&report).0, report.to_json() + "\n");
    }

    #[test]
    fn no_color_counts_when_not_empty() {
        assert!(no_colour(Some("1".as_ref())));
        assert!(!no_colour(Some("".as_ref())));
        assert!(!no_colour(None));
    }
}
