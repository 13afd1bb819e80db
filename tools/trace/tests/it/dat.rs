//! Files that trace-cmd 3.1.6 wrote on Linux 6.18 are read as `trace-cmd report -t -N -l` prints them.
//!
//! Origin of `data/`: two instances of tracefs, recorded on a virtual machine with two CPUs; the second had
//! buffers so small that events were lost. `tests/data/trim.py` made the file small and says how; `trace-cmd
//! convert` made the other two of it, and `trace-cmd report` the text. The three files have the same events.
//! The formats of the system calls were left out, so that some events have none.

use super::fields::said;
use lzma_rust2::XzReader;
use quiescent_trace::{Options, Reader, Summary, Window, from_seek, recorded};
use std::io::{Cursor, Read};

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/");

fn bytes(name: &str) -> Vec<u8> {
    let bytes = std::fs::read(format!("{DATA}{name}")).expect("a file of the project");
    if !name.ends_with(".xz") {
        return bytes;
    }
    let mut plain = Vec::new();
    let mut reader = XzReader::new(&bytes[..], true);
    reader.read_to_end(&mut plain).expect("is whole");
    plain
}

const FILES: [&str; 3] = [
    "two-buffers-v6.dat.xz",
    "two-buffers-v7.dat.xz",
    "two-buffers-v7-zstd.dat",
];

const REPORT: &str = "two-buffers-report.txt.xz";

/// What each record says, but for those without a format.
fn all(name: &str) -> (Vec<String>, Summary) {
    let input = from_seek(name, Cursor::new(bytes(name))).expect("opens");
    let mut reader = Reader::new(name, input);
    let mut said = said(&mut reader);
    said.retain(|it| !it.contains(" unknown "));
    (said, reader.summary().clone())
}

#[test]
fn every_file_has_the_records_and_the_events_of_trace_cmds_report() {
    let (expected, text) = all(REPORT);
    assert_eq!(expected.len(), 720);
    for name in FILES {
        let (records, summary) = all(name);
        for (ours, theirs) in records.iter().zip(&expected) {
            assert_eq!(ours, theirs, "{name}");
        }
        assert_eq!(records.len(), expected.len(), "{name}");
        assert_eq!(summary.malformed.count(), 0, "{name}");
        // Of these trace-cmd prints lines without task, CPU and time.
        let unknown = summary.records - records.len() as u64;
        assert_eq!(unknown, text.malformed.count(), "{name}");
    }
}

#[test]
fn tasks_and_flags_are_those_of_the_report() {
    // trace-cmd prints eight letters of a name with -l.
    let columns = |name: &str| {
        let input = from_seek(name, Cursor::new(bytes(name))).expect("opens");
        let (mut reader, mut all) = (Reader::new(name, input), Vec::new());
        while let Some(it) = reader.next_record().expect("reads") {
            let task: String = it.task().chars().take(8).collect();
            if it.event() != "unknown" {
                let flags = [
                    it.flags().irqs_off(),
                    it.flags().hardirq(),
                    it.flags().softirq(),
                ];
                all.push((task.trim().to_owned(), flags));
            }
        }
        all
    };
    let expected = columns(REPORT);
    for name in FILES {
        assert_eq!(columns(name), expected, "{name}");
    }
}

#[test]
fn buffers_and_losses_are_reported() {
    let (_, text) = all(REPORT);
    for name in FILES {
        let (_, summary) = all(name);
        let mut buffers: Vec<_> = summary.buffers.iter().map(|b| b.name.as_str()).collect();
        buffers.retain(|name| !name.is_empty());
        assert_eq!(buffers, ["qtd_lost", "qtd_main"], "{name}");
        // The statistics of the two CPUs count 1680 and 2640 overruns; the pages only say that there were
        // some.
        assert_eq!((summary.lost, summary.lost_untold), (4320, 2), "{name}");
        assert_eq!(summary.lost_untold, text.lost_untold);
        assert_eq!(
            (summary.cpus_stated, summary.unitless),
            (Some(2), 0),
            "{name}"
        );
        assert_eq!(summary.backwards, 0, "{name}");
    }
}

#[test]
fn the_figures_of_all_versions_are_the_same() {
    let everything = Options {
        window: Some(Window {
            start_ns: 0,
            end_ns: u64::MAX,
        }),
        hz: Some(1000),
    };
    let figures = FILES.map(|name| {
        let input = from_seek(name, Cursor::new(bytes(name))).expect("opens");
        recorded(&mut Reader::new(name, input), everything).expect("has figures")
    });
    assert!(figures[0].1.wakeups.values().sum::<u64>() > 0);
    assert_eq!(figures[0], figures[1]);
    assert_eq!(figures[0], figures[2]);
}

#[test]
fn a_real_file_cut_anywhere_is_an_error_with_its_byte() {
    let whole = bytes("two-buffers-v7-zstd.dat");
    for length in (20..whole.len()).step_by(611) {
        let error = from_seek("cut", Cursor::new(whole[..length].to_vec())).err();
        // The options are at the end.
        let error = error.expect("is refused").to_string();
        assert!(error.starts_with("cut: byte "), "{error}");
    }
}
