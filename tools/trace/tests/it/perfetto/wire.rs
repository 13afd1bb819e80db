//! Protobuf's wire format, written for the tests.

pub fn varint(out: &mut Vec<u8>, value: u64) {
    let mut rest = value;
    while rest > 127 {
        out.push((rest % 128) as u8 + 128);
        rest /= 128;
    }
    out.push(rest as u8);
}

pub fn number(out: &mut Vec<u8>, field: u32, value: u64) {
    varint(out, u64::from(field) * 8);
    varint(out, value);
}

pub fn bytes(out: &mut Vec<u8>, field: u32, value: &[u8]) {
    varint(out, u64::from(field) * 8 + 2);
    varint(out, value.len() as u64);
    out.extend(value);
}

pub fn text(out: &mut Vec<u8>, field: u32, value: &str) {
    bytes(out, field, value.as_bytes());
}
