use crate::analysis::tests::{filtered, run};
use crate::{Filter, Kind, Thread};

#[test]
fn delays_are_from_queueing_to_invocation_by_function_and_task() {
    let text = "\
        a-5 [001] d..1. 1.000000: rcu_callback: rcu_preempt rhp=10 func=f 1
        b-6 [002] d..1. 1.001000: rcu_callback: rcu_preempt rhp=20 func=f 1
        a-5 [001] d..1. 1.002000: rcu_callback: rcu_preempt rhp=30 func=g 2
        <idle>-0 [001] ..s1. 1.004000: rcu_invoke_callback: rcu_preempt rhp=10 func=f
        <idle>-0 [002] ..s1. 1.007000: rcu_invoke_callback: rcu_preempt rhp=20 func=f
        <idle>-0 [002] ..s1. 1.008000: rcu_invoke_callback: rcu_preempt rhp=99 func=h
        <idle>-0 [002] ..s1. 1.009000: rcu_invoke_kfree_bulk_callback: rcu_preempt bulk=0x1 nr_records=5";
    let found = run(Kind::Callbacks, text);
    let [functions, tasks] = &found.tables[..] else {
        panic!("no system calls: {:?}", found.tables);
    };
    let of = |case: &str| {
        ["queued", "invoked", "unseen", "left"]
            .map(|metric| functions.figure(case, metric).unwrap())
    };
    assert_eq!(of("f"), [2.0, 2.0, 0.0, 0.0]);
    assert_eq!(of("g"), [1.0, 0.0, 0.0, 1.0]);
    assert_eq!(of("h"), [0.0, 1.0, 1.0, 0.0]);
    assert_eq!(of("kvfree (bulk)"), [0.0, 5.0, 5.0, 0.0]);
    assert_eq!(of("(all)"), [3.0, 8.0, 6.0, 1.0]);
    assert_eq!(functions.figure("f", "delay_ms_min"), Some(4.0));
    assert_eq!(functions.figure("f", "delay_ms_avg"), Some(5.0));
    assert_eq!(functions.figure("g", "delay_ms_avg"), None);
    assert_eq!(functions.figure("f", "lazy"), None);
    assert_eq!(tasks.figure("task b f", "delay_ms_max"), Some(6.0));
    let filter = Filter {
        threads: vec![Thread::Pid(6)],
        ..Filter::default()
    };
    let only = filtered(Kind::Callbacks, filter, text);
    assert_eq!(only.tables[0].figure("(all)", "invoked"), Some(1.0));
}

#[test]
fn a_callback_belongs_to_the_system_call_that_its_task_is_in() {
    let text = "\
        a-5 [001] ..... 1.0: sys_enter: NR 87 (7ffc, 0)
        a-5 [001] d..1. 1.1: rcu_callback: rcu_preempt rhp=10 func=f 1
        a-5 [001] d.s1. 1.2: rcu_callback: rcu_preempt rhp=20 func=f 1
        b-6 [001] d..1. 1.3: rcu_callback: rcu_preempt rhp=30 func=f 1
        a-5 [001] ..... 1.4: sys_exit: NR 87 = 0
        a-5 [001] d..1. 1.5: rcu_callback: rcu_preempt rhp=40 func=f 1";
    let found = run(Kind::Callbacks, text);
    let calls = &found.tables[2];
    let queued = |call: &str| calls.figure(&format!("syscall {call} f"), "queued");
    assert_eq!(
        [queued("87"), queued("(interrupt)"), queued("(none)")],
        [Some(1.0), Some(1.0), Some(2.0)]
    );
}

#[test]
fn lazy_is_what_the_events_around_it_say() {
    // From classic-c-lazy-file100: two lazy ones, the second silent; one that is not, with interrupts off.
    let text = "\
        a-5 [001] d..1. 2.135438: rcu_callback: rcu_preempt rhp=10 func=f 1
        a-5 [001] d..1. 2.135438: rcu_nocb_wake: rcu_preempt 1 FirstBQ
        a-5 [001] d..1. 2.135439: rcu_nocb_wake: rcu_preempt 1 FirstBQwake
        a-5 [001] d..1. 2.135439: rcu_nocb_wake: rcu_preempt 1 WakeLazy
        a-5 [001] d..1. 2.135441: rcu_callback: rcu_preempt rhp=20 func=f 2
        a-5 [001] d..2. 2.135446: sched_switch: prev_comm=a prev_pid=5 prev_prio=120 prev_state=S ==> next_comm=b next_pid=6 next_prio=120
        b-6 [001] d.h1. 2.158356: rcu_nocb_wake: rcu_preempt 1 FirstQ
        b-6 [001] d.h1. 2.158357: rcu_callback: rcu_preempt rhp=30 func=g 3
        b-6 [001] d.h1. 2.158358: rcu_nocb_wake: rcu_preempt 1 WakeEmptyIsDeferred";
    let found = run(Kind::Callbacks, text);
    assert_eq!(found.tables[0].figure("f", "lazy"), Some(2.0));
    assert_eq!(found.tables[0].figure("g", "lazy"), Some(0.0));
}

/// A callback that is queued, and one that is invoked.
fn queued(at: &str, head: u32, function: &str) -> String {
    format!("a-5 [001] d..1. {at}: rcu_callback: rcu_preempt rhp={head} func={function} 1\n")
}

fn invoked(at: &str, head: u32, function: &str) -> String {
    format!(
        "<idle>-0 [002] ..s1. {at}: rcu_invoke_callback: rcu_preempt rhp={head} func={function}\n"
    )
}

