use super::*;
use std::io::Write;

fn read(bytes: Vec<u8>) -> String {
    let mut text = String::new();
    let mut input = from_read("packed", Cursor::new(bytes))
        .expect("opens")
        .text();
    input.read_to_string(&mut text).expect("reads");
    text
}

#[test]
fn what_is_something_else_is_refused_by_name() {
    let refused = |bytes: &[u8]| {
        let input = Cursor::new(bytes.to_vec());
        from_read("x.bin", input)
            .expect_err("is refused")
            .to_string()
    };
    let perf = refused(b"PERFILE2xxxxxxxxxxxx");
    assert!(perf.starts_with("x.bin: this is a perf.data file; ") && perf.contains("perf script"));
    let dat = refused(b"\x17\x08\x44tracing7\0");
    assert!(dat.contains("in a pipe") && dat.contains("save it to a file"));
}

#[test]
fn a_missing_file_is_named_with_a_remedy() {
    let text = open("/nowhere/t.txt").expect_err("fails").to_string();
    assert!(text.starts_with("/nowhere/t.txt: ") && text.contains("`-`"));
}

#[test]
fn short_and_empty_input_is_plain() {
    for bytes in [&b""[..], b"#", b"\xfd7z", b"\x28\xb5", b"\x17\x08\x44"] {
        let mut text = Vec::new();
        let mut input = from_read("short", Cursor::new(bytes))
            .expect("opens")
            .text();
        input.read_to_end(&mut text).expect("reads");
        assert_eq!(text, bytes);
    }
}

#[test]
fn gzip_of_several_members() {
    let mut packed = Vec::new();
    for part in ["one\n", "two\n"] {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(part.as_bytes()).expect("packs");
        packed.extend(gzip.finish().expect("packs"));
    }
    assert_eq!(read(packed), "one\ntwo\n");
}

/// A zstd frame of one block that is not compressed (RFC 8878).
fn frame(text: &str) -> Vec<u8> {
    let mut bytes = ZSTD.to_vec();
    bytes.extend([0x20, text.len() as u8]);
    let block = (text.len() as u32) << 3 | 1;
    bytes.extend(&block.to_le_bytes()[..3]);
    bytes.extend(text.as_bytes());
    bytes
}

#[test]
fn zstd_of_several_frames_with_one_to_be_skipped() {
    let mut packed = frame("a\n");
    packed.extend(b"\x50\x2a\x4d\x18\x03\0\0\0xyz");
    packed.extend(frame("a longer second frame\n"));
    assert_eq!(read(packed), "a\na longer second frame\n");
}

#[test]
fn a_frame_that_wants_too_much_memory_is_refused() {
    let bomb = b"\x28\xb5\x2f\xfd\x00\xa0\x01\x00\x00".to_vec();
    let refused = from_read("bomb.zst", Cursor::new(bomb)).expect_err("is refused");
    assert!(refused.to_string().contains("1073741824"));
}

#[test]
fn a_cut_frame_is_an_error() {
    let mut packed = frame("some text\n");
    packed.truncate(packed.len() - 3);
    let error = from_read("cut.zst", Cursor::new(packed)).expect_err("is cut");
    let said = error.to_string();
    assert!(said.starts_with("cut.zst: "), "{said}");
    assert!(said.ends_with("else copy or record it again"), "{said}");
}

#[test]
fn the_kind_is_known_by_what_is_in_the_file() {
    let kind = |bytes: &[u8]| {
        by_kind("x", bytes.to_vec(), Box::new(io::empty()))
            .map(|(_, kind)| kind)
            .map_err(|e| e.to_string())
    };
    // A packet with a time and a sequence, and texts that start with the byte of a packet.
    let packet = b"\x0a\x04\x40\x05\x50\x01";
    assert_eq!(kind(packet).as_deref(), Ok("Perfetto trace"));
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(packet).expect("memory");
    let gzip = gzip.finish().expect("memory");
    assert_eq!(kind(&gzip).as_deref(), Ok("Perfetto trace, gzip"));
    for text in [
        "\n",
        "\n# tracer: nop\n",
        "\n\t a-1 [000] 1.0: x: y\n",
        "\n\u{1b}[0m x",
    ] {
        assert_eq!(
            kind(text.as_bytes()).as_deref(),
            Ok("ftrace text"),
            "{text:?}"
        );
    }
    let wide: Vec<u8> = "a-1 [000] 1.0: x: y"
        .encode_utf16()
        .flat_map(u16::to_be_bytes)
        .collect();
    let refused = kind(&wide).expect_err("is refused");
    assert!(
        refused.contains("UTF-16 text; turn it into UTF-8"),
        "{refused}"
    );
}

#[test]
fn a_text_that_begins_as_zlib_does_is_text() {
    let text = "x^é-41 [001] d..2. 100.0: cpu_idle: state=1 cpu_id=1\n";
    for cut in 1..text.len() {
        assert_eq!(zlib_at(&text.as_bytes()[..cut]), None, "{cut}");
    }
    assert_eq!(zlib_at(b"x^\xcb\xc8\xe4\x02"), Some(0));
}
