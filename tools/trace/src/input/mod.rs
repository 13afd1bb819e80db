//! Where a trace comes from: a file, compressed or not, a `trace.dat`, a trace of Perfetto's, or standard
//! input.
//!
//! The kind is recognized by the first bytes and never by the name, so that a pipe may be compressed too. A
//! format that is recognized but not supported is refused by name, and the error says what to do instead. A
//! decompressor may use as much memory as [`DICTIONARY_KB`] says, and 100 MiB for zstd: a file that asks for
//! more is refused before anything is allocated.
//!
//! A `trace.dat` is read at many places of the file at once, so it cannot come out of a pipe
//! ([`dat`](crate::dat)); a trace of Perfetto's is read in one pass ([`perfetto`](crate::perfetto)).

pub use follow::follow;

use crate::Error;
use crate::base::CUT;
use crate::dat::{Dat, Frames, MAGIC, Source};
use crate::line::Input;
use crate::perfetto::{Perfetto, is_perfetto};
use embedded::{Embedded, Within};
use flate2::bufread::{MultiGzDecoder, ZlibDecoder};
use lzma_rust2::XzReader;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Memory for decompression, KiB. `xz -9` needs 64 MiB.
const DICTIONARY_KB: u32 = 80 * 1024;

/// Bytes read at a time.
const BUFFER: usize = 128 * 1024;

const XZ: &[u8] = b"\xfd7zXZ\0";
const GZIP: &[u8] = b"\x1f\x8b";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";

/// The mark that some editors put in front of a text.
const UTF_8: &[u8] = b"\xef\xbb\xbf";

/// What is known and not read: the first bytes, what it is, and what to do.
const REFUSED: [(&[u8], &str, &str); 9] = [
    (
        b"PERFILE2",
        "a perf.data file",
        "turn it into text: `perf script --ns`",
    ),
    (
        b"BZh",
        "a file compressed by bzip2",
        "decompress it: `bzcat FILE | ... -`",
    ),
    (
        b"PK\x03\x04",
        "a zip file",
        "unpack it: `unzip -p FILE | ... -`",
    ),
    (b"PK\x05\x06", "an empty zip file", "give the trace itself"),
    (
        b"7z\xbc\xaf\x27\x1c",
        "a 7z file",
        "unpack it: `7z x -so FILE | ... -`",
    ),
    (
        b"\x04\x22\x4d\x18",
        "a file compressed by lz4",
        "decompress it: `lz4cat FILE | ... -`",
    ),
    // Looked for in what was decompressed: a plain one is read.
    (
        MAGIC,
        "a compressed trace.dat file",
        "decompress it to a file and name that",
    ),
    (b"\xff\xfe", "UTF-16 text", AS_UTF_8),
    (b"\xfe\xff", "UTF-16 text", AS_UTF_8),
];

const AS_UTF_8: &str = "turn it into UTF-8: `iconv -f UTF-16 -t UTF-8 FILE | ... -`";

/// Bytes that tell the kind.
const START: usize = 64;

/// What is done about a trace.dat that cannot be read.
const DAT: &str =
    "if `trace-cmd report -t FILE` can read it, give that text; else copy or record it again";

/// The same of what zstd has packed.
const OF_ZSTD: &str = "if zstd can unpack it: `zstdcat FILE | ... -`; else copy or record it again";

/// An open trace, and what is known of its file.
#[derive(Debug)]
pub struct Opened {
    /// For a [`Reader`](crate::Reader).
    pub input: Input<'static>,
    /// What it is: `ftrace text, xz`, `Perfetto trace`, `trace.dat`, `a pipe`, `standard input`.
    pub kind: String,
    /// Bytes of the file; 0 if it is none that is read once from its start to its end.
    pub length: u64,
    /// Bytes of it that were read so far.
    pub read: Arc<AtomicU64>,
}

/// Opens a trace by name; `-` is standard input.
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
pub fn open(name: impl AsRef<Path>) -> Result<Input<'static>, Error> {
    opened(name).map(|it| it.input)
}

