//! Text as `trace-cmd report` 3.1.6 and `perf script` 6.1 print it, with every option that changes a line.
//!
//! Origin of `data/report-and-script.txt`: lines of `two-buffers-v7.dat` (see `dat.rs`) by the reports that
//! stand before them, and of a recording by `perf record` on the same machine.

use quiescent_trace::{Event, Fault, Reader};

const TEXT: &str = include_str!("../data/report-and-script.txt");

#[test]
fn every_line_of_every_report_is_read() {
    let expected = TEXT.lines().filter(|l| !l.starts_with(['#', 'c'])).count() as u64;
    let lost = TEXT
        .lines()
        .filter(|l| l.contains("EVENTS DROPPED"))
        .count() as u64;
    let mut reader = Reader::new("report-and-script.txt", TEXT.as_bytes());
    let (mut switches, mut ticks, mut addresses) = (0, 0, 0);
    while let Some(record) = reader.next_record().expect("reads") {
        assert!(record.cpu < 2 && record.pid > 0 && record.time_ns > 14_991_201_000_000);
        match record.decode() {
            Ok(Event::Switch { prev_pid, .. }) => {
                // The one who is switched from is the one who runs.
                assert_eq!(prev_pid, record.pid, "{record:?}");
                switches += 1;
            }
            Ok(Event::Tick { .. }) => ticks += 1,
            Ok(_) => {}
            // -R prints functions as addresses: not taken for anything.
            Err(fault) => {
                assert_eq!(fault, Fault::Address, "{record:?}");
                addresses += 1;
            }
        }
    }
    let summary = reader.summary();
    assert_eq!(summary.malformed.count(), 0, "{:?}", summary.malformed);
    assert_eq!(summary.records + lost, expected);
    assert_eq!(summary.lost_untold, lost);
    assert!(
        switches > 20 && ticks >= 4 && addresses == 2,
        "{switches} {ticks} {addresses}"
    );
}
