//! `bench map` as a user runs it. No test asserts a time.

use crate::common::{nonsense, report, run};

#[test]
fn nonsense_is_a_usage_error_with_a_remedy() {
    nonsense(&[
        (
            &["bench", "map", "--entries", "0"][..],
            "give 1 to 100000000",
        ),
        (&["bench", "map", "--grow", "1000000000000"], "too many"),
        (&["bench", "map", "--threads", "1,0"], "give 1 to 1024"),
        (&["bench", "map", "--threads", "many"], "with commas"),
        (&["bench", "map", "--turns", "-1"], "give 1 to"),
        (&["bench", "map", "--rest", "0"], "seconds"),
        (&["bench", "map", "--rounds", "0"], "give 1 to"),
        (&["bench", "map", "--std-hasher", "1"], "--help"),
        (
            &["bench", "map", "--entries", "3", "--threads", "4"],
            "entries: 3: give an entry at least to each of 4 threads",
        ),
        (
            &["bench", "map", "--grow", "1"],
            "grow: 1: give an entry at least to each of 2 threads",
        ),
    ]);
}

#[test]
fn a_quick_run_has_a_row_for_every_map_and_case() {
    let arguments =
        "bench map --compare --json --rounds 1 --entries 320 --grow 640 --turns 400 --rest 0.01";
    let report = report(&run(&arguments.split(' ').collect::<Vec<_>>()));
    for subject in ["quiescent", "papaya", "dashmap", "scc"] {
        for case in [
            "u64 320 1t read",
            "strings 320 2t exchange",
            "u64 320 2t churn",
            "strings 320 1t update",
            "u64 320 1t reads of 16",
            "u64 640 2t rapid grow",
        ] {
            let found = report.find(subject, case, "cpu_ns");
            assert!(found.is_some(), "{subject} {case}");
        }
        let slowest = report.find(subject, "u64 320 growing", "latency_ns_p99.999");
        assert!(slowest.is_some(), "{subject}");
        #[cfg(target_env = "gnu")]
        for case in ["u64 320 full", "u64 640 full", "u64 320 emptied"] {
            let bytes = report.find(subject, case, "bytes_an_entry");
            assert!(bytes.is_some(), "{subject} {case}");
        }
    }
    for metric in ["times_papaya", "times_dashmap", "times_scc", "times_best"] {
        let times = report.find("quiescent", "u64 640 1t grow", metric);
        assert!(times.is_some(), "{metric}");
    }
    assert_eq!(report.options["std_hasher"], false);
}
