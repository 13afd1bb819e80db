//! Layouts in which the CPU is glued to the flags: the kernel's latency layout, and that of `trace-cmd report
//! -l`.

use super::{CPUS_MOST, Record, Unit, record, time_of, who, word};
use crate::Fault;

/// The latency layout of `trace-cmd report -l`: `comm-pid  1d..2. 14991.202563: event: text`.
pub(super) fn glued(line: &str) -> Option<Result<Record<'_>, Fault>> {
    let mut before = "";
    let mut rest = line;
    loop {
        let (found, after) = word(rest);
        if found.is_empty() {
            return None;
        }
        let time = found.strip_suffix(':').filter(|t| is_time(t));
        let Some(time) = time else {
            (before, rest) = (found, after);
            continue;
        };
        // The first word that is a time decides.
        let digits = before.bytes().take_while(u8::is_ascii_digit).count();
        let (cpu, flags) = before.split_at(digits);
        let letters = |b: u8| b.is_ascii_alphanumeric() || b == b'.';
        let column = (4..=8).contains(&flags.len()) && flags.bytes().all(letters);
        if digits == 0 || !(column || flags.starts_with("-0x")) {
            return None;
        }
        let start = before.as_ptr() as usize - line.as_ptr() as usize;
        let (task, pid) = who(&line[..start])?;
        let cpu = match cpu.parse::<u32>() {
            Ok(cpu) if cpu < CPUS_MOST => cpu,
            _ => return Some(Err(Fault::Cpu)),
        };
        let flags = if flags.starts_with("-0x") { "" } else { flags };
        let made = time_of(time).and_then(|when| record((task, pid, cpu), flags, when, after));
        return Some(made);
    }
}

/// `digits.digits`.
pub(super) fn is_time(word: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    word.split_once('.')
        .is_some_and(|(whole, fraction)| digits(whole) && digits(fraction))
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
    let head = head.trim_end();
    let column = head.rfind(char::is_whitespace)? + 1;
    let (left, column) = head.split_at(column);
    let digits = column.bytes().take_while(u8::is_ascii_digit).count();
    let (cpu, flags) = column.split_at(digits);
    let (task, pid) = who(left)?;
    let cpu = match cpu.parse::<u32>() {
        Ok(cpu) if cpu < CPUS_MOST => cpu,
        Ok(_) => return Some(Err(Fault::Cpu)),
        Err(_) => return None,
    };
    let us = time.parse::<u64>().ok().and_then(|us| us.checked_mul(1000));
    let rest = line[at..].split_once(':').map_or("", |(_, rest)| rest);
    let when = us.ok_or(Fault::Time).map(|ns| (ns, Unit::Seconds));
    Some(when.and_then(|when| record((task, pid, cpu), flags, when, rest)))
}
