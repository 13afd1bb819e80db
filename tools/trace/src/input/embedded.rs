//! ftrace text inside of another file: a page of systrace, or Chrome's JSON.
//!
//! Of a page every line outside of the trace becomes a blank one, so that lines keep their numbers; of JSON
//! the text `systemTraceEvents` is all that is read. Memory is one line of a page, and a few bytes of JSON.

use crate::base::LINE_MOST;
use std::io::{self, BufRead, BufReader, Read};

/// The key of the text in Chrome's JSON.
const KEY: &[u8] = b"systemTraceEvents";

/// The text.
pub(super) struct Embedded {
    input: Box<dyn BufRead + Send>,
    /// Text that was not handed out yet, and how much of it was.
    text: Vec<u8>,
    used: usize,
    within: Within,
}

/// What the text is in.
pub(super) enum Within {
    Page(Page),
    Json(Json),
}

impl Within {
    /// By the first bytes of a file, with words for it.
    pub(super) fn of(start: &[u8]) -> Option<(Self, &'static str)> {
        let start = start.trim_ascii_start().to_ascii_lowercase();
        if start.starts_with(b"<!doctype html") || start.starts_with(b"<html") {
            return Some((Within::Page(Page::Outside), " in a page of systrace"));
        }
        let inside = start.strip_prefix(b"{")?.trim_ascii_start();
        let json = || (Within::Json(Json::default()), " in JSON");
        inside.starts_with(b"\"").then(json)
    }
}

impl Embedded {
    pub(super) fn open(input: Box<dyn BufRead + Send>, within: Within) -> Box<dyn BufRead + Send> {
        let (text, used) = (Vec::new(), 0);
        Box::new(BufReader::new(Embedded {
            input,
            text,
            used,
            within,
        }))
    }

    /// The next piece of the text; nothing at the end.
    fn fill(&mut self) -> io::Result<()> {
        self.text.clear();
        self.used = 0;
        while self.text.is_empty() {
            let more = match &mut self.within {
                Within::Page(page) => page.more(&mut self.input, &mut self.text)?,
                Within::Json(json) => json.more(&mut self.input, &mut self.text)?,
            };
            if !more {
                break;
            }
        }
        Ok(())
    }
}

impl Read for Embedded {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.used == self.text.len() {
            self.fill()?;
        }
        let n = (&self.text[self.used..]).read(bytes)?;
        self.used += n;
        Ok(n)
    }
}

/// Where in a page the reading is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Page {
    Outside,
    /// A script with data begins: its first line says what it is.
    Begins,
    Trace,
    /// Data of another kind, such as a list of processes.
    Other,
}

impl Page {
    fn more(&mut self, input: &mut dyn BufRead, text: &mut Vec<u8>) -> io::Result<bool> {
        let mut line = Vec::new();
        let most = LINE_MOST as u64 + 1;
        if input.take(most).read_until(b'\n', &mut line)? == 0 {
            return Ok(false);
        }
        let start = line.trim_ascii_start();
        if *self != Page::Outside && start.starts_with(b"</script") {
            *self = Page::Outside;
        } else if *self == Page::Begins && !start.is_empty() {
            let other = start.starts_with(b"PROCESS DUMP") || matches!(start[0], b'{' | b'[');
            *self = if other { Page::Other } else { Page::Trace };
        }
        if *self == Page::Trace {
            text.append(&mut line);
            return Ok(true);
        }
        text.extend(line.last().filter(|it| **it == b'\n'));
        if memchr::memmem::find(&line, b"class=\"trace-data\"").is_some() {
            *self = Page::Begins;
        }
        Ok(true)
    }
}

/// How far JSON was read.
#[derive(Default)]
pub(super) struct Json {
    depth: u32,
    /// In a text; behind a backslash in it; the digits of `\u` that are still to come, and their number.
    inside: bool,
    escaped: bool,
    digits: u32,
    number: u32,
    /// The start of the last text, which is a key if a colon follows.
    last: Vec<u8>,
    key: bool,
    /// In the text that is wanted, or behind it.
    found: bool,
    over: bool,
}

impl Json {
    fn more(&mut self, input: &mut dyn BufRead, text: &mut Vec<u8>) -> io::Result<bool> {
        let bytes = input.fill_buf()?;
        if bytes.is_empty() && !self.over {
            let why = match self.found {
                true => "the text `systemTraceEvents` has no end",
                false => {
                    "this is JSON without a text `systemTraceEvents`, and nothing else of it is read"
                }
            };
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        let used = bytes.len();
        for byte in bytes {
            if self.over {
                break;
            }
            self.step(*byte, text);
        }
        let more = used > 0 && !self.over;
        input.consume(used);
        Ok(more)
    }

    fn step(&mut self, byte: u8, text: &mut Vec<u8>) {
        if !self.inside {
            match byte {
                b'"' => {
                    self.found = self.key && self.depth == 1 && self.last == KEY;
                    self.inside = true;
                    self.last.clear();
                }
                b'{' | b'[' => self.depth = self.depth.saturating_add(1),
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            // Blanks may stand between a colon and its text.
            self.key = byte == b':' || self.key && byte.is_ascii_whitespace();
        } else if self.escaped {
            self.escaped = false;
            match byte {
                b'u' => (self.digits, self.number) = (4, 0),
                b'n' => self.push(b"\n", text),
                b't' => self.push(b"\t", text),
                b'r' | b'b' | b'f' => self.push(b" ", text),
                other => self.push(&[other], text),
            }
        } else if self.digits > 0 {
            self.digits -= 1;
            self.number = self.number << 4 | char::from(byte).to_digit(16).unwrap_or(0);
            if self.digits == 0 {
                let letter = char::from_u32(self.number).unwrap_or('?');
                self.push(letter.encode_utf8(&mut [0; 4]).as_bytes(), text);
            }
        } else if byte == b'"' {
            self.inside = false;
            self.over = self.found;
        } else if byte == b'\\' {
            self.escaped = true;
        } else {
            self.push(&[byte], text);
        }
    }

    /// A letter of a text: only the one that is wanted is kept, and of others enough to compare with its key.
    fn push(&mut self, letter: &[u8], text: &mut Vec<u8>) {
        if self.found {
            text.extend_from_slice(letter);
        } else if self.last.len() <= KEY.len() {
            self.last.extend_from_slice(letter);
        }
    }
}
