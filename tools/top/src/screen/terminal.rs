//! The terminal: raw mode and the alternate screen while it is taken, lines drawn on it, and keys.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

/// A key that has been pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// A letter.
    Letter(char),
    /// A letter, with Ctrl.
    Control(char),
    Enter,
    Escape,
    Backspace,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    /// One without a meaning here.
    Other,
}

/// The look of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    Plain,
    Bold,
    Reversed,
}

/// A line of the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) text: String,
    pub(crate) look: Look,
}

impl From<String> for Line {
    fn from(text: String) -> Line {
        let look = Look::Plain;
        Line { text, look }
    }
}

/// The alternate screen without a cursor, where long lines do not go on in the next; and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";

/// The modes of the terminal before it was taken.
static MODES: Mutex<Option<libc::termios>> = Mutex::new(None);

/// The terminal of standard input and output, taken. [`restore`] gives it back.
#[derive(Debug, Default)]
pub(crate) struct Terminal {
    /// What is on it.
    lines: Vec<Line>,
    /// What has been typed and not been read as keys.
    typed: Vec<u8>,
}

impl Terminal {
    /// Takes it, whatever its modes and contents are.
    pub(crate) fn take() -> io::Result<Terminal> {
        restore();
        // SAFETY: all zeroes are a value of it, and it is written by the call.
        let mut modes: libc::termios = unsafe { std::mem::zeroed() };
        // SAFETY: a place of ours.
        if unsafe { libc::tcgetattr(libc::STDIN_FILENO, &raw mut modes) } != 0 {
            return Err(io::Error::last_os_error());
        }
        *MODES.lock().unwrap_or_else(PoisonError::into_inner) = Some(modes);
        // SAFETY: modes of a terminal.
        unsafe { libc::cfmakeraw(&raw mut modes) };
        set(&modes)?;
        let mut out = io::stdout();
        out.write_all(ENTER.as_bytes())?;
        out.flush()?;
        Ok(Terminal::default())
    }

    /// Columns and lines; 80 by 24 where they are not known.
    pub(crate) fn size(&self) -> (usize, usize) {
        // SAFETY: all zeroes are a value of it.
        let mut size: libc::winsize = unsafe { std::mem::zeroed() };
        // SAFETY: this request writes a size, to a place of ours.
        unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size) };
        match (size.ws_col, size.ws_row) {
            (0, _) | (_, 0) => (80, 24),
            (columns, lines) => (columns.into(), lines.into()),
        }
    }

    /// Draws those lines that are not on the screen yet.
    pub(crate) fn draw(&mut self, lines: Vec<Line>) -> io::Result<()> {
        let (width, _) = self.size();
        let mut all = String::new();
        if lines.len() != self.lines.len() {
            self.lines.clear();
            all += "\x1b[2J";
        }
        for (at, line) in lines.iter().enumerate() {
            if self.lines.get(at) == Some(line) {
                continue;
            }
            let text: String = line.text.chars().take(width).collect();
            let look = match line.look {
                Look::Plain => "",
                Look::Bold => "\x1b[1m",
                Look::Reversed => "\x1b[7m",
            };
            all += &format!("\x1b[{};1H\x1b[2K{look}{text}\x1b[0m", at + 1);
        }
        self.lines = lines;
        let mut out = io::stdout().lock();
        out.write_all(all.as_bytes())?;
        out.flush()
    }

    /// The next key; none if nothing has been typed.
    pub(crate) fn key(&mut self) -> io::Result<Option<Key>> {
        if self.typed.is_empty() && polled(libc::POLLIN, 0) & libc::POLLIN != 0 {
            let mut typed = [0; 256];
            // SAFETY: a place of ours, of this size.
            let n =
                unsafe { libc::read(libc::STDIN_FILENO, typed.as_mut_ptr().cast(), typed.len()) };
            let n = usize::try_from(n).map_err(|_| io::Error::last_os_error())?;
            self.typed.extend_from_slice(&typed[..n]);
        }
        let (key, length) = match first_key(&self.typed) {
            Some(found) => found,
            None => return Ok(None),
        };
        self.typed.drain(..length);
        Ok(Some(key))
    }
}

/// Gives the terminal back, if it is taken.
pub(crate) fn restore() {
    let modes = MODES.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(modes) = modes {
        let mut out = io::stdout();
        let _ = out.write_all(LEAVE.as_bytes()).and_then(|()| out.flush());
        let _ = set(&modes);
    }
}

fn set(modes: &libc::termios) -> io::Result<()> {
    // SAFETY: modes of ours.
    match unsafe { libc::tcsetattr(libc::STDIN_FILENO, libc::TCSANOW, modes) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// What `poll` says of standard input and output, after at most so many milliseconds.
pub(crate) fn polled(input: libc::c_short, ms: libc::c_int) -> libc::c_short {
    let asked = |fd, events| libc::pollfd {
        fd,
        events,
        revents: 0,
    };
    let mut both = [
        asked(libc::STDIN_FILENO, input),
        asked(libc::STDOUT_FILENO, 0),
    ];
    // SAFETY: two entries of ours.
    unsafe { libc::poll(both.as_mut_ptr(), 2, ms) };
    both[0].revents | both[1].revents
}

/// The first key of what was typed, and its length in bytes.
fn first_key(typed: &[u8]) -> Option<(Key, usize)> {
    let key = match *typed.first()? {
        b'\x1b' => return Some(escape(typed)),
        b'\r' | b'\n' => Key::Enter,
        b'\x7f' | b'\x08' => Key::Backspace,
        code @ 1..=26 => Key::Control(char::from(b'a' + code - 1)),
        _ => {
            let letters = typed.utf8_chunks().next()?;
            let letter = letters.valid().chars().next();
            return Some(match letter {
                Some(letter) => (Key::Letter(letter), letter.len_utf8()),
                None => (Key::Other, letters.invalid().len()),
            });
        }
    };
    Some((key, 1))
}

/// A key that sends several bytes: `ESC [` or `ESC O`, numbers, and a last byte. The key Esc sends one.
fn escape(typed: &[u8]) -> (Key, usize) {
    if !matches!(typed.get(1), Some(b'[' | b'O')) {
        return (Key::Escape, 1);
    }
    let Some(last) = typed[2..].iter().position(|it| (b'@'..=b'~').contains(it)) else {
        return (Key::Other, typed.len());
    };
    let key = match &typed[2..=2 + last] {
        b"A" => Key::Up,
        b"B" => Key::Down,
        b"H" | b"1~" | b"7~" => Key::Home,
        b"5~" => Key::PageUp,
        b"6~" => Key::PageDown,
        _ => Key::Other,
    };
    (key, last + 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_one_after_the_other() {
        let mut typed =
            "s/\u{fc}\r\x7f\x03\x1b[A\x1bOB\x1b[5~\x1b[6~\x1b[H\x1b[1;5Cq\x1b".as_bytes();
        let mut keys = Vec::new();
        while let Some((key, length)) = first_key(typed) {
            keys.push(key);
            typed = &typed[length..];
        }
        let letter = Key::Letter;
        let lines = [Key::Up, Key::Down, Key::PageUp, Key::PageDown, Key::Home];
        let first = [letter('s'), letter('/'), letter('\u{fc}')];
        let control = [Key::Enter, Key::Backspace, Key::Control('c')];
        let last = [Key::Other, letter('q'), Key::Escape];
        assert_eq!(keys, [&first[..], &control, &lines, &last].concat());
        assert_eq!(first_key(b"\xffq"), Some((Key::Other, 1)));
        assert_eq!(first_key(b"\x1b[1"), Some((Key::Other, 3)));
    }
}