/// As [`open`], with what is known of the file.
///
/// # Errors
/// As [`open`].
pub fn opened(name: impl AsRef<Path>) -> Result<Opened, Error> {
    let path = name.as_ref();
    let read = Arc::new(AtomicU64::new(0));
    let piped = |input, kind: &str| Opened {
        input,
        kind: kind.to_owned(),
        length: 0,
        read: Arc::clone(&read),
    };
    if path.as_os_str() == "-" {
        let input = from_read("standard input", io::stdin())?;
        return Ok(piped(input, "standard input"));
    }
    let name = &path.display().to_string();
    let mut file = File::open(path).map_err(wrong(
        name,
        "give a file of ftrace text or Perfetto (plain, .xz, .gz or .zst) or a trace.dat, which you may \
         read, or `-` for standard input",
    ))?;
    let about = file.metadata();
    // A named pipe is a file by name and a pipe by nature.
    if about.as_ref().is_ok_and(|about| !about.is_file()) {
        return Ok(piped(from_read(name, file)?, "a pipe"));
    }
    let start = start_of(name, &mut file)?;
    if start.starts_with(MAGIC) {
        return Ok(piped(from_dat(name, file)?, "trace.dat"));
    }
    let counted = Counted {
        file,
        read: Arc::clone(&read),
    };
    let (input, kind) = by_kind(name, start, Box::new(counted))?;
    let length = about.map_or(0, |about| about.len());
    Ok(Opened {
        input,
        kind,
        length,
        read,
    })
}

/// Counts the bytes read.
struct Counted {
    file: File,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(bytes)?;
        self.read.fetch_add(n as u64, Relaxed);
        Ok(n)
    }
}

/// A trace out of anything that can be read at any place; `name` is for messages. Reading starts at the first
/// byte.
///
/// Of a `trace.dat` all buffers are read and merged by time. It takes a page of the ring buffer for each CPU
/// of each buffer (or a chunk, where data is compressed; together at most 32 MiB), the names of the kernel's
/// functions and the formats of its events (at most 24 and 16 MiB, in fact about 12 MB together; twice while
/// they are read), and a window of at most 100 MiB for zstd. A file that asks for more is refused.
///
/// # Errors
/// As [`open`].
pub fn from_seek(
    name: &str,
    mut input: impl Read + Seek + Send + 'static,
) -> Result<Input<'static>, Error> {
    input.rewind().map_err(wrong(name, "give a regular file"))?;
    let start = start_of(name, &mut input)?;
    match start.starts_with(MAGIC) {
        true => from_dat(name, input),
        false => by_kind(name, start, Box::new(input)).map(|it| it.0),
    }
}

fn from_dat(name: &str, input: impl Read + Seek + Send + 'static) -> Result<Input<'static>, Error> {
    let source: Box<dyn Source> = Box::new(input);
    Dat::open(source).map(Input::made).map_err(wrong(name, DAT))
}

/// A trace out of any reader, but no `trace.dat`; `name` is for messages.
///
/// # Errors
/// As [`open`]; [`Error::Kind`] for a `trace.dat`.
pub fn from_read(
    name: &str,
    mut input: impl Read + Send + 'static,
) -> Result<Input<'static>, Error> {
    let start = start_of(name, &mut input)?;
    if start.starts_with(MAGIC) {
        return Err(Error::Kind {
            name: name.to_owned(),
            found: "a trace.dat file in a pipe, and it has to be read at many places at once",
            remedy: "save it to a file and name that, or pipe the text of `trace-cmd report -t FILE`",
        });
    }
    by_kind(name, start, Box::new(input)).map(|it| it.0)
}

fn wrong(name: &str, remedy: &'static str) -> impl FnOnce(io::Error) -> Error {
    let name = name.to_owned();
    move |source| Error::Input {
        name,
        source,
        remedy,
    }
}

fn start_of(name: &str, input: &mut impl Read) -> Result<Vec<u8>, Error> {
    let mut start = Vec::with_capacity(START);
    let read = input.take(START as u64).read_to_end(&mut start);
    read.map_err(wrong(
        name,
        "give a regular file, or `-` for standard input",
    ))?;
    Ok(start)
}

