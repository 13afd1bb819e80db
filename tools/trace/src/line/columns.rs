//! The kernel's columns in a line whose task has a name that looks like columns.

/// Where `[cpu]` is in the columns `%16s-%d (tgid) [%03d]`, which the kernel and trace-cmd print.
pub(super) fn column_of_cpu(line: &[u8]) -> Option<usize> {
    let skip = |at: usize, of: fn(&u8) -> bool| {
        let rest = line.get(at..).unwrap_or_default();
        at + rest.iter().take_while(|it| of(it)).count()
    };
    let pid = (line.get(16) == Some(&b'-')).then_some(17)?;
    let after = skip(pid, u8::is_ascii_digit);
    let mut at = skip(after, |it| *it == b' ');
    if after == pid || at == after {
        return None;
    }
    if line.get(at) == Some(&b'(') {
        at = skip(at + 1, |it| {
            *it == b' ' || *it == b'-' || it.is_ascii_digit()
        });
        at = skip(at, |it| *it == b')' || *it == b' ');
    }
    let end = skip(at + 1, u8::is_ascii_digit);
    (line.get(at) == Some(&b'[') && end > at + 1 && line.get(end) == Some(&b']')).then_some(at)
}
