//! Layouts in which the CPU is glued to the flags: the kernel's latency layout, and that of `trace-cmd report
//! -l`.

use super::{Record, Unit, is_flags, is_time, record, time_of, who};
use crate::Fault;

/// The latency layout of `trace-cmd report -l`: `comm-pid  1d..2. 14991.202563: event: text`.
pub(super) fn glued(line: &str) -> Option<Result<Record<'_>, Fault>> {
    // The first word that is a time decides.
    let (left, time, after) = memchr::memchr_iter(b':', line.as_bytes()).find_map(|colon| {
        let left = &line[..colon];
        let start = left.rfind(|c: char| c.is_ascii_whitespace())? + 1;
        let after = &line[colon + 1..];
        let ends = after.bytes().next().is_none_or(|b| b.is_ascii_whitespace());
        (ends && is_time(&left[start..])).then(|| (&left[..start], &left[start..], after))
    })?;
    let left = left.trim_ascii_end();
    let start = left.rfind(|c: char| c.is_ascii_whitespace())? + 1;
    let (left, column) = left.split_at(start);
    let digits = column.bytes().take_while(u8::is_ascii_digit).count();
    let (cpu, mut flags) = column.split_at(digits);
    if flags.starts_with("-0x") {
        flags = "";
    } else if !is_flags(flags) {
        return None;
    }
    if digits == 0 {
        return None;
    }
    let (task, pid) = who(left)?;
    Some(record((task, pid, cpu), flags, time_of(time), after))
}

/// The latency layout: CPU and flags in one word, microseconds with a mark.
pub(super) fn latency(line: &str) -> Option<Result<Record<'_>, Fault>> {
    let bytes = line.as_bytes();
    let is_time = |at: &usize| {
        let digit = at.checked_sub(1).is_some_and(|i| bytes[i].is_ascii_digit());
        let marked = matches!(
            bytes.get(at + 2),
            Some(b' ' | b'+' | b'!' | b'#' | b'*' | b'@' | b'$')
        );
        digit && (bytes.get(at + 2) == Some(&b':') || marked && bytes.get(at + 3) == Some(&b':'))
    };
    let at = memchr::memmem::find_iter(bytes, "us").find(is_time)?;
    let head = &line[..at];
    let digits = head.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (head, time) = head.split_at(head.len() - digits);
    let head = head.trim_ascii_end();
    let column = head.rfind(|c: char| c.is_ascii_whitespace())? + 1;
    let (left, column) = head.split_at(column);
    let digits = column.bytes().take_while(u8::is_ascii_digit).count();
    let (cpu, flags) = column.split_at(digits);
    let (task, pid) = who(left)?;
    if digits == 0 {
        return None;
    }
    let us = time.parse::<u64>().ok().and_then(|us| us.checked_mul(1000));
    let rest = line[at..].split_once(':').map_or("", |(_, rest)| rest);
    let when = us.ok_or(Fault::Time).map(|ns| (ns, Unit::Seconds));
    Some(record((task, pid, cpu), flags, when, rest))
}
