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
