//! Pieces of an event's text by name, as the kernel's own format prints them.
//!
//! Values end at a blank, except names of tasks, which may have blanks and end at the field that follows
//! them. The `fields` option prints numbers as `pid=0xf (15)`: the first form is read.

use crate::Fault;

/// What follows the first `name=`. The name must stand at the start or after a blank.
///
/// Looked for by the equals signs, of which there are few.
#[inline(always)]
fn after<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'=', bytes).find_map(|at| {
        let start = at.checked_sub(name.len())?;
        let whole = start == 0 || bytes[start - 1].is_ascii_whitespace();
        (whole && bytes[start..at] == *name.as_bytes()).then(|| &text[at + 1..])
    })
}

/// Up to the first blank. Blanks before it are passed over.
#[inline]
pub(super) fn first_word(text: &str) -> &str {
    let text = text.trim_ascii_start();
    let end = text.bytes().position(|b| b.is_ascii_whitespace());
    &text[..end.unwrap_or(text.len())]
}

/// The text that `name=` points at: as it is, in `(0xffff88810905900c:start)`, as the `fields` option has it,
/// or in quotes, as probes have it.
pub(super) fn pointed<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let word = after(text, name).map(first_word)?;
    match word.strip_prefix("(0x") {
        Some(rest) => rest
            .strip_suffix(')')?
            .split_once(':')
            .map(|(_, text)| text),
        None => Some(word.trim_matches('"')),
    }
}

/// Bytes of a task's name in events.
const NAME_MOST: usize = 15;

/// The name of a task between `name=` and the field `next=`, and the text from that field on. A name may look
/// like that field: it is as long as a name can be.
#[inline(always)]
pub(super) fn task<'a>(
    text: &'a str,
    name: &'static str,
    next: &str,
) -> Result<(&'a str, &'a str), Fault> {
    let rest = after(text, name).ok_or(Fault::Field(name))?;
    let bytes = rest.as_bytes();
    let ends = memchr::memchr_iter(b'=', bytes).filter_map(|at| {
        let start = at.checked_sub(next.len())?;
        let whole = start > 0 && bytes[start - 1].is_ascii_whitespace();
        (whole && bytes[start..at] == *next.as_bytes()).then_some(start)
    });
    let mut end = None;
    for found in ends {
        if end.is_some() && rest[..found].trim_ascii().len() > NAME_MOST {
            break;
        }
        end = Some(found);
    }
    let (task, rest) = rest.split_at(end.ok_or(Fault::Field(name))?);
    Ok((task.trim_ascii(), rest))
}

/// A decimal number, or a hexadecimal one after `0x`.
#[inline]
pub(super) fn number<T: TryFrom<i128>>(word: &str) -> Option<T> {
    let (negative, digits) = match word.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, word),
    };
    let size = match digits.strip_prefix("0x") {
        Some(hex) => i128::from(u64::from_str_radix(hex, 16).ok()?),
        None => i128::from(digits.parse::<u64>().ok()?),
    };
    T::try_from(if negative { -size } else { size }).ok()
}

/// A hexadecimal number without `0x`.
pub(super) fn hex(word: &str) -> Option<u64> {
    u64::from_str_radix(word, 16).ok()
}

/// A function's name without offset, size and module.
pub(super) fn function_of(word: &str) -> &str {
    let end = word.bytes().position(|b| matches!(b, b'+' | b'/'));
    &word[..end.unwrap_or(word.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_their_whole_name() {
        let text = "prev_pid=7 pid=0xf (15) prio=0x78 (120) func=a+0x1/0x2 [mod]";
        assert_eq!(pointed(text, "pid"), Some("0xf"));
        assert_eq!(pointed(text, "prev_pid"), Some("7"));
        assert_eq!(pointed(text, "func").map(function_of), Some("a"));
        assert_eq!(pointed(text, "rio"), None);
    }

    #[test]
    fn names_of_tasks_may_have_blanks_and_other_fields_in_them() {
        let name = |text| task(text, "comm", "pid").map(|it| it.0);
        assert_eq!(name("x_comm=a comm=b pid=1"), Ok("b"));
        assert_eq!(name("comm=a pid b=c pid=12 prio=1"), Ok("a pid b=c"));
        assert_eq!(name("comm=c-7 pid=9 pid=12 prio=1"), Ok("c-7 pid=9"));
        assert_eq!(name("comm=a pid=12 next_comm=b pid=1"), Ok("a"));
        assert_eq!(name("comm=x"), Err(Fault::Field("comm")));
    }

    #[test]
    fn texts_behind_pointers() {
        let text = "rcuname=(0xffff88810905900c:rcu_preempt) gpevent=end";
        assert_eq!(pointed(text, "rcuname"), Some("rcu_preempt"));
        assert_eq!(pointed(text, "gpevent"), Some("end"));
        assert_eq!(pointed("s=(0xff)", "s"), None);
    }

    #[test]
    fn numbers_keep_to_their_type() {
        assert_eq!(number::<u32>("4294967296"), None);
        assert_eq!(number::<i64>("-1108"), Some(-1108));
        assert_eq!(number::<u32>("-1"), None);
        assert_eq!(number::<u64>("0xffffffffffffffff"), Some(u64::MAX));
        assert_eq!(number::<u64>(""), None);
    }
}
