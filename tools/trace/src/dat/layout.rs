//! Where everything is in a file, of version 6 or 7.
//!
//! Version 6 is one part after the other, in a fixed order. Version 7 has sections, each perhaps compressed,
//! and chains of options that say where they are. The bytes of a part are the same in both, so one function
//! reads each kind (`header_info`, `formats`, ...). Written after trace-cmd.dat.v6(5) and
//! trace-cmd.dat.v7(5), and, where those are silent (buffers of instances in version 6, the clock behind the
//! table of CPUs), after files that trace-cmd 3.1.6 wrote.
//!
//! A file of version 7 may have nothing in its first buffer and all of it in an instance: all buffers are
//! taken.

use super::format::{Formats, fields};
use super::pack::Packing;
use super::page::Shape;
use super::symbols::{self, Symbols};
use super::walk::{File, Place, Walk, damaged, unsupported};
use std::collections::HashMap;
use std::io::{self, Read};

/// The first bytes of every trace.dat.
pub(crate) const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// Buffers of a file.
const BUFFERS_MOST: usize = 256;

/// CPUs of a buffer.
const CPUS_MOST: u32 = 1 << 16;

/// Options of a file, of all chains.
const OPTIONS_MOST: u32 = 1 << 18;

/// Bytes of one option.
const OPTION_MOST: u64 = 8 << 20;

/// Bytes of all options.
const OPTIONS_BYTES_MOST: u64 = 16 << 20;

/// CPUs with data, of all buffers.
const STREAMS_MOST: usize = 1 << 14;

/// Names in headers.
const NAME_MOST: usize = 4096;

/// Bytes of `header_page` and `header_event`.
const HEADER_MOST: u64 = 64 << 10;

/// Bytes of a page of the ring buffer.
const PAGE_MOST: u32 = 4 << 20;

/// The data of a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Data {
    pub(super) cpu: u32,
    pub(super) offset: u64,
    pub(super) size: u64,
}

/// A buffer: the first one, without a name, or that of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Buffer {
    pub(super) name: String,
    pub(super) clock: String,
    pub(super) page_size: usize,
    /// Its data comes in compressed chunks.
    pub(super) chunked: bool,
    pub(super) cpus: Vec<Data>,
}

/// A file, as far as it is read before its events.
#[derive(Default)]
pub(super) struct Layout {
    pub(super) packing: Packing,
    pub(super) shape: Shape,
    pub(super) cpus: u32,
    pub(super) formats: Formats,
    pub(super) symbols: Symbols,
    pub(super) strings: HashMap<u64, String>,
    pub(super) tasks: HashMap<u32, String>,
    pub(super) buffers: Vec<Buffer>,
    /// Nanoseconds that are added to every time.
    pub(super) time_offset: i64,
    /// Options that change times and are not followed.
    pub(super) not_applied: Vec<&'static str>,
    /// Events that the kernel dropped, by buffer and CPU.
    pub(super) dropped: HashMap<(String, u32), u64>,
    /// The buffer that statistics are about.
    stats_of: String,
    page_size: usize,
}

impl Layout {
    pub(super) fn read(file: &mut File) -> io::Result<Layout> {
        let mut walk = file.walk(0, file.length, false)?;
        let start: [u8; 10] = walk.array()?;
        if start != MAGIC {
            return Err(damaged("byte 0", "not the start of a trace.dat"));
        }
        let place = walk.place;
        let version = match walk.text(16)?.as_str() {
            "6" => 6,
            "7" => 7,
            other => {
                let why = format!("version `{other}`; versions 6 and 7 are read");
                return Err(unsupported(place, why));
            }
        };
        let place = walk.place;
        let big = match walk.array()? {
            [0] => false,
            [1] => true,
            [other] => return Err(damaged(place, format_args!("{other} is no order of bytes"))),
        };
        walk.big = big;
        let place = walk.place;
        let [long] = walk.array()?;
        if !matches!(long, 4 | 8) {
            return Err(damaged(place, format_args!("a `long` of {long} bytes")));
        }
        let place = walk.place;
        let page_size = page_size(walk.u32()?, place)?;
        let long = usize::from(long);
        let mut layout = Layout {
            shape: Shape {
                big,
                long,
                commit: 8,
                data: 8 + long,
            },
            page_size,
            ..Layout::default()
        };
        if version == 6 {
            let instances = layout.version_6(&mut walk)?;
            layout.instances_6(file, instances)?;
        } else {
            let place = walk.place;
            layout.packing = Packing::of(&walk.text(64)?, place)?;
            walk.text(64)?;
            let options = walk.u64()?;
            layout.version_7(file, options)?;
        }
        Ok(layout)
    }

    fn add(&mut self, buffer: Buffer, place: Place) -> io::Result<()> {
        self.buffers.push(buffer);
        let streams: usize = self.buffers.iter().map(|b| b.cpus.len()).sum();
        if self.buffers.len() > BUFFERS_MOST || streams > STREAMS_MOST {
            let why = format_args!(
                "more than {BUFFERS_MOST} buffers, or than {STREAMS_MOST} CPUs of them"
            );
            return Err(damaged(place, why));
        }
        Ok(())
    }

