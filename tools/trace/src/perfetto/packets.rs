//! Packets out of a stream, with the byte at which each starts.
//!
//! A trace is a row of packets: field 1 with its length. Any other byte in front of one is the end of what
//! can be read. Lengths are compared with [`PACKET_MOST`] before anything is allocated.

use crate::base::wire::{Fields, Value, varint};
use crate::dat::Packing;
use std::io::{self, BufRead, Read};

/// Bytes of a packet, and of what it is when it is decompressed. Perfetto's own are at most 512 KiB.
pub(super) const PACKET_MOST: usize = 4 << 20;

/// The key of a packet.
const KEY: u8 = 0x0a;

/// Whether a file that starts like this is a trace of Perfetto's: a packet, and in it bytes that no text has.
/// A text may start with an empty line, and has no such byte near it.
pub(crate) fn is_perfetto(start: &[u8]) -> bool {
    let control = |b: &u8| matches!(b, 0..=8 | 14..=26);
    if start.first() != Some(&KEY) || !start.iter().any(control) {
        return false;
    }
    let Some((length, at)) = varint(&start[1..]) else {
        return false;
    };
    let packet = &start[1 + at..];
    let whole = usize::try_from(length).is_ok_and(|length| length <= packet.len());
    let packet = if whole {
        &packet[..length as usize]
    } else {
        packet
    };
    // The first field at least; the last may be cut off with the start of the file.
    match Fields(packet).next() {
        Some(Ok((number, _))) => number < 1000,
        Some(Err(_)) => !whole && key_is_known(packet),
        None => true,
    }
}

fn key_is_known(packet: &[u8]) -> bool {
    varint(packet)
        .is_some_and(|(key, _)| matches!(key & 7, 0 | 1 | 2 | 5) && (1..1000).contains(&(key >> 3)))
}

/// What comes next in the stream.
pub(super) enum Next {
    /// A packet, whole, and the byte at which it starts.
    Packet(Vec<u8>, u64),
    /// One that is larger than what is read; it was passed over.
    Large(u64),
    /// No packet can start at this byte, or the file ends inside of the packet that does.
    Rest(u64),
    End,
}

pub(super) struct Packets {
    input: Box<dyn BufRead + Send>,
    /// Bytes that have been read.
    at: u64,
}

impl Packets {
    pub(super) fn new(input: Box<dyn BufRead + Send>) -> Self {
        Packets { input, at: 0 }
    }

    pub(super) fn next(&mut self) -> io::Result<Next> {
        let start = self.at;
        let Some(key) = self.byte()? else {
            return Ok(Next::End);
        };
        let length = match key {
            KEY => self.length()?,
            _ => None,
        };
        let Some(length) = length else {
            return Ok(Next::Rest(start));
        };
        if length > PACKET_MOST as u64 {
            let passed = io::copy(&mut self.input.by_ref().take(length), &mut io::sink())?;
            self.at += passed;
            return Ok(match passed == length {
                true => Next::Large(start),
                false => Next::Rest(start),
            });
        }
        let mut packet = Vec::with_capacity(length as usize);
        self.input.by_ref().take(length).read_to_end(&mut packet)?;
        self.at += packet.len() as u64;
        Ok(match packet.len() as u64 == length {
            true => Next::Packet(packet, start),
            false => Next::Rest(start),
        })
    }

    fn length(&mut self) -> io::Result<Option<u64>> {
        let mut value = 0;
        for place in 0..10 {
            let Some(byte) = self.byte()? else {
                return Ok(None);
            };
            value |= u64::from(byte & 0x7f) << (7 * place);
            if byte & 0x80 == 0 {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    fn byte(&mut self) -> io::Result<Option<u8>> {
        loop {
            match self.input.fill_buf() {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
                Ok(bytes) => {
                    let first = bytes.first().copied();
                    self.input.consume(usize::from(first.is_some()));
                    self.at += u64::from(first.is_some());
                    return Ok(first);
                }
            }
        }
    }
}

/// The packets in a compressed one; none if it is damaged, or larger than what is read.
pub(super) fn unpacked(packing: Packing, packed: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut plain = Vec::new();
    packing
        .stream(packed)
        .take(PACKET_MOST as u64 + 1)
        .read_to_end(&mut plain)
        .ok()?;
    if plain.len() > PACKET_MOST {
        return None;
    }
    Fields(&plain)
        .map(|field| match field {
            Ok((1, Value::Bytes(packet))) => Some(packet.to_vec()),
            _ => None,
        })
        .collect()
}
