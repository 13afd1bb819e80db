//! Where a trace comes from: a file, compressed or not, a `trace.dat`, or standard input.
//!
//! The kind is recognized by the first bytes and never by the name, so that a pipe may be compressed too. A
//! format that is recognized but not supported is refused by name, and the error says what to do instead. A
//! decompressor may use as much memory as [`DICTIONARY_KB`] says, and 32 MiB for zstd: a file that asks for
//! more is refused before anything is allocated.
//!
//! A `trace.dat` is read at many places of the file at once, so it cannot come out of a pipe. It is given as
//! the text that the kernel would have written ([`dat`](crate::dat)).

use crate::Error;
use crate::dat::{Dat, Frames, MAGIC, Source};
use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek};

/// Memory for decompression, KiB. `xz -9` needs 64 MiB.
const DICTIONARY_KB: u32 = 80 * 1024;

/// Bytes read at a time.
const BUFFER: usize = 128 * 1024;

const XZ: &[u8] = b"\xfd7zXZ\0";
const GZIP: &[u8] = b"\x1f\x8b";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
const PERF: &[u8] = b"PERFILE2";

/// Bytes that tell the kind.
const START: usize = 16;

/// What is done about a trace.dat that cannot be read.
const DAT: &str =
    "if `trace-cmd report -t FILE` can read it, give that text; else copy or record it again";

/// Opens a trace by name; `-` is standard input.
///
/// A thread of its own reads it, decompresses it, and turns a `trace.dat` into text, at most ten blocks of
/// 128 KiB ahead.
///
/// # Errors
/// [`Error::Input`] when it cannot be opened or read, [`Error::Kind`] when it is recognised as something
/// else.
///
/// ```
/// use quiescent_trace::{Reader, open};
///
/// let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/traces/classic-idle.txt.xz");
/// let mut reader = Reader::new(path, open(path)?);
/// let mut records = 0;
/// while reader.next_record()?.is_some() {
///     records += 1;
/// }
/// assert_eq!(records, 1570);
/// assert_eq!(reader.summary().malformed.count(), 0);
/// # Ok::<(), quiescent_trace::Error>(())
/// ```
pub fn open(name: &str) -> Result<Box<dyn BufRead + Send>, Error> {
    if name == "-" {
        return from_read("standard input", io::stdin()).map(ahead::ahead);
    }
    let file = File::open(name).map_err(|source| Error::Input {
        name: name.to_owned(),
        source,
        remedy: "give a file of ftrace text (plain, .xz, .gz or .zst), a trace.dat, or `-` for standard \
         input",
    })?;
    // A named pipe is a file by name and a pipe by nature.
    match file.metadata() {
        Ok(about) if !about.is_file() => from_read(name, file),
        _ => from_seek(name, file),
    }
    .map(ahead::ahead)
}

/// A trace out of anything that can be read at any place; `name` is for messages. Reading starts at the first
/// byte.
///
/// Of a `trace.dat` all buffers are read and merged by time. It takes a page of the ring buffer for each CPU
/// of each buffer (or a chunk, where data is compressed; together at most 32 MiB), the names of the kernel's
/// functions and the formats of its events (at most 24 and 16 MiB, in fact about 12 MB together), and a
/// window of at most 32 MiB for zstd. A file that asks for more is refused.
///
/// # Errors
/// As [`open`].
pub fn from_seek(
    name: &str,
    mut input: impl Read + Seek + Send + 'static,
) -> Result<Box<dyn BufRead + Send>, Error> {
    let wrong = |remedy| {
        move |source| Error::Input {
            name: name.to_owned(),
            source,
            remedy,
        }
    };
    input.rewind().map_err(wrong("give a regular file"))?;
    let start = start_of(name, &mut input)?;
    if !start.starts_with(MAGIC) {
        return by_kind(name, start, input);
    }
    let source: Box<dyn Source> = Box::new(input);
    let dat = Dat::new(source).map_err(wrong(DAT))?;
    Ok(Box::new(dat))
}

/// A trace out of any reader, but no `trace.dat`; `name` is for messages.
///
/// # Errors
/// As [`open`]; [`Error::Kind`] for a `trace.dat`.
pub fn from_read(
    name: &str,
    mut input: impl Read + Send + 'static,
) -> Result<Box<dyn BufRead + Send>, Error> {
    let start = start_of(name, &mut input)?;
    if start.starts_with(MAGIC) {
        return Err(Error::Kind {
            name: name.to_owned(),
            found: "a trace.dat file in a pipe, and it has to be read at many places at once",
            remedy: "save it to a file and name that, or pipe the text of `trace-cmd report -t FILE`",
        });
    }
    by_kind(name, start, input)
}

fn start_of(name: &str, input: &mut impl Read) -> Result<Vec<u8>, Error> {
    let mut start = Vec::with_capacity(START);
    let read = input.take(START as u64).read_to_end(&mut start);
    read.map_err(|source| Error::Input {
        name: name.to_owned(),
        source,
        remedy: "give a regular file, or `-` for standard input",
    })?;
    Ok(start)
}

/// Text, by its first bytes, which have been read.
fn by_kind(
    name: &str,
    start: Vec<u8>,
    input: impl Read + Send + 'static,
) -> Result<Box<dyn BufRead + Send>, Error> {
    if start.starts_with(PERF) {
        return Err(Error::Kind {
            name: name.to_owned(),
            found: "a perf.data file",
            remedy: "turn it into text: `perf script --ns`",
        });
    }
    let (xz, gzip, zstd) = (
        start.starts_with(XZ),
        start.starts_with(GZIP),
        start.starts_with(ZSTD),
    );
    let whole = BufReader::with_capacity(BUFFER, Cursor::new(start).chain(input));
    Ok(if xz {
        let plain = XzReader::new_mem_limit(whole, true, DICTIONARY_KB);
        Box::new(BufReader::with_capacity(BUFFER, plain))
    } else if gzip {
        let plain = MultiGzDecoder::new(whole);
        Box::new(BufReader::with_capacity(BUFFER, plain))
    } else if zstd {
        let plain = Frames::new(whole).map_err(|source| Error::Input {
            name: name.to_owned(),
            source,
            remedy: "decompress it: `zstdcat FILE | ... -`",
        })?;
        Box::new(BufReader::with_capacity(BUFFER, plain))
    } else {
        Box::new(whole)
    })
}

mod ahead;
#[cfg(test)]
mod tests;
