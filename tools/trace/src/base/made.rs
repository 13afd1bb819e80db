//! Pieces of the kernel's text: flags, and what may not end a line.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_names_are_as_the_kernel_prints_them() {
        let mut out = Vec::new();
        push_line(&mut out, b"a\nb ");
        push_flags(&mut out, 0x09, 0x12);
        assert_eq!(out, b"a b d.h21");
    }
}
