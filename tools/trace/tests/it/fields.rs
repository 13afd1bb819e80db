//! Events made of fields are the events of the text that the fields stand for, record by record.

use quiescent_trace::{Input, Reader, Record};

/// What a record says, without the text that only one of both has.
fn said(record: &Record<'_>) -> String {
    let event = match record.decode() {
        Ok(event) => format!("{event:?}"),
        // Which field it is may have another name in the text.
        Err(_) => "damaged".to_owned(),
    };
    format!(
        "{} {}-{} [{}] {:?} {} {:?} {} {event}",
        record.line,
        record.task,
        record.pid,
        record.cpu,
        record.flags,
        record.time_ns,
        record.unit,
        record.event
    )
}

/// Reads a trace twice: its records, and its text. Gives the number of events that had no text.
pub fn same_as_text(name: &str, open: impl Fn() -> Input) -> usize {
    let (mut records, mut text) = (Reader::new(name, open()), Reader::new(name, open().text()));
    let mut without_text = 0;
    loop {
        let (found, expected) = (records.next_record(), text.next_record());
        let (Ok(found), Ok(expected)) = (&found, &expected) else {
            // The error names the same line.
            assert_eq!(
                found.err().map(|e| e.to_string()),
                expected.err().map(|e| e.to_string())
            );
            return without_text;
        };
        assert_eq!(
            found.as_ref().map(said),
            expected.as_ref().map(said),
            "{name}"
        );
        let (Some(found), Some(expected)) = (found, expected) else {
            break;
        };
        if found.text.is_empty() && !expected.text.is_empty() {
            without_text += 1;
        } else {
            assert_eq!(found.text, expected.text, "{name}");
        }
    }
    assert_eq!(records.summary(), text.summary(), "{name}");
    // A thread that makes them ahead makes the same.
    let mut ahead = Reader::ahead(name, open());
    while ahead.next_record().expect("reads").is_some() {}
    assert_eq!(ahead.summary(), text.summary(), "{name}");
    without_text
}
