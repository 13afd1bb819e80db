//! Compressed parts of a file: zstd and zlib, both by crates in pure Rust.
//!
//! A file states its sizes, and may lie. Three limits hold whatever it says: a zstd frame whose window is
//! larger than 100 MiB is refused by the decoder before it allocates it; a part is read as a stream and never
//! beyond the size that it stated; a chunk of trace data has to come to exactly the stated size, which the
//! caller has compared with its own limit.

use super::walk::{Place, damaged, unsupported};
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::fmt::Display;
use std::io::{self, BufRead, BufReader, Read};

/// How a file is compressed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Packing {
    #[default]
    None,
    Zstd,
    Zlib,
}

impl Packing {
    /// By the name in the file's header.
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

    /// What was compressed, as a stream.
    pub(crate) fn stream<'a>(self, packed: impl Read + 'a) -> Box<dyn Read + 'a> {
        match self {
            Packing::None => Box::new(packed),
            Packing::Zlib => Box::new(flate2::read::ZlibDecoder::new(packed)),
            Packing::Zstd => Box::new(Frames::new(BufReader::new(packed))),
        }
    }

    /// Fills `plain` with a chunk, which has to have just as many bytes.
    pub(super) fn fill(self, packed: &[u8], plain: &mut [u8], place: Place) -> io::Result<()> {
        let wrong = |e: &dyn Display| damaged(place, format_args!("a chunk: {e}"));
        let mut stream = self.stream(packed);
        stream.read_exact(plain).map_err(|e| wrong(&e))?;
        match stream.read(&mut [0]).map_err(|e| wrong(&e))? {
            0 => Ok(()),
            _ => Err(wrong(&"it has more bytes than it states")),
        }
    }
}

/// A stream of zstd frames, one after the other; frames that are to be skipped are.
pub(crate) struct Frames<R> {
    packed: R,
    decoder: FrameDecoder,
    /// In a frame.
    open: bool,
}

impl<R: BufRead> Frames<R> {
    pub(crate) fn new(packed: R) -> Self {
        let mut decoder = FrameDecoder::new();
        // It looks at the size of windows from its second frame on: this one is empty.
        let _is_well = decoder.reset(&b"\x28\xb5\x2f\xfd\x20\0"[..]);
        Frames {
            packed,
            decoder,
            open: false,
        }
    }

    /// The next frame begins, or is skipped.
    fn begin(&mut self) -> io::Result<()> {
        use FrameDecoderError::ReadFrameHeaderError as Header;
        match self.decoder.reset(&mut self.packed) {
            Ok(()) => self.open = true,
            Err(Header(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                let mut skipped = self.packed.by_ref().take(length.into());
                io::copy(&mut skipped, &mut io::sink())?;
            }
            Err(e) => return Err(io::Error::other(e)),
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while !into.is_empty() {
            if !self.open {
                if self.packed.fill_buf()?.is_empty() {
                    break;
                }
                self.begin()?;
                continue;
            }
            let missing = into.len().saturating_sub(self.decoder.can_collect());
            if missing > 0 && !self.decoder.is_finished() {
                let some = BlockDecodingStrategy::UptoBytes(missing);
                let more = self.decoder.decode_blocks(&mut self.packed, some);
                more.map_err(io::Error::other)?;
                continue;
            }
            match self.decoder.read(into)? {
                0 => self.open = false,
                read => return Ok(read),
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_beyond_the_limit_is_refused_before_it_is_allocated() {
        let bomb = b"\x28\xb5\x2f\xfd\x00\xa0\x01\x00\x00";
        let refused = Packing::Zstd
            .stream(&bomb[..])
            .read(&mut [0])
            .expect_err("is refused");
        assert!(refused.to_string().contains("1073741824"), "{refused}");
    }
}
