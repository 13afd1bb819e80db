//! One scene in every form in which people have a trace: figures and counts are those of the plain form, or a
//! message says what to do.
//!
//! `data/scene.txt` is the plain form: five wake-ups, two callbacks and a grace period on two CPUs, with
//! invented names. The other forms are made of it here, as atrace, systrace, Chrome, trace-cmd and an editor
//! write them.

use quiescent_trace::{Analysis, Error, Filter, Findings, Kind, Reader, Table, from_read};
use std::fmt::Write as _;
use std::io::{Cursor, Write as _};

const SCENE: &str = include_str!("../data/scene.txt");

/// What an analysis finds in these bytes.
fn found(kind: Kind, bytes: impl Into<Vec<u8>>) -> Result<Findings, Error> {
    found_in(kind, bytes, Filter::default())
}

fn found_in(kind: Kind, bytes: impl Into<Vec<u8>>, filter: Filter) -> Result<Findings, Error> {
    let mut reader = Reader::new("scene", from_read("scene", Cursor::new(bytes.into()))?);
    let mut analysis = Analysis::new(kind, filter);
    while let Some(record) = reader.next_record()? {
        analysis.feed(&record);
    }
    analysis.finish(reader.summary())
}

const KINDS: [Kind; 4] = [Kind::Wakeups, Kind::Callbacks, Kind::Gps, Kind::Idle];

/// The tables of all analyses; `unread` lines and fields are not read.
fn tables(bytes: &[u8], unread: u64) -> Vec<Table> {
    let of = |kind| {
        let found = found(kind, bytes).expect("is read");
        let about = found.about;
        assert_eq!(about.unparsed.count() + about.undecoded.count(), unread);
        assert_eq!(about.records, 41);
        found.tables
    };
    KINDS.into_iter().flat_map(of).collect()
}

fn zlib(text: &str) -> Vec<u8> {
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    zlib.write_all(text.as_bytes()).expect("packs");
    zlib.finish().expect("packs")
}

/// As in JSON, with every letter that may be written in two ways written in the longer one.
fn json(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        let _always = match letter {
            '\n' => write!(out, "\\n"),
            '<' => write!(out, "\\u003c"),
            '/' => write!(out, "\\/"),
            letter => write!(out, "{letter}"),
        };
    }
    let events = r#"{"name": "a \"systemTraceEvents\": \"x", "args": {"systemTraceEvents": "y"}}"#;
    format!("{{ \"traceEvents\": [{events}], \"systemTraceEvents\" : \"{out}\", \"z\": [1]}}\n")
}

#[test]
fn every_form_has_the_figures_of_the_plain_one() {
    let plain = tables(SCENE.as_bytes(), 0);
    let atrace = format!("capturing trace... done\nTRACE:\n{SCENE}");
    let page = format!(
        "<!DOCTYPE html>\n<html>\n<script>var x = \"a-1 [000] d..2. 9.0: a: b\";\n{}\n</script>\n\
         <script class=\"trace-data\" type=\"application/text\">\n{SCENE}  </script>\n\
         <script class=\"trace-data\" type=\"application/text\">\nPROCESS DUMP\nUSER PID\n</script>\n\
         </html>\n",
        "x".repeat(200_000)
    );
    let packed = [b"capturing trace... done\nTRACE:\n", &zlib(SCENE)[..]].concat();
    let mark = "\u{feff}";
    for (form, bytes) in [
        ("atrace", atrace.clone().into_bytes()),
        ("atrace -z", packed),
        ("zlib", zlib(SCENE)),
        ("zlib of a page", zlib(&page)),
        ("a page", page.into_bytes()),
        ("JSON", json(SCENE).into_bytes()),
        ("a mark", format!("{mark}{SCENE}").into_bytes()),
        (
            "a mark, JSON",
            format!("{mark}{}", json(SCENE)).into_bytes(),
        ),
    ] {
        assert!(tables(&bytes, 0) == plain, "{form}");
    }
}

#[test]
fn a_time_of_many_digits_touches_the_flags() {
    let later = |gap: &str| SCENE.replace(".   100.", &format!("{gap}1831645."));
    let plain = tables(later(". ").as_bytes(), 0);
    assert!(tables(later(".").as_bytes(), 0) == plain);
    // The last flag may be a digit: a task that may not be migrated.
    let digit = later(".").replace("[000] d..2.1", "[000] d..211");
    assert!(tables(digit.as_bytes(), 0) == plain);
}

#[test]
fn names_that_look_like_fields_are_parsed_from_the_right() {
    let plain = tables(SCENE.as_bytes(), 0);
    for name in [
        "[b]: c-7 pid=9",
        "x prev_pid=3",
        "x next_pid=3",
        "p pid=9 prio=1",
        "a target_cpu=7",
    ] {
        let column = |pid| format!("{:>16}-{pid}", name);
        let named = SCENE.replace("          worker-41", &column(41));
        let named = named.replace("comm=worker", &format!("comm={name}"));
        let mut named = tables(named.as_bytes(), 0);
        for row in named.iter_mut().flat_map(|table| &mut table.rows) {
            row.labels
                .iter_mut()
                .filter(|it| *it == name)
                .for_each(|it| *it = "worker".into());
        }
        assert!(named == plain, "{name}");
    }
}

#[test]
fn what_cannot_be_read_names_its_cause() {
    let unknown =
        format!("{SCENE}          worker-41    [001] d..2.   100.050000: [UNKNOWN EVENT]\n");
    let about = found(Kind::Wakeups, unknown).expect("is read").about;
    let said = about.unparsed.first()[0].to_string();
    assert!(said.contains("had no format for this event"), "{said}");
    let said = found(Kind::Wakeups, r#"{"traceEvents": []}"#)
        .expect_err("has none")
        .to_string();
    assert!(
        said.contains("JSON without a text `systemTraceEvents`"),
        "{said}"
    );
    let cut = json(SCENE);
    let said = found(Kind::Wakeups, &cut[..cut.len() / 2])
        .expect_err("is cut")
        .to_string();
    assert!(said.contains("has no end"), "{said}");
    let packed = zlib(SCENE);
    let said = found(Kind::Wakeups, &packed[..packed.len() / 2])
        .expect_err("is cut")
        .to_string();
    assert!(said.contains("cut short or damaged"), "{said}");
}
