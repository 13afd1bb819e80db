//! Layouts that are known by their time: in seconds, or the kernel's latency layout.

use super::{Pieces, Unit, column_of_cpu, fast, is_flags, is_number, last_word, record, who};
use crate::Fault;

/// Layouts with a time in seconds and `[cpu]`, with flags or without, or CPU and flags in one word, as
/// `trace-cmd report -l` has them: `comm-pid  1d..2. 14991.202563: event: text`.
pub(super) fn timed(line: &str) -> Option<Result<Pieces<'_>, Fault>> {
    // The first word that is a time decides; a name may look like columns.
    let from = column_of_cpu(line.as_bytes()).unwrap_or(0);
    let (left, time, after) =
        memchr::memchr_iter(b':', &line.as_bytes()[from..]).find_map(|at| {
            let (left, after) = line.split_at(from + at);
            let after = &after[1..];
            let ends = after.bytes().next().is_none_or(|b| b.is_ascii_whitespace());
            let time = unglued(last_word(left).1);
            let left = &left[..left.len() - time.len()];
            let (ns, end) = fast::time(time.as_bytes(), 0)?;
            let time = Ok((ns, Unit::Seconds));
            (ends && from + at == left.len() + end).then_some((left, time, after))
        })?;
    let (before, word) = last_word(left.trim_ascii_end());
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    let (cpu, flags) = word.split_at(digits);
    let (left, cpu, flags) = match (digits, in_brackets(word)) {
        (0, Some(cpu)) => (before, cpu, ""),
        (0, None) => {
            let (left, cpu) = last_word(before.trim_ascii_end());
            (left, in_brackets(cpu)?, word)
        }
        _ if flags.starts_with("-0x") => (before, cpu, ""),
        _ if is_flags(flags) => (before, cpu, flags),
        _ => return None,
    };
    let (task, pid) = who(left)?;
    Some(record((task, pid, cpu), flags, time, after))
}

/// Letters of the flags in front of a time without a blank: kernels whose traces have such lines write five.
const GLUED: usize = 5;

/// The time at the end of a word: one of many digits may touch the flags, whose last letter may be a digit.
fn unglued(word: &str) -> &str {
    let Some(dot) = word.rfind('.').filter(|dot| *dot > GLUED) else {
        return word;
    };
    let digits = word[..dot].bytes().rev().take_while(u8::is_ascii_digit);
    match word.split_at_checked(GLUED.max(dot - digits.count())) {
        Some((flags, time)) if is_flags(flags) && !is_number(flags) => time,
        _ => word,
    }
}

/// The number in `[003]`.
fn in_brackets(word: &str) -> Option<&str> {
    let number = word.strip_prefix('[')?.strip_suffix(']')?;
    is_number(number).then_some(number)
}

/// The latency layout: CPU and flags in one word, microseconds with a mark.
pub(super) fn latency(line: &str) -> Option<Result<Pieces<'_>, Fault>> {
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
