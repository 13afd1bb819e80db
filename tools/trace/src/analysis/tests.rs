//! What all analyses have in common, and how their tests run them.

use super::*;
use crate::{Bounds, Buffer, Fault, Reader, START_MARK};

/// Runs an analysis over lines of ftrace text.
pub(crate) fn run(kind: Kind, text: &str) -> Findings {
    filtered(kind, Filter::default(), text)
}

pub(crate) fn filtered(kind: Kind, filter: Filter, text: &str) -> Findings {
    feed(Analysis::new(kind, filter), text).expect("has findings")
}

pub(crate) fn feed(mut analysis: Analysis, text: &str) -> Result<Findings, Error> {
    let mut reader = Reader::new("test", text.as_bytes());
    while let Some(record) = reader.next_record().expect("reads") {
        analysis.feed(&record);
    }
    assert_eq!(
        reader.summary().malformed.count(),
        0,
        "{:?}",
        reader.summary()
    );
    analysis.finish(reader.summary())
}

const WAKEUP: &str = "sched_wakeup: comm=a pid=7 prio=120 target_cpu=001";

#[test]
fn doubts_are_said_with_what_follows() {
    let text =
        format!("CPU:1 [LOST 7 EVENTS]\n a-1 [001] 1.0: {WAKEUP}\n a-1 [000] 2.0: {WAKEUP}\n");
    let found = run(Kind::Wakeups, &text);
    let about = &found.about;
    assert_eq!((about.lost, about.records), (7, 2));
    let all = about.doubts.join("\n");
    for part in [
        "7 events were lost",
        "no cpu_idle event of CPUs 0, 1: idle is not known",
        "no irq-info",
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
    assert_eq!(found.tables[0].figure("a", "wakeups"), Some(2.0));
}

#[test]
fn records_out_of_order_are_an_error_with_the_line() {
    let text = format!("a-1 [001] 2.0: {WAKEUP}\n a-1 [000] 1.0: {WAKEUP}\n");
    for kind in Kind::ALL {
        let why = feed(Analysis::new(kind, Filter::default()), &text).unwrap_err();
        let why = why.to_string();
        assert!(
            why.starts_with("test: line 2: ") && why.contains("trace_clock mono"),
            "{why}"
        );
    }
}

#[test]
fn a_few_records_that_go_back_are_counted_as_unreadable() {
    let line = |n: u64| format!("          a-1       [001] d..2.     2.{n:06}: {WAKEUP}\n");
    let lines: Vec<String> = (0..200).map(line).collect();
    for forged in ["x-1 [0] 0: a: b", "x-1 [0] 1.5: a: b"] {
        let text = lines[..150].concat() + forged + "\n" + &lines[150..].concat() + forged + "\n";
        for kind in Kind::ALL {
            let found = feed(Analysis::new(kind, Filter::default()), &text).unwrap();
            let unread = &found.about.undecoded;
            assert_eq!(
                (unread.count(), unread.first()[0].line),
                (2, 151),
                "{forged}"
            );
            assert_eq!(unread.first()[0].fault, Fault::Backwards);
            assert_eq!(found.about.window.end_ns, 2_000_199_000);
        }
        // The third is one too many: then it is the clocks.
        let more = text + forged + "\n" + &lines[199] + forged + "\n";
        assert!(feed(Analysis::new(Kind::Wakeups, Filter::default()), &more).is_err());
    }
}

#[test]
fn a_clock_without_a_unit_gives_counts_and_no_times() {
    let text = format!("a-1 [001] d..2. 17: {WAKEUP}\na-1 [001] d..2. 29: {WAKEUP}\n");
    let found = run(Kind::Wakeups, &text);
    let figure = |metric| found.tables[0].figure("a", metric);
    assert_eq!(figure("wakeups"), Some(2.0));
    assert_eq!(
        [figure("wakeups_per_s"), figure("interval_us_min")],
        [None, None]
    );
    assert!(found.about.doubts[0].contains("without a unit"));
}

#[test]
fn the_window_is_asked_for_or_marked_or_everything() {
    let line = |time: &str| format!("a-1 [001] d..2. {time}: {WAKEUP}\n");
    let mark =
        |time: &str, text: &str| format!("m-2 [001] ..... {time}: tracing_mark_write: {text}\n");
    let text = line("1.0")
        + &mark("1.5", START_MARK)
        + &line("2.0")
        + &line("2.5")
        + &mark("3.0", "WORKLOAD_END")
        + &line("4.0");
    let wakeups = |filter: Filter| {
        let found = filtered(Kind::Wakeups, filter, &text);
        (
            found.tables[0].figure("(all)", "wakeups"),
            found.about.window_by,
            found.about.window.seconds(),
        )
    };
    assert_eq!(wakeups(Filter::default()), (Some(2.0), Bounds::Marks, 1.5));
    let asked = Filter {
        from_ns: Some(1_000_000_000),
        to_ns: Some(2_500_000_000),
        ..Filter::default()
    };
    assert_eq!(wakeups(asked), (Some(3.0), Bounds::Given, 1.5));
    let whole = run(Kind::Wakeups, &(line("1.0") + &line("3.0")));
    assert_eq!(
        (whole.about.window_by, whole.about.window.seconds()),
        (Bounds::Whole, 2.0)
    );
}

#[test]
fn nothing_in_the_window_is_an_error_with_a_remedy() {
    let filter = Filter {
        from_ns: Some(9_000_000_000),
        ..Filter::default()
    };
    let text = format!("a-1 [001] d..2. 1.0: {WAKEUP}\n");
    let why = feed(Analysis::new(Kind::Idle, filter), &text)
        .expect_err("is refused")
        .to_string();
    assert!(why.contains("window") && why.contains("--from"), "{why}");
    assert!(feed(Analysis::new(Kind::Idle, Filter::default()), "# nothing\n").is_err());
}

#[test]
fn filters_select_the_thread_and_the_cpu() {
    let text = "\
        a-1 [000] d..2. 1.0: sched_wakeup: comm=x y pid=7 prio=120 target_cpu=001
        a-1 [000] d..2. 1.1: sched_wakeup: comm=z pid=8 prio=120 target_cpu=002";
    let with = |filter| filtered(Kind::Wakeups, filter, text).tables[0].figure("(all)", "wakeups");
    let threads = |thread| Filter {
        threads: vec![thread],
        ..Filter::default()
    };
    assert_eq!(with(threads(Thread::Name("x y".into()))), Some(1.0));
    assert_eq!(with(threads(Thread::Name("y".into()))), Some(0.0));
    assert_eq!(with(threads(Thread::Pid(8))), Some(1.0));
    assert_eq!(with(threads(Thread::Pid(1))), Some(0.0));
    assert_eq!(
        with(Filter {
            cpus: Some([2].into_iter().collect()),
            ..Filter::default()
        }),
        Some(1.0)
    );
}

#[test]
fn every_analysis_takes_every_event_without_its_surroundings() {
    // Each line alone: nothing began, nothing is known.
    let events = [
        "rcu_grace_period: rcu_preempt 5 end",
        "rcu_grace_period: rcu_preempt -9223372036854775808 newreq",
        "rcu_grace_period: rcu_preempt 9223372036854775807 start",
        "rcu_quiescent_state_report: rcu_preempt 5 1>0 0 0 7 0",
        "rcu_batch_end: rcu_preempt CBs-invoked=1 idle=....",
        "rcu_invoke_callback: rcu_preempt rhp=ff func=f",
        "cpu_idle: state=4294967295 cpu_id=65535",
        "sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=b next_pid=2 \
         next_prio=120",
        "softirq_entry: vec=9 [action=RCU]",
        "rcu_nocb_wake: rcu_preempt 3 DoWake",
        "sys_exit: NR 3 = 0",
        "hrtimer_expire_entry: hrtimer=ff function=tick_nohz_handler now=5",
    ];
    for kind in Kind::ALL {
        for event in events {
            run(kind, &format!("a-1 [001] d..2. 1.5: {event}\n"));
        }
    }
}

#[test]
fn what_is_not_known_of_losses_buffers_and_times_is_said() {
    let text = "CPU:1 [LOST EVENTS]\n\
         a-5 [001] ..... 1.0: sched_wakeup: comm=b pid=1 prio=1 target_cpu=001\n";
    let mut reader = Reader::new("test", text.as_bytes());
    let mut analysis = Analysis::new(Kind::Wakeups, Filter::default());
    while let Some(record) = reader.next_record().expect("reads") {
        analysis.feed(&record);
    }
    let buffer = |name: &str, clock: &str| Buffer {
        name: name.to_owned(),
        clock: clock.to_owned(),
    };
    let summary = Summary {
        buffers: vec![buffer("", "mono"), buffer("inst", "local")],
        not_applied: vec!["TIME_SHIFT".to_owned()],
        ..reader.summary().clone()
    };
    let found = analysis.finish(&summary).expect("has findings");
    let about = &found.about;
    assert_eq!((about.lost_untold, about.buffers.len()), (1, 2));
    for doubt in ["lost at 1 places", "different clocks", "TIME_SHIFT"] {
        let said = about.doubts.iter().any(|d| d.contains(doubt));
        assert!(said, "{doubt}: {:?}", about.doubts);
    }
}
