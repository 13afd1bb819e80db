//! The layout of the tracefs file, and no other: every byte once, and `None` at the first that is not as
//! expected.
//!
//! ```text
//!           <idle>-0       [005] d.s2.     1.430013: softirq_raise: vec=9 [action=RCU]
//! ```
//!
//! The line starts with a blank, as the kernel pads every name of a task; flags may be missing. All cuts are
//! made at ASCII bytes, so that no piece can be half a character. The numbers of [`Places`] are cut out once,
//! by the thread that has the line: this is where nearly all the time of reading goes, about 40 ns a line.

use super::{CPUS_MOST, Places, Unit};
use crate::base::bytes::{ONES, digits, first};

/// One in each byte.
const ONES_16: u128 = u128::from_ne_bytes([1; 16]);

/// Task, CPU, and the start of the rest.
struct Head {
    /// Start and end of the task's name.
    task: (usize, usize),
    pid: u32,
    cpu: u32,
    flags: (usize, usize),
    /// Where the time starts.
    rest: usize,
}

/// Who wrote the line before, and its columns as they stand: of seven lines six are by the same task on the
/// same CPU.
#[derive(Debug, Default)]
pub(crate) struct Before {
    /// Bytes 0 to 16, and 15 to 31. No line has zeros there.
    columns: [u128; 2],
    /// Where the task's name starts.
    first: usize,
    pid: u32,
    cpu: u32,
    /// The column of its seconds, and how many ns these are: of a thousand lines nearly all are in the same
    /// second.
    seconds: Option<(u64, u64)>,
}

/// A line whose end is not known yet: its places, of the text only where it starts. No line ends in front of
/// that, so that its end need not be looked for there.
#[inline(always)]
pub(crate) fn start(bytes: &[u8], before: &mut Before) -> Option<Places> {
    let head = columns(bytes, before)?;
    behind(bytes, head, before, |_, _| None)
}

/// A line with a task, an id, `[cpu]` and a time wherever they are, as other programs write it. Most lines of
/// those are plain: what is not has a reader of its own.
#[inline(never)]
pub(crate) fn plain(line: &[u8]) -> Option<Places> {
    if line.first() != Some(&b' ') {
        return None; // a name may stand in front
    }
    let head = anywhere(line)?;
    let mut places = behind(line, head, &mut Before::default(), name)?;
    places.until(line);
    Some(places)
}

/// What stands behind the head: its end, where the text starts, is that of a piece. `name` finds the name of
/// an event that is not only letters.
#[inline(always)]
fn behind(
    bytes: &[u8],
    head: Head,
    before: &mut Before,
    name: impl Fn(&[u8], usize) -> Option<(usize, usize)>,
) -> Option<Places> {
    let (time_ns, at) = match column_of_time(bytes, head.rest, before) {
        Some(time) => time,
        None => match time(bytes, blanks(bytes, head.rest))? {
            (ns, end) if bytes.get(end) == Some(&b':') => (ns, end + 1),
            _ => return None,
        },
    };
    let start = blanks(bytes, at);
    if start == at {
        return None;
    }
    let at = letters(bytes, start);
    // Nearly always letters, a colon and a blank.
    let (start, at) = match bytes.get(at..at + 2) {
        Some(b": ") if at > start => (start, at),
        _ => name(bytes, start)?,
    };
    Some(Places {
        pid: head.pid,
        cpu: head.cpu,
        time_ns,
        unit: Unit::Seconds,
        task: cut(head.task),
        flags: cut(head.flags),
        event: cut((start, at)),
        text: cut((at + 1, at + 1)),
    })
}

impl Places {
    /// The same with the text, up to the end of the line.
    #[inline(always)]
    pub(super) fn until(&mut self, line: &[u8]) {
        let (mut from, mut to) = (self.text.0 as usize, line.len());
        while from < to && line[from].is_ascii_whitespace() {
            from += 1;
        }
        while from < to && line[to - 1].is_ascii_whitespace() {
            to -= 1;
        }
        self.text = cut((from, to));
    }
}

fn cut((start, end): (usize, usize)) -> (u32, u32) {
    (start as u32, end as u32)
}

/// Where the letters, digits and lines that names of events are made of end: at a colon, at anything before
/// the digits (a blank, a bracket, a dash), or at what is no ASCII. Eight bytes at a time, by the carry of a
/// subtraction: the lowest mark is right, and no other is looked at.
#[inline(always)]
fn letters(bytes: &[u8], at: usize) -> usize {
    let marks = |eight: u64| {
        let below = eight.wrapping_sub(ONES * 0x30) & !eight;
        let colon = eight ^ (ONES * 0x3a);
        let colon = colon.wrapping_sub(ONES) & !colon;
        below | colon | eight
    };
    first(bytes, at, marks, |b| {
        !(0x30..0x80).contains(&b) || b == b':'
    })
}

