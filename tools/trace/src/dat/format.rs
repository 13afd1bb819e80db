//! What the events of a file look like: the kernel's own `format` files.
//!
//! ```text
//! name: kmem_cache_free
//! ID: 656
//! format:
//!     field:unsigned short common_type;  offset:0;  size:2;  signed:0;
//!     ...
//!     field:__data_loc char[] name;      offset:24; size:4;  signed:0;
//! ```
//!
//! A kernel has thousands of them, and few say something here: of the others the name is kept. Offsets and
//! sizes are only believed as far as the event's bytes go.

use super::walk::{Walk, damaged, number};
use crate::event::{Text, needs};
use std::collections::HashMap;
use std::io::{self, Read};

/// Bytes of all formats together.
const FORMATS_MOST: u64 = 16 << 20;

/// How many there may be.
const COUNT_MOST: usize = 1 << 16;

/// Bytes of an event.
const EVENT_MOST: usize = 1 << 24;

/// Bytes of one.
const FORMAT_MOST: u64 = 256 << 10;

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A number, or numbers side by side.
    Number,
    /// Text in place, up to a zero; with size 0 up to the end of the event.
    Text,
    /// Text elsewhere in the event: `__data_loc`, or `__rel_loc`, which counts from behind the field.
    Elsewhere {
        /// Counts from behind the field.
        relative: bool,
    },
    /// The address of a string that does not change.
    Pointer,
}

/// A field of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) offset: usize,
    pub(super) size: usize,
    /// Bytes of an element, where it is an array.
    element: usize,
    signed: bool,
}

impl Field {
    /// `unsigned short common_type;  offset:0;  size:2;  signed:0;`
    pub(super) fn parse(line: &str) -> Option<Field> {
        let (declaration, rest) = line.split_once(';')?;
        let attribute = |name: &str| {
            let rest = rest.split(';').find_map(|a| a.trim().strip_prefix(name))?;
            rest.strip_prefix(':')?.parse::<usize>().ok()
        };
        let (offset, size) = (attribute("offset")?, attribute("size")?);
        if offset > EVENT_MOST || size > EVENT_MOST {
            return None;
        }
        let declaration = declaration.trim();
        let (before, array) = match declaration.split_once('[') {
            // `char name[16]`, or `__data_loc char[] name`.
            Some((before, after)) => (before, Some(after.split_once(']')?)),
            None => (declaration, None),
        };
        let (kind, name, count) = match array {
            Some((count, name)) if !name.trim().is_empty() => (before, name.trim(), count),
            Some((count, _)) => {
                let (kind, name) = before.trim().rsplit_once([' ', '*'])?;
                (kind, name, count)
            }
            None => {
                let (_, name) = before.rsplit_once([' ', '*'])?;
                (&before[..before.len() - name.len()], name, "")
            }
        };
        let elsewhere = kind.starts_with("__data_loc") || kind.starts_with("__rel_loc");
        let chars = kind.split_whitespace().any(|w| w == "char");
        let pointer = kind.trim_end().ends_with('*');
        Some(Field {
            name: name.to_owned(),
            kind: match array {
                _ if elsewhere => Kind::Elsewhere {
                    relative: kind.starts_with("__rel_loc"),
                },
                Some(_) if chars => Kind::Text,
                None if pointer && chars => Kind::Pointer,
                _ => Kind::Number,
            },
            offset,
            size,
            element: match count.trim().parse::<usize>() {
                Ok(count) if count > 0 => size / count,
                _ => size,
            },
            signed: attribute("signed") == Some(1),
        })
    }

    /// Its number in an event; a negative one has its 64 bits.
    pub(super) fn number(&self, event: &[u8], big: bool) -> Option<u64> {
        self.element(event, 0, big)
    }

    /// The number of an element of it.
    pub(super) fn element(&self, event: &[u8], index: usize, big: bool) -> Option<u64> {
        let size = self.element;
        if !matches!(size, 1 | 2 | 4 | 8) {
            return None;
        }
        let start = self.offset.checked_add(index.checked_mul(size)?)?;
        // An array has no more elements than its size tells.
        if self.size > 0 && start + size > self.offset + self.size {
            return None;
        }
        let bytes = event.get(start..start.checked_add(size)?)?;
        let plain = number(bytes, big);
        let unused = 64 - 8 * size as u32;
        Some(match self.signed {
            true => ((plain << unused) as i64 >> unused) as u64,
            false => plain,
        })
    }

    /// The bytes of its text, without the zero at the end.
    pub(super) fn text<'a>(&self, event: &'a [u8], big: bool) -> Option<&'a [u8]> {
        let bytes = match self.kind {
            Kind::Text if self.size == 0 => event.get(self.offset..)?,
            Kind::Text => event.get(self.offset..self.offset.checked_add(self.size)?)?,
            Kind::Elsewhere { relative } => {
                let at = event.get(self.offset..self.offset.checked_add(4)?)?;
                let at = number(at, big);
                let (mut start, length) = ((at & 0xffff) as usize, (at >> 16) as usize);
                if relative {
                    start += self.offset + 4;
                }
                event.get(start..start.checked_add(length)?)?
            }
            Kind::Number | Kind::Pointer => return None,
        };
        let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
        Some(&bytes[..end])
    }
}

