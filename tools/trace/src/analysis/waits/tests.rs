use crate::analysis::tests::{filtered, run};
use crate::{Filter, Findings, Kind, Thread};

/// Each way to recognise a wait, once.
const TEXT: &str = "\
       old-4    [000] ..... 0.900000: rcu_barrier: rcu_preempt Inc2 cpu -1 remaining 0 # 4
         a-5    [001] ..... 1.000000: rcu_sr_normal: rcu_preempt rhp=0xff10 event=request
         a-5    [001] d.... 1.000001: rcu_callback: rcu_preempt rhp=ff20 func=wakeme_after_rcu 1
         a-5    [001] d..2. 1.000010: sched_switch: prev_comm=a prev_pid=5 prev_prio=120 prev_state=R+ ==> next_comm=c next_pid=7 next_prio=120
         c-7    [001] d..2. 1.000020: sched_switch: prev_comm=c prev_pid=7 prev_prio=120 prev_state=D ==> next_comm=a next_pid=5 next_prio=120
         c-7    [001] d..2. 1.000020: <stack trace>
 => schedule
 => wait_for_completion+0x1e/0x30
=> synchronize_net (ffffffff81000000)
         b-6    [002] d.... 1.000025: rcu_callback: rcu_preempt rhp=ff30 func=wakeme_after_rcu 1
         a-5    [001] d..2. 1.000030: sched_switch: prev_comm=a prev_pid=5 prev_prio=120 prev_state=D ==> next_comm=d next_pid=8 next_prio=120
         d-8    [001] d..2. 1.000040: sched_switch: prev_comm=d prev_pid=8 prev_prio=120 prev_state=D ==> next_comm=swapper/1 next_pid=0 next_prio=120
         b-6    [002] d..2. 1.000050: sched_switch: prev_comm=b prev_pid=6 prev_prio=120 prev_state=D ==> next_comm=e next_pid=9 next_prio=120
         e-9    [002] ..... 1.000060: rcu_exp_grace_period: rcu_preempt 8 snap
         f-10   [003] ..... 1.000070: rcu_barrier: rcu_preempt Begin cpu -1 remaining 0 # 4
rcu_preempt-15  [000] d..1. 1.000100: rcu_grace_period: rcu_preempt 13 start
rcu_preempt-15  [000] ..... 1.003000: rcu_grace_period: rcu_preempt 13 fqsstart
rcu_preempt-15  [000] ..... 1.003005: rcu_grace_period: rcu_preempt 13 fqsend
         e-9    [002] ..... 1.003500: rcu_exp_grace_period: rcu_preempt 8 end
         e-9    [002] ..... 1.003600: rcu_exp_grace_period: rcu_preempt 8 done
      <idle>-0  [003] d.s2. 1.003700: rcu_quiescent_state_report: rcu_preempt 13 8>0 0 0 3 0
rcu_preempt-15  [000] d..1. 1.004000: rcu_grace_period: rcu_preempt 13 end
rcu_preempt-15  [000] d..2. 1.004010: sched_wakeup: comm=c pid=7 prio=120 target_cpu=001
kworker/0:1-11  [000] ..... 1.004020: workqueue_execute_start: work struct 00f1: function rcu_sr_normal_gp_cleanup_work
kworker/0:1-11  [000] d..2. 1.004030: sched_waking: comm=d pid=8 prio=120 target_cpu=001
kworker/0:1-11  [000] ..... 1.004040: workqueue_execute_end: work struct 00f1
      <idle>-0  [001] d.s2. 1.004050: sched_wakeup: comm=a pid=5 prio=120 target_cpu=001
      <idle>-0  [001] d..2. 1.004060: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=c next_pid=7 next_prio=120
         c-7    [001] d..2. 1.004070: sched_switch: prev_comm=c prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=d next_pid=8 next_prio=120
         d-8    [001] d..2. 1.004080: sched_switch: prev_comm=d prev_pid=8 prev_prio=120 prev_state=S ==> next_comm=a next_pid=5 next_prio=120
         a-5    [001] ..... 1.004081: rcu_sr_normal: rcu_preempt rhp=0xff10 event=complete
         e-9    [002] d..2. 1.004090: sched_switch: prev_comm=e prev_pid=9 prev_prio=120 prev_state=S ==> next_comm=b next_pid=6 next_prio=120
         f-10   [003] ..... 1.005070: rcu_barrier: rcu_preempt Inc2 cpu -1 remaining 0 # 5
         g-12   [003] d.... 1.006000: rcu_callback: rcu_preempt rhp=ff30 func=wakeme_after_rcu 1
