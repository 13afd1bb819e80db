//! Reading the page of a process.
//!
//! The kernel copies the bytes (`pread`), so nothing is mapped, and a process that ends meanwhile does no
//! harm. Nothing on the page is trusted: offsets, lengths and numbers of elements are checked before use, and
//! no part has more elements than a page of this version, which bounds the work of a reading.

use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::time::Duration;

use super::memory_file::open_page_of;
use super::{Function, Snapshot, What};

/// The name of the descriptor.
const NAME: &str = "quiescent-telemetry";
/// The first eight bytes.
const MAGIC: u64 = u64::from_le_bytes(*b"quiescnt");
/// The version of the layout.
const VERSION: u32 = 2;
/// The most bytes of a page.
const MOST_BYTES: u64 = 1 << 20;
/// The most bytes of a text: those of a function's name.
const MOST_TEXT: usize = 160;
/// The most elements of each part.
const MOST_ELEMENTS: [usize; 4] = [64, 64, 256, 512];
/// The number of the first `Srcu` among domains.
const SRCUS: usize = 1 << 13;

/// The telemetry of a process; can be read repeatedly. `quiescent::telemetry` documents the layout.
#[derive(Debug)]
pub struct Source {
    file: File,
}

impl Source {
    /// The telemetry of another process.
    ///
    /// # Errors
    /// There is no such process; it belongs to another user; or its telemetry is off
    /// ([`NotFound`](ErrorKind::NotFound), and the text says how to start it).
    pub fn of(pid: u32) -> io::Result<Source> {
        match open_page_of(pid, NAME) {
            Ok(Some(file)) => Ok(Source { file }),
            Ok(None) => Err(io::Error::new(
                ErrorKind::NotFound,
                format!(
                    "process {pid} counts nothing: start it with QUIESCENT_TELEMETRY=1, or have it call \
                     quiescent::telemetry::start(); or it does not use quiescent"
                ),
            )),
            Err(e) => {
                let text = match e.kind() {
                    ErrorKind::NotFound => format!("there is no process {pid}"),
                    ErrorKind::PermissionDenied => {
                        format!("process {pid} is not yours: look at it as its user, or as root")
                    }
                    ErrorKind::InvalidData => return Err(wrong(e)),
                    _ => format!("process {pid}: {e}"),
                };
                Err(io::Error::new(e.kind(), text))
            }
        }
    }

    /// Reads the page.
    ///
    /// # Errors
    /// It cannot be read, or is not a page of a known version.
    pub fn read(&self) -> io::Result<Snapshot> {
        let size = self.file.metadata()?.len();
        if size > MOST_BYTES {
            return Err(wrong("it is larger than any page"));
        }
        let mut bytes = vec![0; size as usize];
        self.file.read_exact_at(&mut bytes, 0)?;
        parse(&bytes)
    }
}

fn wrong(why: impl fmt::Display) -> io::Error {
    io::Error::new(
        ErrorKind::InvalidData,
        format!("not a page of telemetry: {why}"),
    )
}

/// Bytes with checked access.
#[derive(Clone, Copy)]
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn at(self, at: usize, length: usize) -> io::Result<Bytes<'a>> {
        let end = at.checked_add(length);
        let part = end.and_then(|end| self.0.get(at..end));
        part.map(Bytes)
            .ok_or_else(|| wrong(format_args!("it ends before byte {at}")))
    }

    fn word(self, at: usize) -> io::Result<u32> {
        let bytes = self.at(at, 4)?.0;
        Ok(u32::from_ne_bytes(bytes.try_into().map_err(wrong)?))
    }

    fn long(self, at: usize) -> io::Result<u64> {
        let bytes = self.at(at, 8)?.0;
        Ok(u64::from_ne_bytes(bytes.try_into().map_err(wrong)?))
    }

    /// A text; empty if it is being written.
    fn text(self, at: usize) -> io::Result<String> {
        let length = self.long(at)?;
        let length = usize::try_from(length).map_err(wrong)?;
        if length > MOST_TEXT {
            return Err(wrong(format_args!("a text of {length} bytes")));
        }
        let bytes = self.at(at + 8, length)?.0;
        if bytes.contains(&0) {
            return Ok(String::new());
        }
        let text = String::from_utf8_lossy(bytes);
        // It may be printed to a terminal.
        Ok(text.replace(char::is_control, "?"))
    }

    /// The elements of the `n`th part.
    fn part(self, n: usize) -> io::Result<impl Iterator<Item = io::Result<Bytes<'a>>>> {
        let number = |k: usize| Ok::<_, io::Error>(self.word(20 + 4 * (3 * n + k))? as usize);
        let (first, count, size) = (number(0)?, number(1)?, number(2)?);
        let most = MOST_ELEMENTS[n];
        if count > most {
            let why = format_args!("part {n} has {count} elements, and there is room for {most}");
            return Err(wrong(why));
        }
        Ok((0..count).map(move |n| self.at(first.saturating_add(n.saturating_mul(size)), size)))
    }
}

