//! Wake-ups and idle periods, event by event.

use crate::analysis::tests::run;
use crate::{Findings, Kind};

/// Lines of `CPU pid: event`, a millisecond each, with the last at 1 s.
fn summary(lines: &[&str]) -> Findings {
    let mut text = String::new();
    for (n, line) in lines.iter().enumerate() {
        let (who, event) = line.split_once(": ").expect("has an event");
        let (cpu, pid) = who.split_once(' ').expect("has an id");
        let time = if n + 1 == lines.len() {
            "2.0".to_owned()
        } else {
            format!("1.{n:03}")
        };
        text += &format!("a-{pid} [00{cpu}] d..2. {time}: {event}\n");
    }
    run(Kind::Summary, &text)
}

fn wakeup(task: &str, pid: u32, cpu: u32) -> String {
    format!("sched_wakeup: comm={task} pid={pid} prio=120 target_cpu=00{cpu}")
}

fn switch(from: u32, task: &str, pid: u32) -> String {
    format!(
        "sched_switch: prev_comm=x prev_pid={from} prev_prio=120 prev_state=S ==> next_comm={task} \
         next_pid={pid} next_prio=120"
    )
}

fn figures(found: &Findings, case: &str) -> [Option<f64>; 3] {
    let metrics = ["wakeups_per_s", "idle_ended_per_s", "all_ended_per_s"];
    let of = |metric| {
        found
            .tables
            .iter()
            .find_map(|table| table.figure(case, metric))
    };
    metrics.map(of)
}

#[test]
fn a_wakeup_ends_an_idle_period_of_its_cpu_and_perhaps_of_all() {
    let gp = |cpu| format!("0 0: {}", wakeup("rcu_preempt", 15, cpu));
    let other = format!("1 7: {}", wakeup("b", 7, 1));
    let found = summary(&[
        "0 0: cpu_idle: state=1 cpu_id=0",
        "1 0: cpu_idle: state=1 cpu_id=1",
        // Ends a period of both, though an interrupt of CPU 0 came first.
        "0 0: cpu_idle: state=4294967295 cpu_id=0",
        &gp(0),
        // Not idle any longer; and then the other CPU alone.
        &gp(0),
        &gp(1),
        "0 0: cpu_idle: state=1 cpu_id=0",
        "1 0: cpu_idle: state=1 cpu_id=1",
        &other,
        "0 0: softirq_exit: vec=1",
    ]);
    assert_eq!(
        figures(&found, "rcu_preempt"),
        [Some(3.0), Some(2.0), Some(1.0)]
    );
    // Written by a task on CPU 1, which is busy: no idle period ends.
    assert_eq!(figures(&found, "(all)"), [Some(4.0), Some(2.0), Some(1.0)]);
    assert_eq!(
        figures(&found, "bound laziness"),
        [Some(3.0), Some(2.0), Some(1.0)]
    );
    assert_eq!(found.tables[0].figure("(RCU)", "wakeups_pct"), Some(75.0));
}

#[test]
fn interrupts_that_wake_no_thread_are_what_offloading_could_save() {
    let offloaded = format!("1 0: {}", wakeup("rcuop/1", 20, 1));
    let last = format!("0 0: {}", wakeup("b", 7, 0));
    let mut lines = vec![
        "0 0: cpu_idle: state=1 cpu_id=0",
        "1 0: cpu_idle: state=1 cpu_id=1",
        "0 0: cpu_idle: state=4294967295 cpu_id=0",
        // While CPU 0 is in its interrupt, not all were idle.
        "1 0: cpu_idle: state=4294967295 cpu_id=1",
        "1 0: cpu_idle: state=1 cpu_id=1",
        "0 0: cpu_idle: state=1 cpu_id=0",
        &last,
    ];
    let found = summary(&lines);
    assert_eq!(
        figures(&found, "bound offloading"),
        [None, Some(2.0), Some(1.0)]
    );
    lines.insert(2, &offloaded);
    let found = summary(&lines);
    assert_eq!(
        figures(&found, "bound offloading"),
        [None, Some(1.0), Some(0.0)]
    );
    assert!(
        found.notes[1].contains("without 1 of 2 CPUs"),
        "{:?}",
        found.notes
    );
    // What laziness cannot save.
    let boost = format!("1 0: {}", wakeup("rcub/1", 21, 1));
    lines.insert(2, &boost);
    let found = summary(&lines);
    assert_eq!(figures(&found, "(RCU)")[0], Some(2.0));
    assert_eq!(figures(&found, "bound laziness")[0], Some(1.0));
}

#[test]
fn without_wakeups_their_requests_and_switches_stand_for_them() {
    let waking = "1 7: sched_waking: comm=rcuop/0 pid=20 prio=120 target_cpu=000";
    let (to, from) = (switch(0, "rcuop/0", 20), switch(20, "swapper/0", 0));
    let [to, from] = [to, from].map(|it| format!("0 0: {it}"));
    let found = summary(&[&from, waking, &to, &from, "1 7: softirq_exit: vec=1"]);
    assert_eq!(
        figures(&found, "rcuop/N"),
        [Some(1.0), Some(1.0), Some(0.0)]
    );
    // No `cpu_idle`: interrupts do not show.
    assert_eq!(figures(&found, "bound offloading"), [None; 3]);
    let found = summary(&[waking, "1 7: softirq_exit: vec=1"]);
    assert_eq!(figures(&found, "rcuop/N"), [Some(1.0), None, None]);
    let [idle, exit] = [1, u32::MAX].map(|state| format!("0 0: cpu_idle: state={state} cpu_id=0"));
    let found = summary(&[&idle, waking, &exit, &idle, "1 7: softirq_exit: vec=1"]);
    assert_eq!(figures(&found, "rcuop/N"), [Some(1.0), None, None]);
    assert_eq!(figures(&found, "bound offloading"), [None; 3]);
}

#[test]
fn the_analyses_that_apply_are_named() {
    let wakeup = format!("0 0: {}", wakeup("b", 7, 0));
    let found = summary(&[&wakeup, "0 0: softirq_exit: vec=1"]);
    let last = found.notes.last().expect("a note");
    assert!(last.ends_with(": wakeups, timeline"), "{last}");
    assert!(
        !found.about.doubts.iter().any(|it| it.contains("rcu_")),
        "{:?}",
        found.about
    );
    let found = summary(&["0 0: softirq_exit: vec=1", "0 0: softirq_exit: vec=1"]);
    assert!(
        found
            .notes
            .iter()
            .any(|it| it.contains("no sched_wakeup event in this trace")),
        "{:?}",
        found.notes
    );
}
