//! Compressed parts of a file: zstd and zlib, both by crates in pure Rust.
//!
//! A file states its sizes, and may lie. Three limits hold whatever it says: the window of a zstd frame
//! ([`WINDOW_MOST`]) is read from the frame's own header and refused before the decoder allocates it; a part
//! is read as a stream and never beyond the size that it stated; a chunk of trace data has to come to exactly
//! the stated size, which the caller has compared with its own limit.

use super::walk::{Place, damaged, unsupported};
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use std::io::{self, Cursor, Read};

/// The largest window of a zstd frame, bytes. `zstd -19` needs 8 MiB.
pub(crate) const WINDOW_MOST: u64 = 32 << 20;

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    None,
    Zstd,
    Zlib,
}

impl Packing {
    pub(super) fn of(name: &str, place: Place) -> io::Result<Self> {
        match name {
            "none" => Ok(Packing::None),
            "zstd" => Ok(Packing::Zstd),
            "zlib" => Ok(Packing::Zlib),
            _ => Err(unsupported(
                place,
                format_args!(
                    "compressed by `{name}`, which is not known; `trace-cmd convert --compression zstd` \
                     makes a file that is"
                ),
            )),
        }
    }

    /// The plain bytes of a part, as a stream.
    pub(crate) fn stream<'a>(self, mut packed: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
        Ok(match self {
            Packing::None => Box::new(packed),
            Packing::Zlib => Box::new(flate2::read::ZlibDecoder::new(packed)),
            Packing::Zstd => {
                let start = frame_start(&mut packed)?;
                let whole = Cursor::new(start).chain(packed);
                let decoder = StreamingDecoder::new(whole).map_err(io::Error::other)?;
                Box::new(decoder)
            }
        })
    }

    /// The plain bytes of a chunk, into `plain`, which they must fill.
    pub(super) fn fill(
        self,
        packed: &[u8],
        plain: &mut [u8],
        decoder: &mut FrameDecoder,
        place: Place,
    ) -> io::Result<()> {
        let size = plain.len();
        let wrong = |e: &dyn std::fmt::Display| damaged(place, format_args!("a chunk: {e}"));
        let came = match self {
            Packing::None if packed.len() == size => {
                plain.copy_from_slice(packed);
                size
            }
            Packing::None => packed.len(),
            Packing::Zlib => {
                let mut stream = flate2::read::ZlibDecoder::new(packed);
                stream.read_exact(plain).map_err(|e| wrong(&e))?;
                size + stream.read(&mut [0]).map_err(|e| wrong(&e))?
            }
            Packing::Zstd => {
                frame_start(&mut &packed[..]).map_err(|e| wrong(&e))?;
                decoder.decode_all(packed, plain).map_err(|e| wrong(&e))?
            }
        };
        if came != size {
            return Err(wrong(&format_args!(
                "it states {size} plain bytes, and is {came}"
            )));
        }
        Ok(())
    }
}

/// Bytes of a frame's header, at most.
const START: usize = 18;

/// The first bytes of a zstd frame, if its window is one that is read.
fn frame_start(packed: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    packed.take(START as u64).read_to_end(&mut start)?;
    check(&start)?;
    Ok(start)
}

/// Does a frame with an acceptable window start here?
fn check(start: &[u8]) -> io::Result<()> {
    match window(start) {
        Some(window) if window <= WINDOW_MOST => Ok(()),
        Some(window) => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            format!(
                "the zstd frame wants a window of {window} bytes, and {WINDOW_MOST} is the most that is \
                 given; compress with less, e.g. `zstd -19`"
            ),
        )),
        None => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "no zstd frame starts here",
        )),
    }
}

fn is_skippable(magic: &[u8]) -> bool {
    magic.len() >= 4 && magic[1..4] == [0x2a, 0x4d, 0x18] && magic[0] >> 4 == 5
}

/// Frames of zstd one after the other, as `zstd` and `pzstd` write them.
pub(crate) struct Frames<R: Read> {
    /// `None` after the last, and after an error.
    decoder: Option<StreamingDecoder<Peeked<R>, FrameDecoder>>,
}

