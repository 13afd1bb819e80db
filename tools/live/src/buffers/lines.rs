//! The kernel's lines, out of a text in which names of tasks stand as they are.
//!
//! The kernel prints a name raw, and a task gives itself one of 15 bytes. A line feed in it would part a
//! record, and what follows would be read as a record of its own. So a line feed ends a record only where
//! the next one begins, which a name cannot imitate: 16 bytes for the task (whatever is in them), a dash,
//! its number, and `[cpu]`. Of a name at most 14 bytes stand behind a line feed, so that the dash, which
//! the kernel prints next, is not in the seventeenth place. Losses and the lines of a stack are known by
//! their form. What does not end a record becomes an escape, and so does all else that a terminal would
//! obey.
//!
//! An event that prints a longer text of a user, such as the name of a file that is executed, can still
//! contain a whole record; the events that are recorded by default have none.

use quiescent_report::text::shown_bytes;
use std::borrow::Cow;

/// The bytes that [`start`] looks at, at most.
const LOOK: usize = 64;

/// A record is not longer: what is taken for one, is none.
const MOST: usize = 16 * 1024;

/// Text that arrives in pieces.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    text: Vec<u8>,
}

/// What begins at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    /// A record, with the kernel's columns.
    Record,
    /// A line of a stack.
    Frame,
    /// A loss.
    Lost,
    Unknown,
}

impl Lines {
    /// Adds text, which may be cut anywhere, and returns whole lines: those whose ends are known.
    pub(crate) fn push(&mut self, part: &[u8]) -> Vec<u8> {
        self.text.extend_from_slice(part);
        self.take(false)
    }

    /// The rest, at the end of the trace.
    pub(crate) fn end(&mut self) -> Vec<u8> {
        self.take(true)
    }

    fn take(&mut self, is_end: bool) -> Vec<u8> {
        let mut lines = Vec::with_capacity(self.text.len());
        let mut from = 0;
        while let Some(length) = length(&self.text[from..], is_end) {
            let line = &self.text[from..from + length];
            let (line, end) = match line.strip_suffix(b"\n") {
                Some(line) => (line, &b"\n"[..]),
                None => (line, &b""[..]),
            };
            lines.extend_from_slice(&escaped(line));
            lines.extend_from_slice(end);
            from += length;
        }
        self.text.drain(..from);
        lines
    }
}

/// The bytes of the line at the start of `text`, with its end; none if that is not known yet.
fn length(text: &[u8], is_end: bool) -> Option<usize> {
    if text.is_empty() || (text.len() < LOOK && !is_end) {
        return None;
    }
    let begun = start(text);
    // In a record the first place for an end is behind the task's name.
    let mut from = if begun == Start::Record { 17 } else { 0 };
    loop {
        let end = text[from..].iter().position(|it| *it == b'\n');
        let Some(end) = end.map(|it| from + it + 1) else {
            return (is_end || text.len() > MOST).then_some(text.len());
        };
        if begun != Start::Record || end > MOST {
            return Some(end);
        }
        let rest = &text[end..];
        if rest.len() < LOOK && !is_end {
            return None;
        }
        let is_next = match start(rest) {
            Start::Record | Start::Lost => true,
            Start::Frame => text[..end].ends_with(b"stack trace>\n"),
            Start::Unknown => rest.is_empty(),
        };
        if is_next {
            return Some(end);
        }
        from = end;
    }
}

/// What begins here.
fn start(text: &[u8]) -> Start {
    if text.starts_with(b" => ") {
        return Start::Frame;
    }
    if let Some(rest) = text.strip_prefix(b"CPU:")
        && let Some(rest) = digits(rest).strip_prefix(b" [LOST ")
        && digits(rest).starts_with(b" EVENTS]\n")
    {
        return Start::Lost;
    }
    match has_columns(text) {
        Some(true) => Start::Record,
        _ => Start::Unknown,
    }
}

/// Are these `%16s-%-7d (%7s) [%03d]`?
fn has_columns(text: &[u8]) -> Option<bool> {
    let number = text.get(16..)?.strip_prefix(b"-")?;
    let mut rest = digits(number);
    if rest.len() == number.len() {
        return Some(false);
    }
    rest = rest.trim_ascii_start();
    if let Some(group) = rest.strip_prefix(b"(") {
        let end = group.iter().take(12).position(|it| *it == b')')?;
        rest = group[end + 1..].trim_ascii_start();
    }
    let cpu = rest.strip_prefix(b"[")?;
    let behind = digits(cpu);
    Some(behind.len() < cpu.len() && behind.starts_with(b"] "))
}

