//! Pieces of a record's text: flags, and what may not end a line.

/// What is looked at of the irq-info column, in its places; bits as in the kernel's `trace` file.
pub(crate) fn push_flags(out: &mut Vec<u8>, flags: u8) {
    let has = |bits: u8| flags & bits != 0;
    let irqs = if has(0x01) { b'd' } else { b'.' };
    let context = match (has(0x48), has(0x10)) {
        (true, _) => b'h',
        (false, true) => b's',
        (false, false) => b'.',
    };
    out.extend([irqs, b'.', context]);
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
    fn flags_and_names_are_as_text_has_them() {
        let mut out = Vec::new();
        push_line(&mut out, b"a\nb ");
        push_flags(&mut out, 0x09);
        push_flags(&mut out, 0x30);
        push_flags(&mut out, 0x44);
        assert_eq!(out, b"a b d.h..s..h");
    }
}