impl<R: Read> Frames<R> {
    pub(crate) fn new(inner: R) -> io::Result<Self> {
        let ahead = Peeked {
            front: Vec::new(),
            inner,
        };
        Ok(Frames {
            decoder: Self::frame(ahead, FrameDecoder::new())?,
        })
    }

    /// A decoder of the next frame; `None` at the end.
    fn frame(
        mut ahead: Peeked<R>,
        decoder: FrameDecoder,
    ) -> io::Result<Option<StreamingDecoder<Peeked<R>, FrameDecoder>>> {
        loop {
            ahead.look(START)?;
            if ahead.front.is_empty() {
                return Ok(None);
            }
            if !is_skippable(&ahead.front) {
                break;
            }
            let mut head = [0; 8];
            ahead.read_exact(&mut head)?;
            let size = super::walk::number(&head[4..], false);
            io::copy(&mut ahead.by_ref().take(size), &mut io::sink())?;
        }
        check(&ahead.front)?;
        let stream = StreamingDecoder::new_with_decoder(ahead, decoder);
        stream.map(Some).map_err(io::Error::other)
    }
}

impl<R: Read> Read for Frames<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while let Some(mut stream) = self.decoder.take() {
            let read = stream.read(into)?;
            if read > 0 || into.is_empty() {
                self.decoder = Some(stream);
                return Ok(read);
            }
            let (ahead, decoder) = stream.into_parts();
            self.decoder = Self::frame(ahead, decoder)?;
        }
        Ok(0)
    }
}

/// A reader of which some bytes have been read in advance.
struct Peeked<R> {
    front: Vec<u8>,
    inner: R,
}

impl<R: Read> Peeked<R> {
    /// Has so many bytes in front, or all that there are.
    fn look(&mut self, size: usize) -> io::Result<()> {
        let missing = size.saturating_sub(self.front.len());
        let mut some = self.inner.by_ref().take(missing as u64);
        some.read_to_end(&mut self.front)?;
        Ok(())
    }
}

impl<R: Read> Read for Peeked<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.front.is_empty() {
            return self.inner.read(into);
        }
        let size = into.len().min(self.front.len());
        into[..size].copy_from_slice(&self.front[..size]);
        self.front.drain(..size);
        Ok(size)
    }
}

/// The window that a frame states, by RFC 8878, 3.1.1.1. A skippable frame has none.
fn window(start: &[u8]) -> Option<u64> {
    let magic = start.get(..4)?;
    if is_skippable(magic) {
        return Some(0);
    }
    if magic != [0x28, 0xb5, 0x2f, 0xfd] {
        return None;
    }
    let descriptor = *start.get(4)?;
    if descriptor & 0x20 == 0 {
        let byte = u64::from(*start.get(5)?);
        let base = 1u64 << (10 + (byte >> 3));
        return Some(base + base / 8 * (byte & 7));
    }
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let size = [1, 2, 4, 8][usize::from(descriptor >> 6)];
    let bytes = start.get(5 + dictionary..5 + dictionary + size)?;
    let stated = super::walk::number(bytes, false);
    Some(if size == 2 { stated + 256 } else { stated })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_read_from_the_header() {
        let frame = |rest: &[u8]| [&[0x28, 0xb5, 0x2f, 0xfd], rest].concat();
        assert_eq!(window(&frame(&[0, 0])), Some(1024));
        assert_eq!(window(&frame(&[0, 0xff])), Some((1 << 41) / 8 * 15));
        assert_eq!(window(&frame(&[0x20, 7])), Some(7));
        assert_eq!(window(&frame(&[0x61, 9, 1, 1])), Some(513));
        assert_eq!(
            window(&frame(&[0xe0, 0, 0, 0, 0, 1, 0, 0, 0])),
            Some(1 << 32)
        );
        assert_eq!(window(b"\x28\xb5"), None);
    }

    #[test]
    fn a_window_beyond_the_limit_is_refused_before_it_is_allocated() {
        let bomb = b"\x28\xb5\x2f\xfd\x00\xa0\x01\x00\x00";
        let refused = Packing::Zstd.stream(&bomb[..]).err().expect("refused");
        assert!(refused.to_string().contains("window of 1073741824 bytes"));
    }
}
