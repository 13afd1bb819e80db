//! Pieces of the kernel's text: the columns of a line, numbers, flags, and what may not end a line.

/// The columns of a line in front of its event, as `%16s-%-7d [%03d] FLAGS  SECONDS.NANOSECONDS: `. Without
/// flags that column is left out; a time without a unit has no dot.
pub(crate) fn push_columns(
    out: &mut Vec<u8>,
    (task, pid, cpu): (&[u8], u32, u32),
    flags: Option<(u8, u8)>,
    (time, seconds): (u64, bool),
) {
    out.extend(std::iter::repeat_n(
        b' ',
        16usize.saturating_sub(task.len()),
    ));
    push_line(out, task);
    out.push(b'-');
    let start = out.len();
    push_decimal(out, pid.into(), 1);
    while out.len() < start + 7 {
        out.push(b' ');
    }
    out.extend_from_slice(b" [");
    push_decimal(out, cpu.into(), 3);
    out.extend_from_slice(b"] ");
    if let Some((flags, depth)) = flags {
        push_flags(out, flags, depth);
    }
    out.push(b' ');
    if seconds {
        push_decimal(out, time / 1_000_000_000, 1);
        out.push(b'.');
        push_decimal(out, time % 1_000_000_000, 9);
    } else {
        push_decimal(out, time, 1);
    }
    out.extend_from_slice(b": ");
}

/// The irq-info column: bits as in the kernel's `trace` file.
pub(crate) fn push_flags(out: &mut Vec<u8>, flags: u8, depth: u8) {
    let has = |bit: u8| flags & bit != 0;
    out.push(match (has(0x01), has(0x80)) {
        (true, true) => b'D',
        (true, false) => b'd',
        (false, true) => b'b',
        (false, false) => b'.',
    });
    // Bit 1 is a lazy wish to reschedule, on kernels that have it.
    out.push(match (has(0x04), has(0x20), has(0x02)) {
        (true, true, true) => b'B',
        (true, true, false) => b'N',
        (true, false, true) => b'b',
        (true, false, false) => b'n',
        (false, true, true) => b'L',
        (false, true, false) => b'p',
        (false, false, true) => b'l',
        (false, false, false) => b'.',
    });
    out.push(match (has(0x40), has(0x08), has(0x10)) {
        (true, true, _) => b'Z',
        (true, false, _) => b'z',
        (false, true, true) => b'H',
        (false, true, false) => b'h',
        (false, false, true) => b's',
        (false, false, false) => b'.',
    });
    for depth in [depth & 15, depth >> 4] {
        out.push(match depth {
            0 => b'.',
            depth => b"0123456789abcdef"[usize::from(depth)],
        });
    }
}

/// Appends text of which nothing may end the line.
pub(crate) fn push_line(out: &mut Vec<u8>, text: &[u8]) {
    if text.iter().any(u8::is_ascii_control) {
        out.extend(
            text.iter()
                .map(|b| if b.is_ascii_control() { b' ' } else { *b }),
        );
    } else {
        out.extend_from_slice(text);
    }
}

/// A number in at least so many digits.
pub(crate) fn push_decimal(out: &mut Vec<u8>, mut number: u64, least: usize) {
    let (mut digits, mut at) = ([b'0'; 20], 20);
    while number > 0 || at + least > 20 {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_those_of_the_kernel() {
        let line = |flags, seconds| {
            let mut out = Vec::new();
            let time = (1_000_000_007, seconds);
            push_columns(&mut out, (b"a\nb", 7, 12), flags, time);
            String::from_utf8(out).expect("is text")
        };
        let who = "             a b-7       [012] ";
        assert_eq!(
            line(Some((0x09, 0x12)), true),
            format!("{who}d.h21 1.000000007: ")
        );
        assert_eq!(line(None, false), format!("{who} 1000000007: "));
    }

    #[test]
    fn numbers_have_their_digits() {
        let decimal = |number, least| {
            let mut out = Vec::new();
            push_decimal(&mut out, number, least);
            String::from_utf8(out).expect("is text")
        };
        assert_eq!(decimal(0, 1), "0");
        assert_eq!(decimal(7, 3), "007");
        assert_eq!(decimal(u64::MAX, 1), u64::MAX.to_string());
    }
}