    /// Options that both versions have, and that matter. The others are passed over.
    fn option(&mut self, id: u16, data: &[u8], place: Place) {
        let text = super::walk::lossy(data);
        let text = text.trim_matches(['\0', '\n', ' ']);
        match id {
            2 => self.stats(text),
            7 => self.time_offset = text.parse().unwrap_or(0),
            8 => {
                let count = Walk::new(data, place, self.shape.big).u32().unwrap_or(0);
                self.cpus = self.cpus.max(count.min(CPUS_MOST));
            }
            // The clock of a host for the events of a guest, and nanoseconds for a counter of cycles.
            12 => self.not_applied("TIME_SHIFT"),
            14 => self.not_applied("TSC2NSEC"),
            _ => {}
        }
    }

    fn not_applied(&mut self, option: &'static str) {
        if !self.not_applied.contains(&option) {
            self.not_applied.push(option);
        }
    }

    /// `per_cpu/cpuN/stats`, or `Buffer: name` before those of an instance.
    fn stats(&mut self, text: &str) {
        if let Some(name) = text.strip_prefix("Buffer:") {
            self.stats_of = name.trim().chars().take(256).collect();
            return;
        }
        let value = |name: &str| {
            let line = text.lines().find_map(|l| l.strip_prefix(name))?;
            line.strip_prefix(':')?.trim().parse::<u64>().ok()
        };
        let Some(cpu) = value("CPU").and_then(|cpu| u32::try_from(cpu).ok()) else {
            return;
        };
        let lost = ["overrun", "commit overrun", "dropped events"]
            .iter()
            .filter_map(|name| value(name))
            .fold(0, u64::saturating_add);
        if lost > 0 && self.dropped.len() < CPUS_MOST as usize {
            self.dropped.insert((self.stats_of.clone(), cpu), lost);
        }
    }

    fn header_info<R: Read>(&mut self, walk: &mut Walk<R>) -> io::Result<()> {
        for name in ["header_page", "header_event"] {
            let place = walk.place;
            if walk.text(32)? != name {
                return Err(damaged(place, format_args!("`{name}` does not start here")));
            }
            let size = walk.u64()?;
            let text = walk.bytes(size, HEADER_MOST, name)?;
            if name == "header_page" {
                self.page_header(&super::walk::lossy(&text));
            }
        }
        Ok(())
    }

    /// Where a page has its words, if the text says it.
    fn page_header(&mut self, text: &str) {
        for field in fields(text) {
            match field.name.as_str() {
                "commit" if matches!(field.size, 4 | 8) => {
                    self.shape.long = field.size;
                    self.shape.commit = field.offset.min(64);
                }
                "data" => self.shape.data = field.offset.min(128),
                _ => {}
            }
        }
    }

    /// One of the sections [`HEADER_INFO`] to [`CMDLINES`].
    fn section<R: Read>(&mut self, id: u16, walk: &mut Walk<R>) -> io::Result<()> {
        match id {
            HEADER_INFO => self.header_info(walk)?,
            FTRACE_FORMATS => self.formats.read_all(walk)?,
            EVENT_FORMATS => {
                for _ in 0..walk.u32()? {
                    walk.text(NAME_MOST)?;
                    self.formats.read_all(walk)?;
                }
            }
            KALLSYMS => {
                let size = walk.u32()?.into();
                self.symbols.read(&table(walk, size, "symbols")?);
            }
            PRINTK => {
                let size = walk.u32()?.into();
                self.strings = symbols::strings(&table(walk, size, "strings")?);
            }
            _ => {
                let size = walk.u64()?;
                self.tasks = symbols::tasks(&table(walk, size, "names of tasks")?);
            }
        }
        Ok(())
    }
}

mod version_6;
mod version_7;

const BUFFER: u16 = 3;
const HEADER_INFO: u16 = 16;
const FTRACE_FORMATS: u16 = 17;
const EVENT_FORMATS: u16 = 18;
const KALLSYMS: u16 = 19;
const PRINTK: u16 = 20;
const CMDLINES: u16 = 21;
const BUFFER_TEXT: u16 = 22;

const LATENCY: &str = "the report of a latency tracer, no events";

/// Bytes of a table of names.
const TABLE_MOST: u64 = 24 << 20;

fn table<R: Read>(walk: &mut Walk<R>, size: u64, what: &str) -> io::Result<String> {
    let bytes = walk.bytes(size, TABLE_MOST, format_args!("a table of {what}"))?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|e| super::walk::lossy(e.as_bytes())))
}

fn cpus(count: u32, place: Place) -> io::Result<u32> {
    if count > CPUS_MOST {
        return Err(damaged(place, format_args!("{count} CPUs")));
    }
    Ok(count)
}

fn page_size(size: u32, place: Place) -> io::Result<usize> {
    if !(512..=PAGE_MOST).contains(&size) {
        return Err(damaged(place, format_args!("pages of {size} bytes")));
    }
    Ok(size as usize)
}

/// `[local] global counter`: the one in brackets, or all of it.
fn chosen_clock(text: &str) -> String {
    let text = text.trim_matches(['\0', '\n', ' ']);
    let chosen = text
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    chosen.map_or(text, |(clock, _)| clock).to_owned()
}
