use crate::Kind;
use crate::analysis::tests::run;

/// One grace period of an offloaded CPU, from `classic-b-nocb-file100` (5.020396 to 5.024089).
const CHAIN: &str = "\
         rcuog/0-16 [000] d..1. 5.010000: rcu_nocb_wake: rcu_preempt 0 Sleep
     rcu_preempt-15 [006] ..... 5.010100: rcu_grace_period: rcu_preempt 12 reqwait
        cbload/0-92 [001] d..2. 5.020396: rcu_nocb_wake: rcu_preempt 1 FirstQ
        cbload/0-92 [001] d..2. 5.020397: rcu_callback: rcu_preempt rhp=ffff88801218fa70 func=__d_free 1
        cbload/0-92 [001] d..1. 5.020397: rcu_nocb_wake: rcu_preempt 1 DoWake
        cbload/0-92 [001] d..1. 5.020398: rcu_nocb_wake: rcu_preempt 1 WakeEmpty
        cbload/0-92 [001] d..1. 5.020401: rcu_callback: rcu_preempt rhp=ffff888000953e58 func=i_callback 2
          <idle>-0  [000] dNh2. 5.020413: sched_wakeup: comm=rcuog/0 pid=16 prio=120 target_cpu=000
         rcuog/0-16 [000] ..... 5.020421: rcu_nocb_wake: rcu_preempt 1 Check
         rcuog/0-16 [000] d..2. 5.020421: rcu_future_grace_period: rcu_preempt 12 16 0 0 7 Startleaf
         rcuog/0-16 [000] d..2. 5.020423: rcu_grace_period: rcu_preempt 12 newreq
         rcuog/0-16 [000] d..2. 5.020423: rcu_grace_period: rcu_preempt 16 AccWaitCB
         rcuog/0-16 [000] ..... 5.020426: rcu_future_grace_period: rcu_preempt 12 16 0 0 7 StartWait
          <idle>-0  [006] dNh2. 5.020435: sched_wakeup: comm=rcu_preempt pid=15 prio=120 target_cpu=006
     rcu_preempt-15 [006] d..1. 5.020441: rcu_grace_period: rcu_preempt 13 start
     rcu_preempt-15 [006] ..... 5.020443: rcu_grace_period: rcu_preempt 13 fqswait
          <idle>-0  [006] dNs4. 5.024012: sched_wakeup: comm=rcu_preempt pid=15 prio=120 target_cpu=006
     rcu_preempt-15 [006] d..1. 5.024041: rcu_quiescent_state_report: rcu_preempt 13 bf>0 0 0 7 0
     rcu_preempt-15 [006] ..... 5.024043: rcu_grace_period: rcu_preempt 13 fqswait
     rcu_preempt-15 [006] d..1. 5.024045: rcu_grace_period: rcu_preempt 13 end
     rcu_preempt-15 [006] ..... 5.024046: rcu_grace_period: rcu_preempt 16 reqwait
          <idle>-0  [000] dNh2. 5.024054: sched_wakeup: comm=rcuog/0 pid=16 prio=120 target_cpu=000
         rcuog/0-16 [000] d..4. 5.024067: sched_wakeup: comm=rcuop/1 pid=27 prio=120 target_cpu=000
";

#[test]
fn a_chain_leads_from_the_callback_to_the_thread_that_invokes_it() {
    let found = run(Kind::Wakeups, CHAIN);
    let [_, causes, chains] = &found.tables[..] else {
        panic!("three tables: {:?}", found.tables);
    };
    for (case, n) in [
        ("why rcuog/N callback queued interrupt", 1.0),
        ("why rcu_preempt request interrupt", 1.0),
        ("why rcu_preempt scan due softirq", 1.0),
        ("why rcuog/N grace period over interrupt", 1.0),
        ("why rcuop/N callbacks done rcuog/0", 1.0),
    ] {
        assert_eq!(
            causes.figure(case, "wakeups"),
            Some(n),
            "{case}: {causes:?}"
        );
    }
    // The second callback opened nothing: rcuog had been woken for the first.
    let figure = |metric| chains.figure("chain __d_free cbload/0 rcuog/0", metric);
    assert_eq!(figure("grace_periods"), Some(1.0));
    assert_eq!(
        ["wakeups_gp_thread", "wakeups_rcuog", "wakeups_rcuop"].map(figure),
        [Some(2.0), Some(2.0), Some(1.0)]
    );
    assert_eq!(chains.rows.len(), 1, "{chains:?}");
}

#[test]
fn sched_waking_names_the_waker_and_is_not_counted() {
    let text = CHAIN.replace(
        "          <idle>-0  [000] dNh2. 5.020413",
        "        cbload/0-92 [001] d..2. 5.020402: sched_waking: comm=rcuog/0 pid=16 prio=120 \
         target_cpu=000\n          <idle>-0  [000] dNh2. 5.020413",
    );
    let found = run(Kind::Wakeups, &text);
    assert_eq!(found.tables[0].figure("rcuog/0", "wakeups"), Some(2.0));
    assert_eq!(
        found.tables[1].figure("why rcuog/N callback queued cbload/0", "wakeups"),
        Some(1.0)
    );
}

#[test]
fn a_report_by_a_cpu_itself_wakes_the_grace_period_thread() {
    let text = CHAIN.replace(
        "          <idle>-0  [006] dNs4. 5.024012",
        "          <idle>-0  [001] d.s2. 5.024010: rcu_quiescent_state_report: rcu_preempt 13 2>0 0 0 7 0\n          <idle>-0  [006] dNh4. 5.024012",
    );
    let found = run(Kind::Wakeups, &text);
    assert_eq!(
        found.tables[1].figure("why rcu_preempt last report interrupt", "wakeups"),
        Some(1.0)
    );
}

#[test]
fn what_the_trace_does_not_tell_is_unknown() {
    let found = run(
        Kind::Wakeups,
        "<idle>-0 [000] dNh2. 5.1: sched_wakeup: comm=rcu_preempt pid=15 prio=120 target_cpu=006",
    );
    assert_eq!(
        found.tables[1].figure("why rcu_preempt unknown interrupt", "wakeups"),
        Some(1.0)
    );
    assert_eq!(found.tables[2].figure("chain - - -", "wakeups"), Some(1.0));
}
