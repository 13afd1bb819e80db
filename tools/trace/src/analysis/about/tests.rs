//! Each missing event is one doubt, and what is there is none.

use super::About;
use super::Present;
use crate::analysis::tests::run;
use crate::{Bounds, Summary, Window};
use crate::{Faults, Kind};

/// One line of each event without which something is not known, and the doubt that its absence is.
const EVENTS: [(&str, &str); 6] = [
    (
        "sched_wakeup: comm=a pid=7 prio=120 target_cpu=001",
        "no sched_wakeup event: no wake-up is known",
    ),
    (
        "rcu_grace_period: rcu_preempt 5 start",
        "no rcu_grace_period event",
    ),
    (
        "rcu_callback: rcu_preempt rhp=10 func=f 1",
        "no rcu_callback event",
    ),
    (
        "rcu_invoke_callback: rcu_preempt rhp=10 func=f",
        "no rcu_invoke_callback event",
    ),
    (
        "cpu_idle: state=1 cpu_id=0",
        "no cpu_idle event of CPU 0: idle time is known from sched_switch to pid 0 there",
    ),
    (
        "sched_switch: prev_comm=a prev_pid=5 prev_prio=120 prev_state=S ==> next_comm=b next_pid=6 \
         next_prio=120",
        "",
    ),
];

fn lines<'a>(events: impl Iterator<Item = &'a str>, flags: &str) -> String {
    let mut text = String::new();
    for (n, event) in events.enumerate() {
        text += &format!("a-5 [000] {flags} 1.00000{n}: {event}\n");
    }
    text
}

fn doubts(text: &str) -> Vec<String> {
    run(Kind::Wakeups, text).about.doubts
}

#[test]
fn what_a_trace_has_is_no_doubt_and_what_it_lacks_is_one() {
    let all = || EVENTS.iter().map(|(event, _)| *event);
    assert_eq!(doubts(&lines(all(), "d..1.")), [""; 0]);
    for (without, (_, doubt)) in EVENTS.iter().enumerate() {
        let rest = all().enumerate().filter(|(n, _)| *n != without);
        let said = doubts(&lines(rest.map(|(_, event)| event), "d..1."));
        match *doubt {
            "" => assert_eq!(said, [""; 0]),
            doubt => {
                assert!(
                    said.len() == 1 && said[0].starts_with(doubt),
                    "{doubt}: {said:?}"
                );
            }
        }
    }
    // Blocks of kvfree_rcu are callbacks too, and those freed in bulk invoked ones.
    let kvfree = all().map(|event| match event {
        event if event.starts_with("rcu_callback") => {
            "rcu_kvfree_callback: rcu_preempt rhp=10 func=8 1"
        }
        event if event.starts_with("rcu_invoke") => {
            "rcu_invoke_kfree_bulk_callback: rcu_preempt bulk=0x1 nr_records=5"
        }
        event => event,
    });
    assert_eq!(doubts(&lines(kvfree, "d..1.")), [""; 0]);
}

#[test]
fn flags_of_one_record_are_a_column_of_them() {
    let wakeup = EVENTS[0].0;
    let missing = |text: &str| doubts(text).iter().any(|doubt| doubt.contains("irq-info"));
    let (with, without) = (
        lines([wakeup].into_iter(), "d..1."),
        lines([wakeup].into_iter(), ""),
    );
    assert!(missing(&without) && !missing(&with));
    assert!(!missing(&(without.clone() + &with)) && !missing(&(with + &without)));
}

#[test]
fn idle_is_doubted_for_the_cpus_that_wrote_and_had_no_idle_event() {
    let mut text = String::new();
    for cpu in 0..12 {
        text += &format!("a-5 [{cpu:03}] d..1. 1.0: {}\n", EVENTS[0].0);
    }
    // An event of another CPU's idle entry is that CPU's.
    text += "a-5 [000] d..1. 1.1: cpu_idle: state=1 cpu_id=2\n";
    text += "a-5 [000] d..1. 1.1: cpu_idle: state=4294967295 cpu_id=5\n";
    let said = doubts(&text);
    let idle =
        "no cpu_idle event of CPUs 0, 1, 3, 4, 6, 7, 8, 9 and 2 more: idle is not known there";
    assert!(said.iter().any(|doubt| doubt.starts_with(idle)), "{said:?}");
}

/// A task on CPU 1 with a tick each ms, up to `end`, and another on CPU 0 for 200 ms.
fn ticking(end: u32, last: &str) -> Vec<String> {
    let tick = "hrtimer_expire_entry: hrtimer=f1 function=tick_nohz_handler now=1";
    let mut text = format!("b-6 [001] d..2. 1.000000: {}\n", EVENTS[5].0);
    for ms in 1..=200 {
        text += &format!("a-5 [000] d.h1. 1.{ms:03}000: {tick}\n");
        if ms <= end {
            text += &format!("b-6 [001] d.h1. 1.{ms:03}000: {tick}\n");
        }
        if ms == end {
            text += &format!("b-6 [001] d..1. 1.{ms:03}001: {last}\n");
        }
    }
    let mut said = doubts(&text);
    said.retain(|it| it.starts_with("CPUs cover different times"));
    said
}

