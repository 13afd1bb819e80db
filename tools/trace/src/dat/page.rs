//! One page of a CPU's ring buffer: events one after the other, with the time between them.
//!
//! ```text
//! page    u64 time of its first event | long: bytes that follow, and whether events are missing | events
//! event   u32: kind or length (5 bits), ns since the one before (27 bits) | array, or nothing
//!         1..=28  data of 4 times as many bytes          0   the first word is the length of data and itself
//!         29      padding: so many bytes; all the rest if the time is 0
//!         30      time goes on by the word << 27         31  time is the word << 27, without its high 5 bits
//! ```
//!
//! Bits 31 and 30 of the second word of a page: events are missing; how many stands behind the last event.
//! The kernel describes all of it in `header_page` and `header_event` (which are in the file) and in
//! `Documentation/trace/ring-buffer-design.rst`; trace.dat(5) has the rest. In a word of high byte first, the
//! five bits are the highest.
//!
//! Every step is at least four bytes forward and no step leaves the page, so a page ends.

use super::walk::number;

/// Bytes that follow: the rest of the word are flags.
const LENGTH: u64 = (1 << 27) - 1;

/// Events are missing before this page.
const MISSING: u64 = 1 << 31;

/// How many is written behind its last event.
const STORED: u64 = 1 << 30;

/// The bits of a time that an absolute time stamp does not have.
const HIGH: u64 = 0x1f << 59;

/// How pages of a file are laid out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) big: bool,
    /// Bytes of the kernel's `long`: of the second word.
    pub(super) long: usize,
    /// Where that word stands.
    pub(super) commit: usize,
    /// Where the first event stands.
    pub(super) data: usize,
}

/// Where the reading of a page is. The bytes are the caller's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Page {
    at: usize,
    end: usize,
    time: u64,
}

/// Events that were lost before a page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Missing {
    #[default]
    None,
    Some,
    Number(u64),
}

