//! Numbers and strings from a file of either byte order, and the errors where they are missing.
//!
//! Every error names the byte of the file, or inside a compressed part that part's byte and the byte within.
//! A size that the file states is compared with the rest of the file, and with a limit, *before* memory is
//! allocated.

use std::fmt::Display;
use std::io::{self, Read, Seek, SeekFrom};

/// What a trace.dat is read from.
pub(crate) trait Source: Read + Seek + Send {}

impl<T: Read + Seek + Send> Source for T {}

/// An error about damage at a place.
pub(super) fn damaged(place: impl Display, what: impl Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{place}: {what}"))
}

/// An error about a valid part that this crate does not support.
pub(super) fn unsupported(place: impl Display, what: impl Display) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, format!("{place}: {what}"))
}

/// Where the reading is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// Byte of the file at which a compressed part starts.
    pub(super) part: Option<u64>,
    /// Byte of the file, or of the part.
    pub(super) at: u64,
}

impl Place {
    /// A byte of the file.
    pub(super) fn at(at: u64) -> Self {
        Place { part: None, at }
    }
}

impl Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.part {
            Some(part) => write!(f, "byte {} of the part compressed at byte {part}", self.at),
            None => write!(f, "byte {}", self.at),
        }
    }
}

/// The file, with its length.
pub(super) struct File {
    source: Box<dyn Source>,
    pub(super) length: u64,
}

impl File {
    pub(super) fn new(mut source: Box<dyn Source>) -> io::Result<Self> {
        let length = source.seek(SeekFrom::End(0))?;
        Ok(File { source, length })
    }

    /// Fills `into` from byte `at`.
    pub(super) fn read_at(&mut self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let end = at.checked_add(into.len() as u64);
        if end.is_none_or(|end| end > self.length) {
            let (size, length) = (into.len(), self.length);
            let what = format_args!("{size} bytes are needed and the file ends at {length}");
            return Err(damaged(format_args!("byte {at}"), what));
        }
        self.source.seek(SeekFrom::Start(at))?;
        self.source.read_exact(into)
    }

    /// The number of four bytes at this place.
    pub(super) fn u32_at(&mut self, at: u64, big: bool) -> io::Result<u32> {
        let mut bytes = [0; 4];
        self.read_at(at, &mut bytes)?;
        Ok(number(&bytes, big) as u32)
    }

    /// A walk over `size` bytes from `at`.
    pub(super) fn walk(&mut self, at: u64, size: u64, big: bool) -> io::Result<Walk<Part<'_>>> {
        let place = Place::at(at);
        if at.checked_add(size).is_none_or(|end| end > self.length) {
            let length = self.length;
            let what = format_args!("a part of {size} bytes, and the file ends at {length}");
            return Err(damaged(place, what));
        }
        self.source.seek(SeekFrom::Start(at))?;
        let part = io::BufReader::with_capacity(16 << 10, self.source.as_mut().take(size));
        Ok(Walk::new(part, place, big))
    }
}

/// A piece of the file, read in order.
pub(super) type Part<'a> = io::BufReader<io::Take<&'a mut (dyn Source + 'static)>>;

/// Reads in order, and knows where it is.
pub(super) struct Walk<R> {
    pub(super) reader: R,
    pub(super) place: Place,
    pub(super) big: bool,
}

impl<R: Read> Walk<R> {
    pub(super) fn new(reader: R, place: Place, big: bool) -> Self {
        Walk { reader, place, big }
    }

    pub(super) fn fill(&mut self, into: &mut [u8]) -> io::Result<()> {
        let place = self.place;
        self.reader.read_exact(into).map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof => damaged(
                place,
                format_args!("{} bytes are needed and the file or part ends", into.len()),
            ),
            _ => damaged(place, e),
        })?;
        self.place.at += into.len() as u64;
        Ok(())
    }

    pub(super) fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    pub(super) fn u16(&mut self) -> io::Result<u16> {
        Ok(self.number::<2>()? as u16)
    }

    pub(super) fn u32(&mut self) -> io::Result<u32> {
        Ok(self.number::<4>()? as u32)
    }

    pub(super) fn u64(&mut self) -> io::Result<u64> {
        self.number::<8>()
    }

    fn number<const N: usize>(&mut self) -> io::Result<u64> {
        let bytes: [u8; N] = self.array()?;
        Ok(number(&bytes, self.big))
    }

    /// So many bytes, of at most `most`. Memory is taken as they come, so that a stated size costs nothing.
    pub(super) fn bytes(
        &mut self,
        size: u64,
        most: u64,
        what: impl Display,
    ) -> io::Result<Vec<u8>> {
        let place = self.place;
        if size > most {
            let why = format_args!("{what} of {size} bytes, and {most} is the most that is read");
            return Err(damaged(place, why));
        }
        let mut bytes = Vec::new();
        self.reader
            .by_ref()
            .take(size)
            .read_to_end(&mut bytes)
            .map_err(|e| damaged(place, e))?;
        if bytes.len() as u64 != size {
            let why = format_args!("{what} of {size} bytes, and {} are there", bytes.len());
            return Err(damaged(place, why));
        }
        self.place.at += size;
        Ok(bytes)
    }

    /// Bytes up to a zero, at most `most`, as text.
    pub(super) fn text(&mut self, most: usize) -> io::Result<String> {
        let place = self.place;
        let mut bytes = Vec::new();
        loop {
            match self.array::<1>()? {
                [0] => return Ok(lossy(&bytes)),
                [byte] => bytes.push(byte),
            }
            if bytes.len() > most {
                let why = format_args!("a name has no end within {most} bytes");
                return Err(damaged(place, why));
            }
        }
    }
}

/// The number that up to eight bytes stand for.
pub(super) fn number(bytes: &[u8], big: bool) -> u64 {
    let fold = |n: u64, b: &u8| n << 8 | u64::from(*b);
    if big {
        bytes.iter().fold(0, fold)
    } else {
        bytes.iter().rev().fold(0, fold)
    }
}

/// As text; what is no UTF-8, and what would end or break a line, becomes `?`.
pub(super) fn lossy(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.chars()
        .map(|c| if c == '\u{fffd}' { '?' } else { c })
        .collect()
}