#[test]
fn a_cpu_whose_tick_ends_while_its_task_runs_was_recorded_no_longer() {
    let said = ticking(100, EVENTS[0].0).concat();
    assert!(
        said.contains("(CPU 1 from 1.000000 s to 1.100001 s)"),
        "{said}"
    );
    // Too few ticks to know of, or too short a silence.
    assert_eq!(ticking(8, EVENTS[0].0), [""; 0]);
    assert_eq!(ticking(168, EVENTS[0].0), [""; 0]);
    // It is idle, or has stopped its tick.
    for last in [
        "cpu_idle: state=1 cpu_id=1",
        "tick_stop: success=1 dependency=NONE",
        "sched_switch: prev_comm=b prev_pid=6 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 \
         next_prio=120",
    ] {
        assert_eq!(ticking(100, last), [""; 0], "{last}");
    }
}

#[test]
fn idle_is_known_from_switches_where_a_cpu_writes_them() {
    let text = format!(
        "a-5 [000] d..1. 1.0: {}\na-5 [001] d..1. 1.1: {}\n",
        EVENTS[0].0, EVENTS[5].0
    );
    let said = doubts(&text).join("\n");
    assert!(
        said.contains("no cpu_idle event of CPU 1: idle time is known"),
        "{said}"
    );
    assert!(
        said.contains("no cpu_idle event of CPU 0: idle is not known"),
        "{said}"
    );
}

#[test]
fn silent_cpus_are_counted_from_the_header() {
    let header = "# entries-in-buffer/entries-written: 1/1   #P:4\n";
    let said = doubts(&format!(
        "{header}{}",
        lines([EVENTS[0].0].into_iter(), "d..1.")
    ));
    let silent = "3 of 4 CPUs wrote no event";
    assert!(
        said.iter().any(|doubt| doubt.starts_with(silent)),
        "{said:?}"
    );
}

#[test]
fn lines_and_fields_that_could_not_be_read_are_doubts_with_the_first_of_them() {
    let found = run(
        Kind::Wakeups,
        "a-5 [001] d..1. 1.0: sched_wakeup: comm=a pid=x prio=120 target_cpu=001\n",
    );
    let said = &found.about.doubts;
    let undecoded = "1 events had a field that could not be read, first ";
    assert!(
        said.iter().any(|doubt| doubt.starts_with(undecoded)),
        "{said:?}"
    );
    assert_eq!(found.about.undecoded.count(), 1);
    assert_eq!(found.about.unparsed, Faults::default());
}

/// About an empty trace.
pub(crate) fn nothing() -> About {
    let window = Window {
        start_ns: 0,
        end_ns: 0,
    };
    let (summary, mut present) = (Summary::default(), Present::default());
    let own = present.parts.own(window, &summary);
    About::new(
        &summary,
        Faults::default(),
        (&own, Bounds::Whole),
        &present,
        None,
    )
}

#[test]
fn what_is_not_there_is_not_in_the_json() {
    let about = nothing();
    let json = serde_json::to_value(&about).expect("JSON");
    assert!(json.get("lost_untold").is_none() && json.get("buffers").is_none());
    let lost = About {
        lost_untold: 2,
        ..about
    };
    assert_eq!(serde_json::to_value(&lost).expect("JSON")["lost_untold"], 2);
}

#[test]
fn events_of_probes_are_known_and_what_they_lack_is_said() {
    let text = "\
        a-5 [000] ..... 1.000001: rcu_callback: (__call_rcu_common+0x0/0x6d0) rhp=0xff24f0d93ff92908 \
        func=mt_free_rcu+0x0/0x20 lazy=1\n\
        b-6 [000] ..... 1.000002: rcu_grace_period: (rcu_gp_init+0x0/0x610) gp_seq=-904 gpevent=\"start\"\n\
        b-6 [000] d.s2. 1.000003: rcu_quiescent_state_report: (rcu_report_qs_rnp+0x0/0x130) mask=0x1 \
        qsmask=0x1 level=0 grplo=0\n\
        b-6 [000] ..... 1.000004: rcu_grace_period: (rcu_gp_cleanup+0x0/0x570) gp_seq=-903 gpevent=\"end\"\n\
        c-7 [000] ..s1. 1.000005: rcu_invoke_callback: (rcu_cblist_dequeue+0x4/0x30) \
        rhp=0xff24f0d93ff92908 func=mt_free_rcu+0x0/0x20\n";
    let said = doubts(text);
    assert!(
        said.iter().any(|it| it.contains("those of probes")),
        "{said:?}"
    );
    let callbacks = &run(Kind::Callbacks, text).tables[0];
    assert_eq!(callbacks.figure("mt_free_rcu", "invoked"), Some(1.0));
    let gps = run(Kind::Gps, text);
    let table = gps
        .tables
        .iter()
        .find(|it| it.figure("last CPU 0, reported", "grace_periods").is_some());
    assert!(table.is_some(), "{gps:?}");
}
