//! Events made of fields are the events of the text of the same trace, record by record.

use quiescent_trace::{Input, Reader, Summary};

/// What each record says: its place in time, and its event.
pub fn said(reader: &mut Reader<'_>) -> Vec<String> {
    let mut all = Vec::new();
    while let Some(it) = reader.next_record().expect("reads") {
        // Which field is missing may have another name in the text.
        let event = it.decode().map_err(|_| "damaged");
        let (time, unit) = (it.time_ns, it.unit);
        all.push(format!(
            "{} [{}] {time} {unit:?} {} {event:?}",
            it.pid,
            it.cpu,
            it.event()
        ));
    }
    all
}

/// Reads a trace of fields and its text; and the former with a thread that makes records ahead.
pub fn same_as_text(name: &str, open: impl Fn() -> Input<'static>, text: &str) -> Summary {
    let mut records = Reader::new(name, open());
    let (found, expected) = (
        said(&mut records),
        said(&mut Reader::new(name, text.as_bytes())),
    );
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected, "{name}");
    }
    assert_eq!(found.len(), expected.len(), "{name}");
    let mut ahead = Reader::ahead(name, open());
    while ahead.next_record().expect("reads").is_some() {}
    assert_eq!(ahead.summary(), records.summary(), "{name}");
    records.summary().clone()
}
