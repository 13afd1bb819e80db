use crate::{Options, Reader, Window, recorded};

/// The grace periods of a trace of these events, one a millisecond: when they started and ended, and their
/// scans.
fn gps(events: &[&str], window: Option<Window>) -> Vec<(u64, Option<u64>, u32)> {
    let line = |(i, event): (usize, &&str)| {
        format!(
            "rcu_preempt-15 [017] d..1. 0.{:03}: rcu_grace_period: rcu_preempt 1 {event}\n",
            i + 1
        )
    };
    let text: String = events.iter().enumerate().map(line).collect();
    let hz = Some(1000);
    let read = recorded(
        &mut Reader::new("test", text.as_bytes()),
        Options { window, hz },
    );
    let ms = |ns| ns / 1_000_000;
    let all = read.expect("has figures").1.gps.into_iter();
    all.map(|gp| (ms(gp.start_ns), gp.end_ns.map(ms), gp.scans))
        .collect()
}

#[test]
fn only_what_starts_and_ends_in_the_window_counts() {
    let events = [
        "start", "end", "start", "fqsstart", "fqsend", "end", "start", "fqsstart", "fqsend", "end",
    ];
    let window = |start: u64, end: u64| {
        Some(Window {
            start_ns: start * 1_000_000,
            end_ns: end * 1_000_000,
        })
    };
    let [first, second, third] = [(1, Some(2), 0), (3, Some(6), 1), (7, Some(10), 1)];
    assert_eq!(gps(&events, None), [first, second, third]);
    assert_eq!(gps(&events, window(3, 9)), [second, (7, None, 1)]);
    assert_eq!(gps(&events, window(2, 7)), [second, (7, None, 1)]);
    assert_eq!(gps(&events, window(4, 10)), [third]);
}

#[test]
fn a_scan_without_a_start_is_not_counted() {
    let events = [
        "fqsstart", "fqsend", "end", "start", "fqsend", "start", "end",
    ];
    assert_eq!(gps(&events, None), [(4, None, 0), (6, Some(7), 0)]);
}
