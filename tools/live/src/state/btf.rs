//! Places of members in the kernel's structures, by the description of its types that it exports itself (BTF,
//! Documentation/bpf/btf.rst). Anything that is not as described there has no place.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The longest description that is read. Those of distributions have 4 to 8 MB.
const MOST: u64 = 64 << 20;

/// Bytes of the heading that are looked at.
const HEADING: usize = 24;

const STRUCT: u32 = 4;
const UNION: u32 = 5;
/// Kinds that are another name of the type they refer to: typedef, volatile, const, restrict, type tag.
const NAMES: [u32; 5] = [8, 9, 10, 11, 18];

/// The types of a kernel.
#[derive(Debug)]
pub(crate) struct Types {
    bytes: Vec<u8>,
    strings: usize,
    /// Where each type stands; the first has number 1.
    places: Vec<usize>,
}

impl Types {
    /// Those in this file.
    pub(crate) fn read(file: &Path) -> Option<Types> {
        let mut bytes = Vec::new();
        let file = File::open(file).ok()?;
        file.take(MOST).read_to_end(&mut bytes).ok()?;
        Types::of(bytes)
    }

    fn of(bytes: Vec<u8>) -> Option<Types> {
        if bytes.len() < HEADING || bytes[..2] != 0xeb9f_u16.to_ne_bytes() {
            return None;
        }
        let [heading, types, length, strings] = [4, 8, 12, 16].map(|at| number(&bytes, at));
        let from = (heading? as usize).checked_add(types? as usize)?;
        let end = from.checked_add(length? as usize)?;
        let strings = (heading? as usize).checked_add(strings? as usize)?;
        let mut all = Types {
            bytes,
            strings,
            places: Vec::new(),
        };
        let mut at = from;
        while at < end {
            let info = number(&all.bytes, at + 4)?;
            let members = (info & 0xffff) as usize;
            let kind = info >> 24 & 0x1f;
            all.places.push(at);
            at += 12
                + match kind {
                    1 | 14 | 17 => 4,
                    3 => 12,
                    STRUCT | UNION | 15 | 19 => 12 * members,
                    6 | 13 => 8 * members,
                    _ => 0,
                };
        }
        Some(all)
    }

    /// The place of `TYPE.MEMBER.MEMBER…` in bytes.
    pub(crate) fn place(&self, path: &str) -> Option<u64> {
        let mut names = path.split('.');
        let of = names.next()?.as_bytes();
        let is_it = |at: &usize| self.has_members(*at) && self.name(*at) == Some(of);
        let mut at = self.places.iter().copied().find(is_it);
        let mut bits = 0;
        for name in names {
            let (place, of) = self.member(at?, name.as_bytes(), 0)?;
            bits += place;
            at = self.resolved(of);
        }
        (bits % 8 == 0).then_some(bits / 8)
    }

    fn has_members(&self, at: usize) -> bool {
        number(&self.bytes, at + 4).is_some_and(|it| matches!(it >> 24 & 0x1f, STRUCT | UNION))
    }

    /// Bits in front of a member, and the number of its type. It may be one of a structure without a name.
    fn member(&self, at: usize, wanted: &[u8], depth: u32) -> Option<(u64, u32)> {
        let info = number(&self.bytes, at + 4).filter(|_| self.has_members(at))?;
        // With this flag the upper 8 bits are the size of a bit field.
        let places = if info >> 31 == 1 { 0xff_ffff } else { u32::MAX };
        (0..(info & 0xffff) as usize).find_map(|it| {
            let member = at + 12 + 12 * it;
            let of = number(&self.bytes, member + 4)?;
            let place = u64::from(number(&self.bytes, member + 8)? & places);
            match self.name(member)? {
                name if name == wanted => Some((place, of)),
                b"" if depth < 8 => {
                    let inner = self.member(self.resolved(of)?, wanted, depth + 1)?;
                    Some((place + inner.0, inner.1))
                }
                _ => None,
            }
        })
    }

    /// The type behind its other names.
    fn resolved(&self, mut of: u32) -> Option<usize> {
        for _ in 0..16 {
            let at = *self.places.get((of as usize).checked_sub(1)?)?;
            match number(&self.bytes, at + 4)? >> 24 & 0x1f {
                kind if NAMES.contains(&kind) => of = number(&self.bytes, at + 8)?,
                _ => return Some(at),
            }
        }
        None
    }

    /// The name whose place stands here.
    fn name(&self, at: usize) -> Option<&[u8]> {
        let from = self
            .strings
            .checked_add(number(&self.bytes, at)? as usize)?;
        let rest = self.bytes.get(from..)?;
        rest.split(|it| *it == 0).next()
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(four.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `struct outer { u64 a; struct { u32 x; inner_t b; }; }`, and `inner_t` is another name of
    /// `struct inner { u8 c; u8 d; }`.
    fn types() -> Vec<u8> {
        let names = "\0outer\0a\0x\0b\0inner_t\0inner\0c\0d\0";
        let name = |it: &str| names.find(&format!("\0{it}\0")).unwrap() as u32 + 1;
        let kind = |kind: u32, members: u32| kind << 24 | members;
        let words: Vec<u32> = [
            // 1 outer
            vec![
                name("outer"),
                kind(STRUCT, 2),
                16,
                name("a"),
                4,
                0,
                0,
                3,
                64,
            ],
            // 2 inner
            vec![
                name("inner"),
                kind(STRUCT, 2),
                2,
                name("c"),
                4,
                0,
                name("d"),
                4,
                8,
            ],
            // 3 without a name
            vec![0, kind(STRUCT, 2), 8, name("x"), 4, 0, name("b"), 5, 32],
            // 4 a number, 5 inner_t
            vec![0, kind(1, 0), 4, 32],
            vec![name("inner_t"), kind(8, 0), 2],
        ]
        .concat();
        let length = words.len() as u32 * 4;
        let mut bytes = vec![];
        bytes.extend(0xeb9f_u16.to_ne_bytes());
        bytes.extend([1, 0]);
        for it in [24, 0, length, length, names.len() as u32]
            .into_iter()
            .chain(words)
        {
            bytes.extend(u32::to_ne_bytes(it));
        }
        bytes.extend(names.bytes());
        bytes
    }

    #[test]
    fn members_have_their_places() {
        let types = Types::of(types()).unwrap();
        for (path, place) in [
            ("outer.a", Some(0)),
            ("outer.x", Some(8)),
            ("outer.b.d", Some(13)),
            ("inner.d", Some(1)),
            ("outer.c", None),
            ("other.a", None),
            ("outer.a.b", None),
        ] {
            assert_eq!(types.place(path), place, "{path}");
        }
    }

    #[test]
    fn what_is_damaged_has_no_places() {
        let whole = types();
        for length in 0..whole.len() {
            let cut = Types::of(whole[..length].to_vec());
            let _ = cut.map(|it| it.place("outer.b.d"));
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0xff;
            let _ = Types::of(bytes).map(|it| it.place("outer.b.d"));
        }
    }
}
