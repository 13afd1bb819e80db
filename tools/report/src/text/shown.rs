//! Text from outside, made safe for a terminal.
//!
//! Names of tasks, functions and files, and the errors that quote them, are chosen by others: a task names
//! itself. An escape sequence in one clears a screen or sets a title, a mark of direction reverses what
//! follows it, a line feed makes a line of its own. So all of these are shown as escapes, to a terminal and
//! to a pipe alike. A backslash stays as it is: text that was escaped is not changed again, and what needs
//! the name itself takes JSON, which escapes in its own way.

use std::borrow::Cow;
use std::fmt::Write;

/// One line: everything that is not a visible letter becomes an escape, line feeds too.
///
/// ```
/// use quiescent_report::text::shown;
/// assert_eq!(shown("\x1b[2J\x07a\nb \u{202e}c\u{9b}"), r"\x1b[2J\x07a\nb \u{202e}c\u{9b}");
/// assert_eq!(shown("µs of kworker/0:1"), "µs of kworker/0:1");
/// ```
pub fn shown(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// Text that was laid out in lines: its line feeds stay.
///
/// ```
/// use quiescent_report::text::shown_lines;
/// assert_eq!(shown_lines("a\x00\n\x7fb\r\n"), "a\\x00\n\\x7fb\\r\n");
/// ```
pub fn shown_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |letter| letter == '\n')
}

/// One line of bytes: what is no UTF-8 becomes an escape as well.
///
/// ```
/// use quiescent_report::text::shown_bytes;
/// assert_eq!(shown_bytes(b"gr\xc3\xbcn\xff\n"), "grün\\xff\\n");
/// ```
pub fn shown_bytes(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = str::from_utf8(bytes) {
        return shown(text);
    }
    let mut all = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        all += &shown(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(all, "\\x{byte:02x}");
        }
    }
    all.into()
}

fn escaped(text: &str, is_kept: fn(char) -> bool) -> Cow<'_, str> {
    let is_safe = |letter: char| !is_hidden(letter) || is_kept(letter);
    let Some(first) = text.find(|letter| !is_safe(letter)) else {
        return text.into();
    };
    let mut all = String::with_capacity(text.len() + 16);
    all += &text[..first];
    for letter in text[first..].chars() {
        let _ = match letter {
            letter if is_safe(letter) => all.write_char(letter),
            '\n' => all.write_str("\\n"),
            '\r' => all.write_str("\\r"),
            '\t' => all.write_str("\\t"),
            '\0'..='\x7f' => write!(all, "\\x{:02x}", u32::from(letter)),
            _ => write!(all, "\\u{{{:x}}}", u32::from(letter)),
        };
    }
    all.into()
}

/// A letter that a terminal obeys, or that is not seen: C0, DEL and C1; marks of direction; separators of
/// lines; what has no width.
fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        let hidden = (0..=0x10_ffff)
            .filter_map(char::from_u32)
            .filter(|it| is_hidden(*it));
        let all: String = hidden.collect();
        for part in [
            "\x1b", "\0", "\x7f", "\u{85}", "\u{9b}", "\u{202e}", "\u{2066}", "\u{2028}",
        ] {
            assert!(all.contains(part), "{part:?}");
        }
        let text = shown(&all).into_owned();
        assert!(
            text.bytes().all(|it| (b' '..=b'~').contains(&it)),
            "{text:?}"
        );
        assert_eq!(shown(&text), text, "escaped once, and not again");
        assert_eq!(shown_lines("a\n\tb"), "a\n\\tb");
    }

    #[test]
    fn letters_of_all_scripts_stay() {
        let text = "Ωμέγα שלום 漢字 e\u{301} 🦀 — “x” \u{a0}";
        assert!(matches!(shown(text), Cow::Borrowed(it) if it == text));
    }

    #[test]
    fn every_sequence_of_bytes_becomes_visible() {
        let bytes: Vec<u8> = (0..=255).rev().collect();
        let text = shown_bytes(&bytes);
        assert!(
            text.bytes().all(|it| (b' '..=b'~').contains(&it)),
            "{text:?}"
        );
        // A letter that was cut in half, as names of fifteen bytes are.
        assert_eq!(
            shown_bytes("nam\u{e9}".as_bytes().split_last().unwrap().1),
            "nam\\xc3"
        );
    }
}