";

fn table<'a>(found: &'a Findings, prefix: &str) -> &'a crate::Table {
    let table = found.tables.iter().find(|it| it.prefix == prefix);
    table.unwrap_or_else(|| panic!("no table `{prefix}`: {:?}", found.tables))
}

#[test]
fn each_way_to_recognise_a_wait() {
    let found = run(Kind::Waits, TEXT);
    let tasks = table(&found, "");
    let us = |case: &str| {
        tasks
            .figure(case, "wait_ms_max")
            .map(|ms| (ms * 1e3).round())
    };
    // From the request, and not from the callback that it queues; a preemption is no end.
    assert_eq!(us("a normal"), Some(4080.0));
    assert_eq!(us("b normal"), Some(4065.0));
    assert_eq!(us("c normal"), Some(4040.0));
    assert_eq!(us("d normal"), Some(4030.0));
    assert_eq!(us("e expedited"), Some(3540.0));
    assert_eq!(us("f barrier"), Some(5000.0));
    assert_eq!(tasks.rows.len(), 9);
    assert_eq!(tasks.figure("(all) normal", "waits"), Some(4.0));
    let seen = table(&found, "seen ");
    for case in [
        "seen normal rcu_sr_normal",
        "seen normal wakeme_after_rcu",
        "seen normal woken by rcu_preempt",
        "seen normal woken by rcu_sr_normal",
        "seen expedited rcu_exp_grace_period",
        "seen barrier rcu_barrier",
    ] {
        assert_eq!(seen.figure(case, "waits"), Some(1.0), "{case}");
    }
    assert_eq!(seen.rows.len(), 6);
    assert_eq!(
        found.notes,
        ["1 waits began in the window and were not over at its end"]
    );
}

#[test]
fn what_passed_during_a_wait_and_who_was_last() {
    let found = run(Kind::Waits, TEXT);
    let longest = table(&found, "longest ");
    let first = "longest 1 f-10 barrier CPU 3 (reported)";
    assert_eq!(longest.figure(first, "start_s"), Some(1.00007));
    assert_eq!(longest.figure(first, "gps"), Some(1.0));
    assert_eq!(longest.figure(first, "scans"), Some(1.0));
    let last = "longest 6 e-9 expedited -";
    assert_eq!(longest.figure(last, "gps"), Some(1.0));
    assert_eq!(longest.figure(last, "scans"), None);
}

#[test]
fn a_preempted_reader_is_named() {
    let text = TEXT.replace(
        "      <idle>-0  [003] d.s2. 1.0037",
        "    reader-13  [003] d..2. 1.0037",
    );
    let found = run(Kind::Waits, &text);
    let case = "longest 1 f-10 barrier reader";
    assert_eq!(table(&found, "longest ").figure(case, "gps"), Some(1.0));
}

#[test]
fn the_stack_of_a_wait_is_what_follows_its_sleep() {
    let found = run(Kind::Waits, TEXT);
    let stacks = table(&found, "stack ");
    let frames: Vec<&str> = stacks
        .rows
        .iter()
        .map(|row| row.labels[2].as_str())
        .collect();
    assert_eq!(
        frames,
        ["schedule", "wait_for_completion", "synchronize_net"]
    );
    assert_eq!(
        stacks.figure("stack 1 2 synchronize_net", "wait_ms_total"),
        Some(4.04)
    );
    let of = |case: &str| table(&found, "longest ").figure(case, "stack");
    assert_eq!(of("longest 4 c-7 normal CPU 3 (reported)"), Some(1.0));
    assert_eq!(of("longest 2 a-5 normal CPU 3 (reported)"), None);
}

#[test]
fn filters_select_the_task_and_the_cpu_on_which_it_began() {
    let waits = |filter| {
        let found = filtered(Kind::Waits, filter, TEXT);
        let rows = &table(&found, "").rows;
        let names = rows.iter().map(|row| row.labels[0].clone());
        names.filter(|name| name != "(all)").collect::<Vec<_>>()
    };
    let threads = vec![Thread::Name("b".into()), Thread::Pid(8)];
    let filter = Filter {
        threads,
        ..Filter::default()
    };
    assert_eq!(waits(filter), ["b", "d"]);
    let filter = Filter {
        cpus: Some([2].into_iter().collect()),
        ..Filter::default()
    };
    assert_eq!(waits(filter), ["b", "e"]);
}

