//! Where a trace comes from: a file, compressed or not, or standard input.
//!
//! The kind is told by the first bytes and never by the name, so that a pipe may be compressed too. What is recognised
//! and cannot be read is refused by name with what to do instead. The decompressor may take so much memory as
//! [`DICTIONARY_KB`] says: a file that asks for more is refused before anything is allocated.

use crate::Error;
use lzma_rust2::XzReader;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};

/// Memory for decompression, KiB. `xz -9` needs 64 MiB.
const DICTIONARY_KB: u32 = 80 * 1024;

/// Bytes read at a time.
const BUFFER: usize = 64 * 1024;

const XZ: &[u8] = b"\xfd7zXZ\0";

/// What is recognised by its first bytes and refused: bytes, name, remedy.
const REFUSED: [(&[u8], &str, &str); 4] = [
    (
        b"\x17\x08\x44tracing",
        "a trace.dat file",
        "turn it into text: `trace-cmd report -t FILE`",
    ),
    (b"\x1f\x8b", "compressed by gzip", "use `zcat FILE | ... -`"),
    (
        b"\x28\xb5\x2f\xfd",
        "compressed by zstd",
        "use `zstdcat FILE | ... -`",
    ),
    (
        b"PERFILE2",
        "a perf.data file",
        "turn it into text: `perf script --ns`",
    ),
];

/// Opens a trace by name; `-` is standard input.
///
/// # Errors
/// [`Error::Input`] when it cannot be opened or read, [`Error::Kind`] when it is recognised as something else.
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
        return from_read("standard input", io::stdin());
    }
    let file = File::open(name).map_err(|source| Error::Input {
        name: name.to_owned(),
        source,
        remedy: "give a file of ftrace text (plain or .xz), or `-` for standard input",
    })?;
    from_read(name, file)
}

/// A trace out of any reader; `name` is for messages.
///
/// # Errors
/// As [`open`].
pub fn from_read(
    name: &str,
    mut input: impl Read + Send + 'static,
) -> Result<Box<dyn BufRead + Send>, Error> {
    let longest = REFUSED.iter().map(|r| r.0.len()).max().unwrap_or(0);
    let mut start = Vec::with_capacity(longest);
    input
        .by_ref()
        .take(longest as u64)
        .read_to_end(&mut start)
        .map_err(|source| Error::Input {
            name: name.to_owned(),
            source,
            remedy: "give a regular file, or `-` for standard input",
        })?;
    if let Some((_, found, remedy)) = REFUSED.iter().find(|r| start.starts_with(r.0)) {
        return Err(Error::Kind {
            name: name.to_owned(),
            found,
            remedy,
        });
    }
    let compressed = start.starts_with(XZ);
    let whole = BufReader::with_capacity(BUFFER, Cursor::new(start).chain(input));
    if !compressed {
        return Ok(Box::new(whole));
    }
    let plain = XzReader::new_mem_limit(whole, true, DICTIONARY_KB);
    Ok(Box::new(BufReader::with_capacity(BUFFER, plain)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_something_else_is_refused_by_name() {
        for (bytes, found, _) in REFUSED {
            let refused = from_read("x.bin", Cursor::new(bytes.to_vec()));
            let text = refused.err().expect("is refused").to_string();
            assert!(text.starts_with("x.bin: this is ") && text.contains(found));
        }
    }

    #[test]
    fn a_missing_file_is_named_with_a_remedy() {
        let text = open("/nowhere/t.txt").err().expect("fails").to_string();
        assert!(text.starts_with("/nowhere/t.txt: ") && text.contains("`-`"));
    }

    #[test]
    fn short_and_empty_input_is_plain() {
        for bytes in [&b""[..], b"#", b"\xfd7z"] {
            let mut text = Vec::new();
            let mut input = from_read("short", Cursor::new(bytes)).expect("opens");
            input.read_to_end(&mut text).expect("reads");
            assert_eq!(text, bytes);
        }
    }
}
