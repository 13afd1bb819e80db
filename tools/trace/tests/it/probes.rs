//! A recording of a stock kernel by probes: a program's waits take what its own clock has said, and every
//! analysis has rows.
//!
//! `quiescent record -- PROGRAM` on Debian's Linux 6.18.15 with 4 CPUs in an emulator; the program calls
//! `membarrier(GLOBAL)` thirty times, and has printed the mean and the median, the least and the most of
//! them.

use quiescent_trace::{Analysis, Filter, Findings, Kind, Reader, open};

const FILE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../data/traces/probes-618-waits.txt.xz"
);

/// What the program has printed, in ms.
const CLOCK: [(&str, f64); 3] = [
    ("wait_ms_avg", 9.590),
    ("wait_ms_p50", 4.946),
    ("wait_ms_max", 24.931),
];

fn found(kind: Kind) -> Findings {
    let mut reader = Reader::new(FILE, open(FILE).unwrap());
    let mut analysis = Analysis::new(kind, Filter::default());
    while let Some(record) = reader.next_record().unwrap() {
        analysis.feed(&record);
    }
    analysis.finish(reader.summary()).unwrap()
}

#[test]
fn waits_take_what_the_programs_clock_says() {
    let waits = &found(Kind::Waits).tables[0];
    let of = |metric: &str| waits.figure("waits normal", metric).unwrap();
    assert_eq!(of("waits"), 30.0);
    for (metric, clock) in CLOCK {
        // The clock is read outside of the call.
        let less = clock - of(metric);
        assert!(
            (0.0..0.02).contains(&less),
            "{metric} {clock} {}",
            of(metric)
        );
    }
}

#[test]
fn every_analysis_has_rows_and_says_how_the_events_were_made() {
    for kind in Kind::ALL {
        let found = found(kind);
        let about = &found.about;
        assert_eq!(about.unparsed.count() + about.undecoded.count(), 0);
        let doubts = about.doubts.iter();
        assert_eq!(
            doubts.filter(|it| it.contains("those of probes")).count(),
            1
        );
        assert!(
            found.tables.iter().all(|it| !it.rows.is_empty()),
            "{found:?}"
        );
    }
}

#[test]
fn counts_are_those_of_the_lines() {
    let mut reader = Reader::new(FILE, open(FILE).unwrap());
    let mut counts = [0.0; 4];
    let (mut inside, mut ended) = (false, 0);
    while let Some(record) = reader.next_record().unwrap() {
        inside |= record.text().starts_with("WORKLOAD_START");
        inside &= !record.text().starts_with("WORKLOAD_END");
        let parts = [
            (record.event() == "rcu_callback", 0),
            (record.event() == "rcu_invoke_callback", 1),
            (record.event() == "rcu_batch_start", 2),
            (record.text().ends_with("gpevent=\"fqsend\""), 3),
        ];
        for (_, at) in parts.into_iter().filter(|it| it.0 && inside) {
            counts[at] += 1.0;
        }
        ended += u32::from(inside && record.text().ends_with("gpevent=\"end\""));
    }
    let callbacks = &found(Kind::Callbacks).tables[0];
    let batches = &found(Kind::Batches).tables[0];
    let gps = found(Kind::Gps);
    assert_eq!(callbacks.figure("(all)", "queued"), Some(counts[0]));
    assert_eq!(callbacks.figure("(all)", "invoked"), Some(counts[1]));
    assert_eq!(batches.figure("(all)", "batches"), Some(counts[2]));
    assert_eq!(batches.figure("(all)", "invoked"), Some(counts[1]));
    assert_eq!(gps.tables[0].figure("scan", "n"), Some(counts[3]));
    assert_eq!(
        gps.tables[0].figure("start to end", "n"),
        Some(f64::from(ended))
    );
}