#[test]
fn without_switches_a_wait_is_over_at_what_the_task_writes_next() {
    let text: String = TEXT
        .lines()
        .filter(|line| !line.contains("sched_switch") && !line.contains("complete"))
        .map(|line| format!("{line}\n"))
        .collect();
    let text =
        text + "         a-5    [001] ..... 1.007000: rcu_utilization: Start context switch\n";
    let found = run(Kind::Waits, &text);
    let tasks = table(&found, "");
    assert_eq!(tasks.figure("a normal", "wait_ms_max"), Some(7.0));
    assert_eq!(tasks.figure("b normal", "waits"), None);
    assert_eq!(tasks.figure("e expedited", "wait_ms_max"), Some(3.54));
}

#[test]
fn an_expedited_wait_without_done_is_over_when_the_task_ran_again() {
    let text = "\
 a-5 [001] ..... 1.000000: rcu_exp_grace_period: rcu_preempt 8 snap
 a-5 [001] d..2. 1.000010: sched_switch: prev_comm=a prev_pid=5 prev_prio=120 prev_state=D ==> next_comm=b next_pid=6 next_prio=120
 b-6 [001] ..... 1.000020: rcu_exp_grace_period: rcu_preempt 8 end
 b-6 [001] d..2. 1.000030: sched_switch: prev_comm=b prev_pid=6 prev_prio=120 prev_state=S ==> next_comm=a next_pid=5 next_prio=120
 a-5 [001] d..2. 1.000040: sched_switch: prev_comm=a prev_pid=5 prev_prio=120 prev_state=S ==> next_comm=b next_pid=6 next_prio=120
 b-6 [001] ..... 1.000050: rcu_exp_grace_period: rcu_preempt 12 snap
 b-6 [001] ..... 1.000060: rcu_exp_grace_period: rcu_preempt 12 snap
";
    let found = run(Kind::Waits, text);
    assert_eq!(
        table(&found, "").figure("a expedited", "wait_ms_max"),
        Some(0.03)
    );
    assert_eq!(
        found.notes[..2],
        [
            "1 waits began in the window and were not over at its end",
            "1 waits have no end in the trace and were left out"
        ]
    );
}

#[test]
fn without_waits_the_events_that_show_them_are_named() {
    let found = run(Kind::Waits, "a-5 [001] d.... 1.0: rcu_utilization: Start\n");
    assert_eq!(found.tables.len(), 1);
    assert!(
        found.notes[0].contains("rcu_exp_grace_period"),
        "{:?}",
        found.notes
    );
}

#[test]
fn without_a_wait_it_says_what_to_record_and_not_what_is_there() {
    let said = |text: &str| {
        let found = run(Kind::Waits, text);
        let mut notes = found.notes.into_iter();
        notes
            .find(|it| it.contains("no wait was found"))
            .expect("a note")
    };
    let callback = "a-5 [001] d.... 1.000001: rcu_callback: rcu_preempt rhp=ff20 func=__d_free 1\n";
    let switch = "a-5 [001] d..2. 1.000010: sched_switch: prev_comm=a prev_pid=5 prev_prio=120 prev_state=R+ \
                  ==> next_comm=c next_pid=7 next_prio=120\n";
    let events = "rcu_sr_normal, rcu_exp_grace_period, rcu_barrier";
    let nothing = format!("no wait was found: record rcu_callback, {events}");
    assert_eq!(said(switch), nothing);
    let some = said(&[callback, switch].concat());
    assert!(!some.contains("record rcu_callback"), "{some}");
    assert!(
        some.contains("rcu_callback of the trace show none") && some.contains(events),
        "{some}"
    );
    let all = [
        callback,
        "a-5 [001] ..... 1.000002: rcu_sr_normal: rcu_preempt rhp=0xff10 event=complete\n",
        "e-9 [002] ..... 1.000003: rcu_exp_grace_period: rcu_preempt 8 start\n",
        "f-10 [003] ..... 1.000004: rcu_barrier: rcu_preempt LastCB cpu -1 remaining 0 # 4\n",
    ];
    assert_eq!(
        said(&all.concat()),
        "no wait was found: no task waited in this part of the trace"
    );
}