/// The time by the clock of the page.
fn now_ns() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is writable.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// A page's bytes.
fn parse(bytes: &[u8]) -> io::Result<Snapshot> {
    let bytes = Bytes(bytes);
    if bytes.long(0)? != MAGIC {
        return Err(wrong("it does not begin like one"));
    }
    let version = bytes.word(8)?;
    if version != VERSION {
        return Err(wrong(format_args!(
            "it has version {version}, this reader knows {VERSION}: take the tools of the program's version"
        )));
    }
    let now = now_ns();
    let since = |at| Ok::<_, io::Error>(Duration::from_nanos(now.saturating_sub(bytes.long(at)?)));
    let mut counters = Vec::new();
    for counter in bytes.part(0)? {
        let counter = counter?;
        let name = counter.text(8)?;
        if !name.is_empty() {
            counters.push((name, counter.long(0)?));
        }
    }
    let mut holdouts = Vec::new();
    for reader in bytes.part(1)? {
        match reader?.long(0)? {
            0 => break,
            word => holdouts.push((word as u32, (word >> 32) as u32)),
        }
    }
    let places: Vec<String> = bytes
        .part(2)?
        .map(|place| place?.text(0))
        .collect::<io::Result<_>>()?;
    let mut functions: Vec<Function> = Vec::new();
    for row in bytes.part(3)? {
        let Some(new) = function(row?, &places)? else {
            continue;
        };
        match functions.iter_mut().find(|it| it.is_alike(&new)) {
            Some(known) => known.add(&new),
            None => functions.push(new),
        }
    }
    functions.sort_by(|a, b| (&a.domain, &a.name).cmp(&(&b.domain, &b.name)));
    Ok(Snapshot {
        pid: bytes.word(12)?,
        forks: bytes.word(16)?,
        counted_for: since(72)?,
        counters_age: since(80)?,
        counters,
        functions,
        holdouts,
    })
}

/// A row, if it is in use.
fn function(row: Bytes<'_>, places: &[String]) -> io::Result<Option<Function>> {
    let key = row.long(0)?;
    let long = |n: usize| row.long(8 * n);
    let (queued, executed) = (long(3)?, long(4)?);
    if key == 0 && queued == 0 && executed == 0 {
        return Ok(None);
    }
    let place = (key >> 50) as usize;
    let named = places.get(place).filter(|name| !name.is_empty());
    let domain = match (named, place.checked_sub(SRCUS)) {
        _ if key == 0 => "(others)".to_owned(),
        (Some(name), _) => name.clone(),
        (None, Some(srcu)) => format!("srcu {srcu}"),
        (None, None) => "(unnamed)".to_owned(),
    };
    let what = match key >> 48 & 3 {
        1 => What::Memory,
        3 => What::Head,
        _ => What::Code,
    };
    Ok(Some(Function {
        domain,
        name: row.text(104)?,
        what,
        lazy: long(1)? & 1 != 0,
        bytes_each: long(2)?,
        queued,
        executed,
        queued_bytes: long(5)?,
        executed_bytes: long(6)?,
        hurried: long(7)?,
        prompt: long(8)?,
        batches: long(9)?,
        waited_at_least: Duration::from_micros(long(10)?),
        waited_at_most: Duration::from_micros(long(11)?),
        longest: Duration::from_micros(long(12)?),
    }))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
