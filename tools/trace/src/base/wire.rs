//! The wire format of protocol buffers: fields out of a message, and fields into one.
//!
//! A message is a row of fields. Each has a key (its number, and one of four kinds) and a number or bytes
//! with their length. What a field means is the caller's. A message that ends inside of a field, or has a
//! kind that does not exist, is [`Torn`]: what stood before it has been handed out. Nothing is copied or
//! allocated.

use super::bytes::ONES;

/// The message cannot be read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Torn;

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    /// A number of any of the three kinds.
    Number(u64),
    /// Text, bytes, or a message.
    Bytes(&'a [u8]),
}

/// The fields of a message: their numbers and values.
#[derive(Debug, Clone)]
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl<'a> Fields<'a> {
    #[inline(always)]
    fn field(&mut self) -> Option<(u32, Value<'a>)> {
        let key = self.varint()?;
        let number = u32::try_from(key >> 3).ok().filter(|n| *n > 0)?;
        let (value, rest) = match key & 7 {
            0 => (Value::Number(self.varint()?), self.0),
            1 => {
                let (eight, rest) = self.0.split_first_chunk()?;
                (Value::Number(u64::from_le_bytes(*eight)), rest)
            }
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                let (bytes, rest) = self.0.split_at_checked(length)?;
                (Value::Bytes(bytes), rest)
            }
            5 => {
                let (four, rest) = self.0.split_first_chunk()?;
                (Value::Number(u32::from_le_bytes(*four).into()), rest)
            }
            _ => return None,
        };
        self.0 = rest;
        Some((number, value))
    }

    #[inline(always)]
    fn varint(&mut self) -> Option<u64> {
        let (value, length) = varint(self.0)?;
        self.0 = &self.0[length..];
        Some(value)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Value<'a>), Torn>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field().ok_or(Torn);
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

/// The numbers of a packed field.
#[derive(Debug, Clone, Default)]
pub(crate) struct Packed<'a>(pub(crate) &'a [u8]);

impl Iterator for Packed<'_> {
    type Item = Result<u64, Torn>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let (value, length) = match varint(self.0) {
            Some((value, length)) => (Ok(value), length),
            None => (Err(Torn), self.0.len()),
        };
        self.0 = &self.0[length..];
        Some(value)
    }
}

/// The number at the start, and its length.
#[inline(always)]
pub(crate) fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    match bytes.first() {
        // Keys and lengths, and most numbers.
        Some(byte) if *byte < 0x80 => Some(((*byte).into(), 1)),
        _ => long(bytes),
    }
}

/// The same for numbers of many bytes.
#[inline(never)]
fn long(bytes: &[u8]) -> Option<(u64, usize)> {
    let (mut value, mut from) = (0, 0);
    if let Some(eight) = bytes.first_chunk() {
        let eight = u64::from_le_bytes(*eight);
        let length = (!eight & ONES << 7).trailing_zeros() / 8 + 1;
        // Seven bits of each byte; then two of these together, four, and all.
        let sevens = eight & (ONES * 0x7f) & (u64::MAX >> (64 - 8 * length.min(8)));
        let twos = sevens & 0x007f_007f_007f_007f | (sevens & 0x7f00_7f00_7f00_7f00) >> 1;
        let fours = twos & 0x0000_3fff_0000_3fff | (twos & 0x3fff_0000_3fff_0000) >> 2;
        value = fours & 0x0fff_ffff | (fours & 0x0fff_ffff_0000_0000) >> 4;
        if length <= 8 {
            return Some((value, length as usize));
        }
        from = 8;
    }
    for (place, byte) in bytes.iter().enumerate().take(10).skip(from) {
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some((value, place + 1));
        }
    }
    None
}

pub(crate) fn push_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(crate) fn push_number(out: &mut Vec<u8>, field: u32, value: u64) {
    push_varint(out, u64::from(field) << 3);
    push_varint(out, value);
}

pub(crate) fn push_bytes(out: &mut Vec<u8>, field: u32, value: &[u8]) {
    push_varint(out, u64::from(field) << 3 | 2);
    push_varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_every_kind_come_back_as_they_were_written() {
        let mut message = Vec::new();
        push_number(&mut message, 1, u64::MAX);
        push_bytes(&mut message, 300, b"ab");
        // Fixed numbers of eight and of four bytes.
        message.extend([3 << 3 | 1, 1, 2, 0, 0, 0, 0, 0, 0, 4 << 3 | 5, 5, 0, 0, 0]);
        let fields: Result<Vec<_>, Torn> = Fields(&message).collect();
        let expected = vec![
            (1, Value::Number(u64::MAX)),
            (300, Value::Bytes(b"ab")),
            (3, Value::Number(0x201)),
            (4, Value::Number(5)),
        ];
        assert_eq!(fields, Ok(expected));
    }

    #[test]
    fn a_torn_message_ends_with_what_stood_before() {
        let mut message = Vec::new();
        push_number(&mut message, 1, 300);
        push_bytes(&mut message, 2, b"abc");
        for length in 1..message.len() {
            let read: Vec<_> = Fields(&message[..length]).collect();
            let whole = usize::from(length >= 3);
            assert_eq!(read.len(), whole + usize::from(length != 3), "{length}");
            assert_eq!(read.last() == Some(&Err(Torn)), length != 3, "{length}");
        }
        // Groups, field 0, and a number without an end.
        for bad in [&[0x0b][..], &[0x00, 1], &[0x08; 1], &[0xff; 12]] {
            assert_eq!(Fields(bad).collect::<Vec<_>>(), [Err(Torn)], "{bad:?}");
        }
        assert_eq!(Packed(&[1, 0x80]).collect::<Vec<_>>(), [Ok(1), Err(Torn)]);
    }
}