/// The columns that the kernel's `%16s-%-7d [%03d] %5s` gives: no search is needed.
#[inline(always)]
fn columns(bytes: &[u8], before: &mut Before) -> Option<Head> {
    let head: &[u8; 40] = bytes.first_chunk()?;
    let columns = [u128_at(head, 0), u128_at(head, 15)];
    if columns != before.columns {
        let (first, pid, cpu) = who_and_where(head)?;
        *before = Before {
            columns,
            first,
            pid,
            cpu,
            seconds: before.seconds,
        };
    }
    // Letters from `!` to `~`, and no colon at the end. What is no ASCII has its highest bit.
    const HIGH: u64 = 0x80_8080_8080;
    let flags = u64_at(head, 31) & 0xff_ffff_ffff;
    let above = flags + 0x01_0101_0101;
    let below = (flags | HIGH).wrapping_sub(0x21_2121_2121) ^ HIGH;
    if (above | below | flags) & HIGH != 0 || head[35] == b':' || head[36] != b' ' {
        return None;
    }
    Some(Head {
        task: (before.first, 16),
        pid: before.pid,
        cpu: before.cpu,
        flags: (31, 36),
        rest: 37,
    })
}

/// Where the task's name starts, its id, and the CPU. Every column is looked at as one number.
// Never: it is seldom called, and the loop around `columns` would have less of the registers.
#[inline(never)]
fn who_and_where(head: &[u8; 40]) -> Option<(usize, u32, u32)> {
    let marks = [head[16], head[24], head[25], head[29], head[30]];
    if marks != *b"- [] " {
        return None;
    }
    // A name with a bracket, with blanks at its end, with none in front, or with the end of a line in it, is
    // left to the reader of all layouts.
    let name = u128_at(head, 0);
    let brackets = name ^ (ONES_16 * 0x5b);
    let bracket = brackets.wrapping_sub(ONES_16) & !brackets;
    let control = name.wrapping_sub(ONES_16 * 0x20) & !name;
    let odd = (bracket | control) & (ONES_16 << 7);
    let first = (name ^ (ONES_16 * 0x20)).trailing_zeros() as usize / 8;
    if odd != 0 || !(1..16).contains(&first) {
        return None;
    }
    task_is_plain(&head[first..16])?;
    // Digits at the left of seven places, and blanks behind them.
    let pid = u64_at(head, 17);
    let length = 64 - (pid ^ (ONES * 0x20)).leading_zeros() / 8 * 8;
    let pid = eight_digits(zeros_before(pid, length))?;
    let digit = |at: usize| u32::from(head[at].wrapping_sub(b'0'));
    let digits = [digit(26), digit(27), digit(28)];
    if digits.iter().any(|d| *d > 9) {
        return None;
    }
    Some((first, pid, digits[0] * 100 + digits[1] * 10 + digits[2]))
}

/// `%5lu.%06lu: ` at this place: nanoseconds, and the place behind the colon.
#[inline(always)]
fn column_of_time(bytes: &[u8], start: usize, before: &mut Before) -> Option<(u64, usize)> {
    let column: &[u8; 16] = bytes.get(start..)?.first_chunk()?;
    if [column[5], column[12], column[13]] != *b".: " {
        return None;
    }
    let seconds = u64_at(column, 0) << 24 | 0x20_2020;
    let ns = match before.seconds {
        Some((same, ns)) if same == seconds => ns,
        _ => {
            // Blanks in front of the digits become zeros.
            let blank = (seconds ^ (ONES * 0x20)).trailing_zeros() / 8 * 8;
            let zeros = ((1u64 << blank.min(56)) - 1) & (ONES * 0x10);
            let ns = u64::from(eight_digits(seconds | zeros)?) * 1_000_000_000;
            before.seconds = Some((seconds, ns));
            ns
        }
    };
    let us = eight_digits(zeros_before(u64_at(column, 6), 48))?;
    Some((ns + u64::from(us) * 1000, start + 13))
}

#[inline(always)]
fn u128_at(bytes: &[u8], at: usize) -> u128 {
    let sixteen = bytes.get(at..).and_then(|rest| rest.first_chunk());
    sixteen.map_or(0, |sixteen| u128::from_le_bytes(*sixteen))
}

#[inline(always)]
fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let eight = bytes.get(at..).and_then(|rest| rest.first_chunk());
    eight.map_or(0, |eight| u64::from_le_bytes(*eight))
}

