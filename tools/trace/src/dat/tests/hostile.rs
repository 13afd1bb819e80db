//! Files that are damaged, cut or made to do harm: an error or an end, no panic, no endless loop, little
//! memory.

use super::*;
use proptest::prelude::*;

/// Reads a file through everything there is; how many lines, at most as many as it can have.
fn consume(bytes: Vec<u8>) -> Result<u64, String> {
    let most = bytes.len() as u64 + 1000;
    let input = from_seek("hostile.dat", Cursor::new(bytes)).map_err(|e| e.to_string())?;
    let mut reader = Reader::new("hostile.dat", input);
    let mut lines = 0;
    while let Some(record) = reader.next_record().map_err(|e| e.to_string())? {
        let _known = record.decode().is_ok();
        lines += 1;
        assert!(lines < most, "more lines than bytes");
    }
    Ok(lines)
}

fn all_kinds() -> Vec<Vec<u8>> {
    let kind = |version, packed, big, long| {
        let build = Build {
            version,
            packed,
            big,
            long,
        };
        build.file()
    };
    vec![
        kind(6, Packed::None, false, 8),
        kind(6, Packed::None, true, 4),
        kind(7, Packed::None, false, 8),
        kind(7, Packed::Zstd, true, 8),
        kind(7, Packed::Zlib, false, 4),
    ]
}

#[test]
fn files_cut_at_every_length_name_a_byte() {
    for whole in all_kinds() {
        let mut refused = 0;
        for length in 0..whole.len() {
            if let Err(e) = consume(whole[..length].to_vec()) {
                assert!(e.contains("byte ") && e.contains("; "), "{length}: {e}");
                refused += 1;
            }
        }
        // Short of the magic it is text; a last page may lose its unused end.
        assert!(refused + 600 > whole.len(), "{refused} of {}", whole.len());
    }
}

#[test]
fn every_byte_changed() {
    for (n, whole) in all_kinds().into_iter().enumerate() {
        for at in 10..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= [0x01, 0x80, 0xff, 0x10][(at + n) % 4];
            let _either = consume(bytes);
        }
    }
}

#[test]
fn a_chain_of_options_that_comes_back_is_reported() {
    let mut bytes = Build::little(7).file();
    let first = u64::from_le_bytes(bytes[24..32].try_into().expect("eight"));
    // The last option of the first chain says where the next is.
    let end = bytes.len();
    bytes[end - 8..].copy_from_slice(&first.to_le_bytes());
    let error = consume(bytes).expect_err("is refused");
    assert!(
        error.contains(&format!(
            "byte {first}: the chain of options comes back here"
        )),
        "{error}"
    );
}

/// The first place of some bytes.
fn find(bytes: &[u8], what: &[u8]) -> usize {
    memchr::memmem::find(bytes, what).expect("is there")
}

#[test]
fn absurd_sizes_are_refused_before_memory_is_taken() {
    // header_page says its size.
    let mut bytes = Build::little(6).file();
    let at = find(&bytes, b"header_page\0") + 12;
    bytes[at..at + 8].copy_from_slice(&(1u64 << 60).to_le_bytes());
    let error = consume(bytes).expect_err("is refused");
    assert!(
        error.contains("header_page of 1152921504606846976 bytes"),
        "{error}"
    );
    // A page of 4 GB.
    let mut bytes = Build::little(6).file();
    bytes[14..18].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(
        consume(bytes)
            .expect_err("is refused")
            .contains("pages of 4294967295 bytes")
    );
    // Two to the 32 CPUs.
    let mut bytes = Build::little(6).file();
    let at = find(&bytes, b"options  \0") - 4;
    bytes[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(
        consume(bytes)
            .expect_err("is refused")
            .contains("4294967295 CPUs")
    );
}

#[test]
fn a_chunk_that_stands_for_gigabytes_is_refused() {
    for packed in [Packed::Zstd, Packed::Zlib] {
        let build = Build {
            packed,
            ..Build::little(7)
        };
        let mut bytes = build.file();
        let plain = (super::build::PAGE as u32).to_le_bytes();
        // The plain size of every chunk.
        let mut at = 0;
        while let Some(found) = memchr::memmem::find(&bytes[at..], &plain) {
            bytes[at + found..at + found + 4].copy_from_slice(&(2u32 << 30).to_le_bytes());
            at += found + 4;
        }
        let error = consume(bytes).expect_err("is refused");
        assert!(
            error.contains("byte") && error.contains("2147483648"),
            "{error}"
        );
    }
}

#[test]
fn an_unknown_compression_says_what_to_do() {
    let mut bytes = Build::little(7).file();
    bytes[18..22].copy_from_slice(b"lzma");
    let error = consume(bytes).expect_err("is refused");
    assert!(
        error.contains("`lzma`") && error.contains("trace-cmd convert"),
        "{error}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn bits_flipped_and_bytes_cut(
        kind in 0usize..5, flips in prop::collection::vec((any::<usize>(), any::<u8>()), 1..12),
        cut in any::<usize>(),
    ) {
        let mut bytes = all_kinds().swap_remove(kind);
        for (at, by) in flips {
            let at = 10 + at % (bytes.len() - 10);
            bytes[at] ^= by;
        }
        let length = bytes.len();
        if cut % 3 == 0 {
            bytes.truncate(10 + cut % (length - 10));
        }
        let _either = consume(bytes);
    }

    #[test]
    fn noise_behind_the_magic(bytes in prop::collection::vec(any::<u8>(), 0..3000), version in 6u8..8) {
        let start = [b"\x17\x08\x44tracing", &[b'0' + version, 0, 0, 8, 0, 2, 0, 0][..]].concat();
        let _either = consume([start, bytes].concat());
    }

    #[test]
    fn formats_of_any_text(text in "[ -~\n\t]{0,400}") {
        let _any = crate::dat::format::Format::parse(&text);
        for field in crate::dat::format::fields(&text) {
            let event = [7u8; 40];
            let _number = field.number(&event, true);
            let _text = field.text(&event, false);
        }
    }
}
