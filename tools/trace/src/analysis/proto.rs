//! The few fields of Perfetto's trace format that a timeline needs.
//!
//! A trace is `Trace { 1: TracePacket* }`; a packet is written whole, so that a file may be cut anywhere
//! between two. Numbers of fields are those of Perfetto's public `protos/perfetto/trace` (TracePacket 8
//! timestamp, 10 trusted_packet_sequence_id, 11 track_event, 60 track_descriptor; TrackDescriptor 1 uuid, 2
//! name, 5 parent_uuid, 8 counter; TrackEvent 9 type, 11 track_uuid, 23 name, 30 counter_value). Wire types
//! are protobuf's: 0 for varints, 2 for bytes with their length.

use crate::base::wire::{push_bytes, push_number};
use std::io::{self, Write};

/// All packets are of one sequence.
const SEQUENCE: u64 = 1;

/// What happens on a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Point<'a> {
    /// Something with this name begins.
    Begin(&'a str),
    /// What began last ends.
    End,
    /// A number changes.
    Counter(u64),
}

/// Writes packets; every buffer is used again.
pub(crate) struct Packets {
    output: Box<dyn Write>,
    packet: Vec<u8>,
    inner: Vec<u8>,
    pub(crate) written: u64,
}

impl Packets {
    pub(crate) fn new(output: Box<dyn Write>) -> Self {
        Packets {
            output,
            packet: Vec::new(),
            inner: Vec::new(),
            written: 0,
        }
    }

    /// A track below another one (0: below none).
    pub(crate) fn track(
        &mut self,
        uuid: u64,
        parent: u64,
        name: &str,
        counter: bool,
    ) -> io::Result<()> {
        self.inner.clear();
        push_number(&mut self.inner, 1, uuid);
        push_bytes(&mut self.inner, 2, name.as_bytes());
        if parent != 0 {
            push_number(&mut self.inner, 5, parent);
        }
        if counter {
            push_bytes(&mut self.inner, 8, &[]);
        }
        self.packet.clear();
        push_number(&mut self.packet, 10, SEQUENCE);
        push_bytes(&mut self.packet, 60, &self.inner);
        self.write()
    }

    /// An event on a track.
    pub(crate) fn event(&mut self, time_ns: u64, track: u64, point: Point<'_>) -> io::Result<()> {
        self.inner.clear();
        let kind = match point {
            Point::Begin(_) => 1,
            Point::End => 2,
            Point::Counter(_) => 4,
        };
        push_number(&mut self.inner, 9, kind);
        push_number(&mut self.inner, 11, track);
        match point {
            Point::Begin(name) => push_bytes(&mut self.inner, 23, name.as_bytes()),
            Point::Counter(value) => push_number(&mut self.inner, 30, value),
            Point::End => {}
        }
        self.packet.clear();
        push_number(&mut self.packet, 8, time_ns);
        push_number(&mut self.packet, 10, SEQUENCE);
        push_bytes(&mut self.packet, 11, &self.inner);
        self.write()
    }

    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.output.flush()
    }

    fn write(&mut self) -> io::Result<()> {
        self.inner.clear();
        push_bytes(&mut self.inner, 1, &self.packet);
        self.written += 1;
        self.output.write_all(&self.inner)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// A field: its number, and its value or its bytes.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(crate) enum Field {
        Number(u64, u64),
        Bytes(u64, Vec<u8>),
    }

    /// Reads a message back, written from protobuf's description of the wire format and not from the code
    /// above.
    pub(crate) fn decode(mut bytes: &[u8]) -> Option<Vec<Field>> {
        fn varint(bytes: &mut &[u8]) -> Option<u64> {
            let mut value = 0u64;
            for place in 0..10 {
                let (first, rest) = bytes.split_first()?;
                *bytes = rest;
                value |= u64::from(first & 0x7f) << (7 * place);
                if first & 0x80 == 0 {
                    return Some(value);
                }
            }
            None
        }
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes)?;
            match key & 7 {
                0 => fields.push(Field::Number(key >> 3, varint(&mut bytes)?)),
                2 => {
                    let length = varint(&mut bytes)? as usize;
                    if length > bytes.len() {
                        return None;
                    }
                    let (value, rest) = bytes.split_at(length);
                    bytes = rest;
                    fields.push(Field::Bytes(key >> 3, value.to_vec()));
                }
                _ => return None,
            }
        }
        Some(fields)
    }

    /// An output that a test can look into.
    #[derive(Debug, Clone, Default)]
    pub(crate) struct Shared(pub(crate) Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0
                .lock()
                .expect("not poisoned")
                .extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_bytes_are_those_of_a_packet_made_by_hand() {
        let shared = Shared::default();
        let mut packets = Packets::new(Box::new(shared.clone()));
        packets.event(300, 7, Point::Begin("ab")).expect("writes");
        // Trace.packet(1) of 15 bytes: timestamp(8)=300, sequence(10)=1, track_event(11) of 8 bytes:
        // type(9)=1, track_uuid(11)=7, name(23)="ab".
        let by_hand = [
            0x0a, 0x0f, 0x40, 0xac, 0x02, 0x50, 0x01, 0x5a, 0x08, 0x48, 0x01, 0x58, 0x07, 0xba,
            0x01, 0x02, b'a', b'b',
        ];
        let written = shared.0.lock().expect("not poisoned").clone();
        let mut expected = by_hand.to_vec();
        expected[1] = (by_hand.len() - 2) as u8;
        expected[8] = (by_hand.len() - 9) as u8;
        assert_eq!(written, expected);
    }
}