/// Task, id, CPU and flags where the bracket is the first one.
fn anywhere(bytes: &[u8]) -> Option<Head> {
    let open = memchr::memchr(b'[', bytes)?;
    let before = bytes[..open].trim_ascii_end();
    let id = before.iter().rev().take_while(|b| b.is_ascii_digit());
    let dash = before.len().checked_sub(id.count() + 1)?;
    let (pid, _) = digits(before, dash + 1)?;
    let task = before[..dash].trim_ascii_end();
    let first = blanks(task, 0);
    task_is_plain(&task[first..])?;
    let (cpu, close) = digits(bytes, open + 1)?;
    if before[dash] != b'-' || cpu >= u64::from(CPUS_MOST) || bytes.get(close) != Some(&b']') {
        return None;
    }
    let start = blanks(bytes, close + 1);
    let rest = &bytes[start..];
    let end = start + memchr::memchr(b' ', rest)?;
    if !bytes[start..end].iter().all(u8::is_ascii_graphic) {
        return None;
    }
    // Without flags the time follows at once.
    let (flags, rest) = match bytes[end - 1] {
        b':' => ((start, start), start),
        _ => ((start, end), blanks(bytes, end)),
    };
    Some(Head {
        task: (first, task.len()),
        pid: u32::try_from(pid).ok()?,
        cpu: cpu as u32,
        flags,
        rest,
    })
}

/// Where the name of an event is, behind its subsystem. One with a bracket is a system call, or a difference
/// of times.
#[cold]
fn name(bytes: &[u8], start: usize) -> Option<(usize, usize)> {
    let rest = bytes.get(start..)?;
    let word = &rest[..memchr::memchr(b' ', rest).unwrap_or(rest.len())];
    let (b':', name) = word.split_last()? else {
        return None;
    };
    if name.iter().any(|b| !b.is_ascii_graphic() || *b == b'(') {
        return None;
    }
    let from = memchr::memrchr(b':', name).map_or(0, |at| at + 1);
    (from < name.len()).then_some((start + from, start + name.len()))
}

/// The first so many bits of eight bytes, behind as many `0` as are missing.
#[inline(always)]
fn zeros_before(eight: u64, bits: u32) -> u64 {
    let missing = 64 - bits;
    match missing {
        0 => eight,
        64 => 0,
        missing => eight << missing | (ONES * 0x30) >> bits,
    }
}

/// The number that eight digits are; the first of them is in the lowest byte. Two digits, then four, then all
/// at once.
#[inline(always)]
fn eight_digits(eight: u64) -> Option<u32> {
    const TENS: u64 = ONES * 0xf0;
    let above = (eight & TENS) | (eight.wrapping_add(ONES * 6) & TENS) >> 4;
    if above != ONES * 0x33 {
        return None;
    }
    let ones = eight & (ONES * 0x0f);
    let twos = ones * 10 + (ones >> 8);
    const MASK: u64 = 0xff_0000_00ff;
    let first = (twos & MASK).wrapping_mul(100 + (1_000_000 << 32));
    let second = (twos >> 16 & MASK).wrapping_mul(1 + (10_000 << 32));
    Some((first.wrapping_add(second) >> 32) as u32)
}

/// All other blanks, and what may not be a field at all, are left to the reader of all layouts.
#[inline(always)]
fn task_is_plain(task: &[u8]) -> Option<()> {
    let (head, tail) = (task.first()?, task.last()?);
    if !head.is_ascii_graphic() || !tail.is_ascii_graphic() {
        return None;
    }
    let perhaps = matches!(head, b'#' | b'=' | b'c' | b'C' | b'R' | b'v');
    (!perhaps || !special(task)).then_some(())
}

fn special(task: &[u8]) -> bool {
    let starts: [&[u8]; 6] = [b"#", b"=", b"cpus=", b"CPU:", b"RAWUS ", b"version = "];
    starts.iter().any(|start| task.starts_with(start))
}

/// `sec.fraction`, as nanoseconds, and the place behind it.
#[inline(always)]
pub(super) fn time(bytes: &[u8], start: usize) -> Option<(u64, usize)> {
    let (seconds, dot) = digits(bytes, start)?;
    if bytes.get(dot) != Some(&b'.') || dot - start > 9 {
        return None;
    }
    let ns = seconds * 1_000_000_000;
    let (fraction, end) = digits(bytes, dot + 1)?;
    let count = end - dot - 1;
    let scale = 10u64.pow(9u32.checked_sub(count as u32)?);
    Some((ns + fraction * scale, end))
}

#[inline(always)]
fn blanks(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at) == Some(&b' ') {
        at += 1;
    }
    at
}