/// By its first bytes, which have been read, and then by those of what is not compressed, or no longer.
/// Readers are made here, and not for each kind of input.
fn by_kind(
    name: &str,
    start: Vec<u8>,
    input: Box<dyn Read + Send>,
) -> Result<(Input<'static>, String), Error> {
    let kinds = [(XZ, ", xz"), (GZIP, ", gzip"), (ZSTD, ", zstd")];
    let packed = kinds.iter().find(|(magic, _)| start.starts_with(magic));
    let zlib = zlib_at(&start);
    let packed = packed.map_or(zlib.map_or("", |_| ", zlib"), |it| it.1);
    let mut start = Cursor::new(start);
    start.set_position(zlib.unwrap_or(0) as u64);
    let whole = BufReader::with_capacity(BUFFER, start.chain(input));
    let read: Box<dyn Read + Send> = match packed {
        ", zlib" => Box::new(ZlibDecoder::new(whole)),
        ", xz" => Box::new(XzReader::new_mem_limit(whole, true, DICTIONARY_KB)),
        ", gzip" => Box::new(MultiGzDecoder::new(whole)),
        ", zstd" => Box::new(Frames::new(whole)),
        _ => Box::new(whole),
    };
    let mut plain = BufReader::with_capacity(BUFFER, read);
    let start = loop {
        match plain.fill_buf() {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) if packed == ", zstd" => return Err(wrong(name, OF_ZSTD)(e)),
            Err(e) => return Err(wrong(&format!("{name}, after line 0"), CUT)(e)),
            Ok(_) => break plain.buffer(),
        }
    };
    let start = &start[..start.len().min(START)];
    let refused = REFUSED.iter().find(|(bytes, ..)| start.starts_with(bytes));
    let refused = refused.map(|(_, found, remedy)| (*found, *remedy));
    let refused = refused.or_else(|| is_utf_16(start).then_some(("UTF-16 text", AS_UTF_8)));
    if let Some((found, remedy)) = refused {
        return Err(Error::Kind {
            name: name.to_owned(),
            found,
            remedy,
        });
    }
    let is_perfetto = is_perfetto(start);
    let mark = start.strip_prefix(UTF_8).map_or(0, |_| UTF_8.len());
    let form = Within::of(&start[mark..]);
    plain.consume(mark);
    let plain: Box<dyn BufRead + Send> = Box::new(plain);
    if is_perfetto {
        let input = Input::made(Perfetto::open(plain));
        return Ok((input, format!("Perfetto trace{packed}")));
    }
    let (plain, within) = match form {
        Some((within, words)) => (Embedded::open(plain, within), words),
        None => (plain, ""),
    };
    Ok((plain.into(), format!("ftrace text{within}{packed}")))
}

/// Where data compressed by zlib starts: at once, or behind the first lines of atrace (`-z`). The second byte
/// is none that a text has there, but for `^`: what follows must be no text.
fn zlib_at(start: &[u8]) -> Option<usize> {
    let line = b"TRACE:\n";
    let at = memchr::memmem::find(start, line).map_or(0, |at| at + line.len());
    let is_no_text = || std::str::from_utf8(&start[at..]).is_err_and(|e| e.error_len().is_some());
    match start.get(at..at + 2)? {
        [0x78, 0x01 | 0x9c | 0xda] => Some(at),
        [0x78, b'^'] if is_no_text() => Some(at),
        _ => None,
    }
}

/// Text of two bytes a letter: every second one is zero, and no other.
fn is_utf_16(start: &[u8]) -> bool {
    let (mut even, mut odd) = (0, 0);
    for pair in start.chunks_exact(2) {
        even += usize::from(pair[0] == 0);
        odd += usize::from(pair[1] == 0);
    }
    let pairs = start.len() / 2;
    pairs >= 4 && ((even == pairs && odd == 0) || (odd == pairs && even == 0))
}

mod embedded;
mod follow;
#[cfg(test)]
mod tests;