/// An event of a page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) time: u64,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// What is wrong with a page: the byte in it, and why.
pub(super) type Wrong = (usize, &'static str);

impl Page {
    /// Starts with a page.
    pub(super) fn new(bytes: &[u8], shape: Shape) -> Result<(Page, Missing), Wrong> {
        let word = |at: usize, size: usize| bytes.get(at..at + size).map(|b| number(b, shape.big));
        let short = (0, "a page that is shorter than its header");
        let time = word(0, 8).ok_or(short)?;
        let commit = word(shape.commit, shape.long).ok_or(short)?;
        let end = shape.data + (commit & LENGTH) as usize;
        if end > bytes.len() {
            return Err((shape.commit, "a page states more bytes than a page has"));
        }
        let missing = match (commit & MISSING != 0, commit & STORED != 0) {
            (false, _) => Missing::None,
            (true, false) => Missing::Some,
            (true, true) => word(end, shape.long).map_or(Missing::Some, Missing::Number),
        };
        let at = shape.data;
        Ok((Page { at, end, time }, missing))
    }

    /// The next event with data.
    pub(super) fn next(&mut self, bytes: &[u8], big: bool) -> Result<Option<Entry>, Wrong> {
        let bytes = bytes.get(..self.end).unwrap_or(bytes);
        while self.at < self.end {
            let from = self.at;
            let outside = (from, "an event that reaches beyond its page");
            let word = |at: usize| bytes.get(at..at + 4).map(|b| number(b, big)).ok_or(outside);
            let head = word(from)?;
            let (kind, delta) = if big {
                (head >> 27, head & LENGTH)
            } else {
                (head & 31, head >> 5)
            };
            let body = from + 4;
            if kind == 29 && delta == 0 {
                self.at = self.end;
                return Ok(None);
            }
            if kind == 31 {
                self.time = absolute(word(body)? << 27 | delta, self.time);
                self.at = body + 4;
                continue;
            }
            self.time = self.time.wrapping_add(delta);
            let (start, length) = match kind {
                30 => {
                    self.time = self.time.wrapping_add(word(body)? << 27);
                    self.at = body + 4;
                    continue;
                }
                29 => {
                    // The length counts its own word.
                    self.at = body + (word(body)? as usize).max(4);
                    continue;
                }
                0 => {
                    let length = word(body)?;
                    let data = length.checked_sub(4);
                    (body + 4, data.ok_or((from, "an event without a length"))?)
                }
                words => (body, words * 4),
            };
            let end = start + length as usize;
            if end > self.end {
                return Err(outside);
            }
            // Data is padded to words.
            self.at = end.next_multiple_of(4);
            return Ok(Some(Entry {
                time: self.time,
                start,
                end,
            }));
        }
        Ok(None)
    }
}

/// An absolute time with the high bits of the time before it; they can only have grown.
fn absolute(low: u64, before: u64) -> u64 {
    let time = low | before & HIGH;
    if time < before {
        time.wrapping_add(1 << 59)
    } else {
        time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page of little words with `events` in it.
    fn page(time: u64, flags: u64, events: &[u8]) -> Vec<u8> {
        let mut bytes = time.to_le_bytes().to_vec();
        bytes.extend((events.len() as u64 | flags).to_le_bytes());
        bytes.extend(events);
        bytes.resize(4096, 0);
        bytes
    }

    const SHAPE: Shape = Shape {
        big: false,
        long: 8,
        commit: 8,
        data: 16,
    };

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|w| w.to_le_bytes()).collect()
    }

    fn times(bytes: &[u8]) -> Result<Vec<(u64, usize)>, Wrong> {
        let (mut page, _) = Page::new(bytes, SHAPE)?;
        let mut all = Vec::new();
        while let Some(entry) = page.next(bytes, false)? {
            all.push((entry.time, entry.end - entry.start));
        }
        Ok(all)
    }

    #[test]
    fn every_kind_of_entry() {
        let events = words(&[
            5 << 5 | 2,
            0,
            0, // two words, 5 ns on
            7 << 5 | 30,
            1, // 7 ns and 1 << 27 on
            1 << 5,
            12,
            0,
            0, // a length of 12: two words of data
            3 << 5 | 29,
            8,
            0, // padding with time: 8 bytes
            9 << 5 | 31,
            2, // at 2 << 27 | 9
            1 << 5 | 1,
            0,
            29, // the end of what is used
        ]);
        let far = 100 + 5 + 7 + (1 << 27) + 1;
        let last = (2 << 27 | 9) + 1;
        assert_eq!(
            times(&page(100, 0, &events)),
            Ok(vec![(105, 8), (far, 8), (last, 4)])
        );
    }

    #[test]
    fn missing_events_with_and_without_their_number() {
        let events = words(&[1, 0]);
        let of = |bytes: &[u8]| Page::new(bytes, SHAPE).map(|(_, missing)| missing);
        assert_eq!(of(&page(1, 0, &events)), Ok(Missing::None));
        assert_eq!(of(&page(1, MISSING, &events)), Ok(Missing::Some));
        let mut stored = page(1, MISSING | STORED, &events);
        stored[24..32].copy_from_slice(&17u64.to_le_bytes());
        assert_eq!(of(&stored), Ok(Missing::Number(17)));
    }

    #[test]
    fn damage_is_reported_with_its_place() {
        assert!(times(&page(1, 5000, &[])).is_err());
        assert_eq!(
            times(&page(1, 0, &words(&[28, 0]))).map_err(|e| e.0),
            Err(16)
        );
        assert_eq!(
            times(&page(1, 0, &words(&[0, 3, 0]))).map_err(|e| e.0),
            Err(16)
        );
        assert!(times(&[0; 9]).is_err());
    }

    #[test]
    fn high_bits_of_absolute_times_are_kept_and_grow() {
        assert_eq!(absolute(5, 1 << 60 | 3), 1 << 60 | 5);
        assert_eq!(absolute(1, 1 << 59 | 3), 2 << 59 | 1);
    }
}