/// What follows the digits.
fn digits(text: &[u8]) -> &[u8] {
    &text[text.iter().take_while(|it| it.is_ascii_digit()).count()..]
}

/// A line without what a terminal would obey, but for tabs.
fn escaped(line: &[u8]) -> Cow<'_, [u8]> {
    if line.iter().all(|it| matches!(it, b'\t' | b' '..=b'~')) {
        return line.into();
    }
    // The escapes move the kernel's columns, so that a bracket in the task's name could be taken for `[cpu]`.
    let (task, rest) = match start(line) {
        Start::Record => line.split_at(16),
        _ => line.split_at(0),
    };
    let task = shown_bytes(task).replace('[', "\\x5b");
    let parts = rest.split(|it| *it == b'\t').map(shown_bytes);
    let rest = parts.collect::<Vec<_>>().join("\t");
    (task + &rest).into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record by a task of this name, which wakes another one of this name.
    fn record(name: &str, woken: &str, us: u64) -> String {
        format!(
            "{name:>16}-1234    [003] d.h1.     5.{us:06}: sched_waking: comm={woken} pid=9 prio=120 \
             target_cpu=003\n"
        )
    }

    /// In pieces that end anywhere.
    fn lines(text: &str, size: usize) -> String {
        let mut lines = Lines::default();
        let parts = text.as_bytes().chunks(size);
        let mut all: Vec<u8> = parts.flat_map(|part| lines.push(part)).collect();
        all.extend(lines.end());
        String::from_utf8(all).unwrap()
    }

    #[test]
    fn a_record_is_one_line_whatever_a_task_calls_itself() {
        let names = [
            "a",
            "\n",
            "\n\n\n",
            "\nx-1 [0] 0: a:",
            "\nab\ncd\nef\ngh\ni",
            "x\n",
            "\nCPU:1 [LOST 9",
            "\n => f",
            "\n#",
            "a\n-1 [000] d..",
            "\n              ",
        ];
        for name in names {
            for woken in names {
                let text = [
                    record(name, woken, 1),
                    record("b", woken, 2),
                    record(name, "c", 3),
                ];
                let whole = text.concat();
                let expected: String = text
                    .iter()
                    .map(|it| {
                        let (task, rest) = it[..it.len() - 1].split_at(16);
                        let is_plain = !it[..it.len() - 1].contains('\n');
                        let task = match is_plain {
                            true => task.to_owned(),
                            false => task.replace('[', "\\x5b"),
                        };
                        (task + rest).replace('\n', "\\n") + "\n"
                    })
                    .collect();
                for size in [7, 64, 4096] {
                    assert_eq!(lines(&whole, size), expected, "{name:?} {woken:?}");
                }
                let mut reader = quiescent_trace::Reader::new("test", expected.as_bytes());
                for us in 1..=3 {
                    let read = reader.next_record().unwrap().unwrap();
                    assert_eq!((read.pid, read.cpu), (1234, 3), "{expected}");
                    assert_eq!(read.time_ns, 5_000_000_000 + us * 1000, "{expected}");
                }
            }
        }
    }

    #[test]
    fn what_a_terminal_obeys_is_escaped_and_letters_are_not() {
        let text = record("\x1b[2J\x07", "gr\u{fc}n\u{9b}\t", 1);
        let expected = text.replace("\x1b[", "\\x1b\\x5b").replace('\x07', "\\x07");
        assert_eq!(lines(&text, 50), expected.replace('\u{9b}', "\\u{9b}"));
    }

    #[test]
    fn losses_and_stacks_stay_lines() {
        let stack = record("a", "b", 2).replace("sched_waking: ", "<stack trace>\n");
        let (head, _) = stack.split_once("comm").unwrap();
        let text = record("a", "b", 1) + "CPU:1 [LOST 7 EVENTS]\n" + head + " => f\n => g\n";
        let text = text + &record("a", "b", 3);
        for size in [1, 100, 4096] {
            assert_eq!(lines(&text, size), text);
        }
    }

    #[test]
    fn what_has_no_columns_passes() {
        let text = "# a\n\nb\n".repeat(100) + "without an end";
        assert_eq!(lines(&text, 10), text);
    }
}