/// An event's format: its name, and what its event is made of, with the fields that it has.
#[derive(Debug)]
pub(super) struct Format {
    pub(super) name: String,
    pub(super) needs: Vec<(Option<Text>, Option<Field>)>,
}

impl Format {
    pub(super) fn parse(text: &str) -> Option<Format> {
        let name = text.lines().find_map(|l| l.strip_prefix("name:"))?.trim();
        let field = |name| fields(text).find(|f| f.name == name);
        let needs = needs(name).into_iter();
        Some(Format {
            name: name.replace(|c: char| c.is_ascii_control(), " "),
            needs: needs.map(|(name, how)| (how, field(name))).collect(),
        })
    }
}

/// The fields in a text.
pub(super) fn fields(text: &str) -> impl Iterator<Item = Field> + '_ {
    let lines = text.lines().map(str::trim);
    lines.filter_map(|line| line.strip_prefix("field:").and_then(Field::parse))
}

/// The formats of a file, by the events' numbers.
#[derive(Default)]
pub(super) struct Formats {
    by_id: HashMap<u64, Format>,
    /// Where the fields that all events have stand, from the first format.
    common: Vec<Field>,
    bytes: u64,
}

impl Formats {
    /// A number of formats, and these.
    pub(super) fn read_all<R: Read>(&mut self, walk: &mut Walk<R>) -> io::Result<()> {
        for _ in 0..walk.u32()? {
            self.read_one(walk)?;
        }
        Ok(())
    }

    /// Reads one: a size and a text.
    fn read_one<R: Read>(&mut self, walk: &mut Walk<R>) -> io::Result<()> {
        let place = walk.place;
        let size = walk.u64()?;
        self.bytes = self.bytes.saturating_add(size);
        if self.bytes > FORMATS_MOST {
            let why = format_args!("more than {FORMATS_MOST} bytes of event formats");
            return Err(damaged(place, why));
        }
        if self.by_id.len() >= COUNT_MOST {
            return Err(damaged(place, "more than 65536 event formats"));
        }
        let text = walk.bytes(size, FORMAT_MOST, "an event format")?;
        let text = String::from_utf8_lossy(&text);
        let id = text.lines().find_map(|l| l.strip_prefix("ID:"));
        let Some(id) = id.and_then(|id| id.trim().parse().ok()) else {
            return Err(damaged(place, "an event format without an ID"));
        };
        if self.common.is_empty() {
            let common = fields(&text).take_while(|f| f.name.starts_with("common_"));
            self.common = common.collect();
        }
        if let Some(format) = Format::parse(&text) {
            self.by_id.insert(id, format);
        }
        Ok(())
    }

    /// The format of an event's number.
    pub(super) fn get(&self, id: u64) -> Option<&Format> {
        self.by_id.get(&id)
    }

    /// A field that all events have.
    pub(super) fn common(&self, name: &str) -> Option<&Field> {
        self.common.iter().find(|f| f.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_every_kind() {
        let field = |line| Field::parse(line).expect("a field");
        let pid = field("int common_pid;\toffset:4;\tsize:4;\tsigned:1;");
        assert_eq!((pid.name.as_str(), pid.kind), ("common_pid", Kind::Number));
        let event = [0, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff];
        assert_eq!(pid.number(&event, false), Some(-2i64 as u64));
        assert_eq!(pid.number(&event, true), Some(-0x0100_0001i64 as u64));
        assert_eq!(pid.number(&event[..7], false), None);
        let comm = field("char prev_comm[16];\toffset:0;\tsize:16;\tsigned:0;");
        assert_eq!((comm.name.as_str(), comm.kind), ("prev_comm", Kind::Text));
        let s = field("const char * s;\toffset:8;\tsize:8;\tsigned:0;");
        assert_eq!((s.name.as_str(), s.kind), ("s", Kind::Pointer));
        let function = field("void *function;\toffset:8;\tsize:8;\tsigned:0;");
        assert_eq!(
            (function.name.as_str(), function.kind),
            ("function", Kind::Number)
        );
        let name = field("__data_loc char[] name;\toffset:0;\tsize:4;\tsigned:0;");
        assert_eq!(name.name, "name");
        let event = [4, 0, 3, 0, b'a', b'b', 0];
        assert_eq!(name.text(&event, false), Some(&b"ab"[..]));
        assert_eq!(name.text(&event[..6], false), None);
        let args = field("unsigned long args[6];\toffset:0;\tsize:48;\tsigned:0;");
        let event: Vec<u8> = (0..64).collect();
        assert_eq!(args.element(&event, 6, false), None);
        assert_eq!(args.element(&event, 5, true), Some(0x2829_2a2b_2c2d_2e2f));
        let relative = field("__rel_loc char[] name;\toffset:0;\tsize:4;\tsigned:0;");
        assert_eq!(
            relative.text(&[1, 0, 2, 0, 9, b'x', 0], false),
            Some(&b"x"[..])
        );
    }

    #[test]
    fn what_is_no_field_is_none() {
        for line in [
            "",
            "int",
            "int a",
            "int a; offset:x; size:1;",
            "int a[;offset:0;size:1;",
        ] {
            assert_eq!(Field::parse(line), None, "{line}");
        }
    }
}