fn mark(at: &str, text: &str) -> String {
    format!("m-2 [001] ..... {at}: tracing_mark_write: {text}\n")
}

#[test]
fn the_window_counts_what_lies_in_it() {
    let text = queued("1.0", 10, "before")
        + &queued("1.05", 15, "never")
        + &invoked("1.1", 99, "unseen")
        + &mark("2.0", "WORKLOAD_START")
        + &invoked("2.1", 10, "before")
        + &queued("2.2", 20, "inside")
        + &queued("2.3", 30, "over")
        + &queued("2.4", 40, "left")
        + &invoked("2.5", 20, "inside")
        + &mark("3.0", "WORKLOAD_END")
        + &invoked("3.1", 30, "over")
        + &invoked("3.2", 98, "unseen")
        + &queued("3.3", 50, "after");
    let found = run(Kind::Callbacks, &text);
    let table = &found.tables[0];
    let of =
        |case| ["queued", "invoked", "unseen", "left"].map(|metric| table.figure(case, metric));
    let known = |n: [u32; 4]| n.map(|n| Some(f64::from(n)));
    assert_eq!(of("before"), known([0, 1, 0, 0]));
    assert_eq!(table.figure("before", "delay_ms_avg"), None);
    assert_eq!(of("inside"), known([1, 1, 0, 0]));
    assert_eq!(of("over"), known([1, 0, 0, 0]));
    assert_eq!(of("left"), known([1, 0, 0, 1]));
    for nothing in ["never", "unseen", "after"] {
        assert_eq!(of(nothing), [None; 4], "{nothing}");
    }
    assert_eq!(of("(all)"), known([3, 2, 0, 1]));
}

#[test]
fn what_a_filter_leaves_out_is_nowhere() {
    let text = queued("1.0", 10, "f")
        + &queued("1.1", 20, "f").replace("[001]", "[003]")
        + &queued("1.15", 30, "f").replace("[001]", "[003]")
        + &invoked("1.2", 10, "f")
        + &invoked("1.3", 20, "f")
        + &invoked("1.4", 99, "f")
        + "<idle>-0 [002] ..s1. 1.5: rcu_invoke_kfree_bulk_callback: rcu_preempt bulk=0x1 nr_records=5\n";
    let filter = Filter {
        cpus: Some([1].into_iter().collect()),
        ..Filter::default()
    };
    let found = filtered(Kind::Callbacks, filter, &text);
    let of = ["queued", "invoked", "unseen", "left"]
        .map(|metric| found.tables[0].figure("(all)", metric));
    assert_eq!(of, [1.0, 1.0, 0.0, 0.0].map(Some));
}

#[test]
fn what_is_not_known_is_said() {
    let text = queued("1.0", 10, "f") + &queued("1.1", 10, "f") + &invoked("1.2", 10, "f");
    let found = run(Kind::Callbacks, &text);
    for note in [
        "1 callbacks were queued again",
        "laziness does not show",
        "no system calls in this trace",
    ] {
        assert!(
            found.notes.iter().any(|said| said.starts_with(note)),
            "{note}: {:?}",
            found.notes
        );
    }
    let calls =
        "a-5 [001] ..... 0.5: sys_enter: NR 87 (7ffc, 0)\n".to_owned() + &queued("1.0", 10, "f");
    let wake = ["FirstBQ", "FirstBQwake", "WakeLazy"]
        .map(|what| format!("a-5 [001] d..1. 1.1: rcu_nocb_wake: rcu_preempt 1 {what}\n"))
        .concat();
    let found = run(Kind::Callbacks, &(calls + &wake + &invoked("1.2", 10, "f")));
    assert_eq!(found.notes, [""; 0]);
}

#[test]
fn tables_of_tasks_have_their_bound_and_say_so() {
    let (most, more) = (crate::analysis::NAMES_MOST, 3);
    let mut text = String::new();
    for n in 0..most + more {
        text += &format!("t{n}-5 [001] d..1. 1.0: rcu_callback: rcu_preempt rhp={n:x} func=f 1\n");
    }
    let found = run(Kind::Callbacks, &text);
    // The function has taken one of the names, and all tasks beyond them are one.
    assert_eq!(found.tables[1].rows.len(), most);
    assert_eq!(
        found.tables[1].figure("task (others) f", "queued"),
        Some(more as f64 + 1.0)
    );
    assert_eq!(
        found.tables[0].figure("(all)", "queued"),
        Some((most + more) as f64)
    );
}

#[test]
fn the_sums_need_no_room() {
    let mut counts = super::CallbackCounts::default();
    counts
        .all
        .delay
        .add(5, &mut crate::analysis::spread::Room::none());
    assert_eq!(counts.all.delay.median(), Some(5.0));
}

#[test]
fn pairs_of_tasks_and_functions_have_their_bound_and_say_so() {
    let mut text = String::new();
    for n in 0..65 * 65 {
        let (task, function) = (n / 65, n % 65);
        text += &format!(
            "t{task}-5 [001] d..1. 1.0: rcu_callback: rcu_preempt rhp={n:x} func=f{function} 1\n"
        );
    }
    let found = run(Kind::Callbacks, &text);
    // Each is looked up when it is queued, and once more as one that is left.
    let note = "258 callbacks had no room in the tables of tasks and system calls";
    assert!(
        found.notes.iter().any(|said| said.starts_with(note)),
        "{:?}",
        found.notes
    );
}
