use crate::{GracePeriod, Reader, Window, measure};

/// The grace periods of a trace of these events, one a millisecond, by the thread on CPU 17.
fn gps(events: &[&str], window: Option<Window>) -> crate::Figures {
    let line = |(i, event): (usize, &&str)| {
        format!("rcu_preempt-15 [017] d..1. 0.{:03}: {event}\n", i + 1)
    };
    let text: String = events.iter().enumerate().map(line).collect();
    measure(&mut Reader::new("test", text.as_bytes()), window).expect("has figures")
}

const START: &str = "rcu_grace_period: rcu_preempt 1 start";
const SCAN: &str = "rcu_grace_period: rcu_preempt 1 fqsend";
const END: &str = "rcu_grace_period: rcu_preempt 1 end";

#[test]
fn holdouts_are_read_off_the_leaves_of_a_tree() {
    let figures = gps(
        &[
            START,
            "rcu_grace_period_init: rcu_preempt 1 0 0 31 3",
            "rcu_grace_period_init: rcu_preempt 1 1 0 15 ffff",
            "rcu_grace_period_init: rcu_preempt 1 1 16 31 ffff",
            "rcu_quiescent_state_report: rcu_preempt 1 ffff>0 1 0 15 0",
            "rcu_quiescent_state_report: rcu_preempt 1 1>2 0 0 31 0",
            "rcu_quiescent_state_report: rcu_preempt 1 fffd>6 1 16 31 0",
            SCAN,
            SCAN,
            END,
        ],
        None,
    );
    let scan = figures.gps[0].first_scan.as_ref().expect("scanned");
    assert_eq!(scan.holdouts.iter().collect::<Vec<_>>(), [17, 18]);
    assert_eq!(scan.kthread_cpu, 17);
    assert_eq!(
        figures.holdouts_after_first_scan.gp_kthread_cpu_and_others,
        1
    );
    assert_eq!(figures.scans_per_gp.get(&2), Some(&1));
}

#[test]
fn only_what_starts_and_ends_in_the_window_counts() {
    let events = [
        START,
        END,
        START,
        SCAN,
        END,
        START,
        SCAN,
        "rcu_fqs: rcu_preempt 1 1 dti",
        END,
    ];
    let window = |start: u64, end: u64| {
        Some(Window {
            start_ns: start * 1_000_000,
            end_ns: end * 1_000_000,
        })
    };
    let counts = |w| {
        let f = gps(&events, w);
        let open = |gp: &&GracePeriod| gp.end_ns.is_none();
        (
            f.grace_periods,
            f.holdouts_after_first_scan.none,
            f.gps.iter().filter(open).count(),
        )
    };
    assert_eq!(counts(None), (3, 2, 0));
    assert_eq!(counts(window(3, 8)), (1, 2, 1));
    assert_eq!(counts(window(2, 6)), (1, 1, 1));
    assert_eq!(counts(window(4, 9)), (1, 1, 0));
}

#[test]
fn a_scan_without_a_start_is_not_counted() {
    let figures = gps(&[SCAN, END, START, SCAN, START, END], None);
    assert_eq!((figures.grace_periods, figures.gps.len()), (1, 2));
}
