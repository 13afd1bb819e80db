//! The layout of the tracefs file, and no other: every byte once, and `None` at the first that is not as expected.
//!
//! ```text
//!           <idle>-0       [005] d.s2.     1.430013: softirq_raise: vec=9 [action=RCU]
//! ```
//!
//! The line starts with a blank, as the kernel pads every name of a task; flags may be missing. All cuts are made at
//! ASCII bytes, so that no piece can be half a character.

use super::{CPUS_MOST, Flags, Record, Unit};

pub(super) fn parse(line: &str) -> Option<Record<'_>> {
    let bytes = line.as_bytes();
    if bytes.first() != Some(&b' ') {
        return None;
    }
    let open = memchr::memchr(b'[', bytes)?;
    let (task, pid) = who(line, open)?;
    let (cpu, at) = number(bytes, open + 1)?;
    if cpu >= u64::from(CPUS_MOST) || bytes.get(at) != Some(&b']') {
        return None;
    }
    let start = blanks(bytes, at + 1);
    let end = word_end(bytes, start);
    // Without irq-info the time follows at once.
    let (flags, start) = if bytes[end - 1] == b':' {
        ("", start)
    } else {
        let next = blanks(bytes, end);
        if next == end {
            return None;
        }
        (&line[start..end], next)
    };
    let (time_ns, at) = time(bytes, start)?;
    let start = blanks(bytes, at);
    if start == at {
        return None;
    }
    let (name, end) = name(bytes, start)?;
    let event = &line[name..end - 1];
    Some(Record {
        line: 0,
        task,
        pid,
        cpu: cpu as u32,
        flags: Flags(flags),
        time_ns,
        unit: Unit::Seconds,
        event,
        text: line[end..].trim_ascii(),
    })
}

/// Where the name of an event starts, behind its subsystem, and where its colon ends. The name has no bracket in it: that
/// would be a system call, or a difference of times.
#[inline(always)]
fn name(bytes: &[u8], start: usize) -> Option<(usize, usize)> {
    let (mut name, mut colon, mut at) = (start, None, start);
    while let Some(&byte) = bytes.get(at) {
        if byte == b' ' {
            break;
        }
        if !byte.is_ascii_graphic() || byte == b'(' {
            return None;
        }
        if byte == b':' {
            name = colon.map_or(name, |colon: usize| colon + 1);
            colon = Some(at);
        }
        at += 1;
    }
    (colon? + 1 == at).then_some((name, at))
}

/// `task-pid`, in front of the bracket.
#[inline(always)]
fn who(line: &str, open: usize) -> Option<(&str, u32)> {
    let bytes = &line.as_bytes()[..open];
    let end = bytes.iter().rposition(|b| *b != b' ')? + 1;
    let (mut at, mut pid, mut unit) = (end, 0u64, 1u64);
    while at > 0 && bytes[at - 1].is_ascii_digit() && end - at < 10 {
        at -= 1;
        pid += unit * u64::from(bytes[at] - b'0');
        unit *= 10;
    }
    if at == end || at == 0 || bytes[at - 1] != b'-' {
        return None;
    }
    let task = line[..at - 1].trim_ascii();
    let first = *task.as_bytes().first()?;
    // What may be something else altogether.
    if first == b'#' || first == b'=' || task.starts_with("cpus=") || task.starts_with("CPU:") {
        return None;
    }
    if matches!(first, b'R' | b'v')
        && (task.starts_with("RAWUS ") || task.starts_with("version = "))
    {
        return None;
    }
    // Other blanks are the business of whoever reads all layouts.
    if !first.is_ascii_graphic() || !task.as_bytes()[task.len() - 1].is_ascii_graphic() {
        return None;
    }
    Some((task, u32::try_from(pid).ok()?))
}

/// `sec.fraction:`, as nanoseconds, and the place behind it.
#[inline(always)]
fn time(bytes: &[u8], start: usize) -> Option<(u64, usize)> {
    let (seconds, dot) = number(bytes, start)?;
    if bytes.get(dot) != Some(&b'.') || dot - start > 9 {
        return None;
    }
    let (fraction, end) = number(bytes, dot + 1)?;
    let digits = end - dot - 1;
    if bytes.get(end) != Some(&b':') || digits > 9 {
        return None;
    }
    const SCALE: [u64; 10] = [
        1_000_000_000,
        100_000_000,
        10_000_000,
        1_000_000,
        100_000,
        10_000,
        1000,
        100,
        10,
        1,
    ];
    let ns = seconds * 1_000_000_000 + fraction * SCALE[digits];
    Some((ns, end + 1))
}

/// A decimal number of at most ten digits, and the place behind it.
#[inline(always)]
fn number(bytes: &[u8], start: usize) -> Option<(u64, usize)> {
    let (mut at, mut value) = (start, 0u64);
    while let Some(&byte) = bytes.get(at) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value * 10 + u64::from(digit);
        at += 1;
        if at - start > 10 {
            return None;
        }
    }
    (at > start).then_some((value, at))
}

#[inline(always)]
fn blanks(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at) == Some(&b' ') {
        at += 1;
    }
    at
}

/// Where the word ends. Only a blank ends it here; a word with another one in it has none of the endings looked for.
#[inline(always)]
fn word_end(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(|b| b.is_ascii_graphic()) {
        at += 1;
    }
    at
}
