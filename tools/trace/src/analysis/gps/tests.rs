use crate::Kind;
use crate::analysis::tests::{filtered, run};
use crate::{Filter, Thread};

/// Two scans, then a CPU that reports by itself; another one right behind it.
const TEXT: &str = "\
      a-5  [001] d..1. 1.000000: rcu_callback: rcu_preempt rhp=10 func=f 1
      <idle>-0 [001] d.s2. 1.000100: rcu_future_grace_period: rcu_preempt 12 16 0 0 7 Startleaf
      <idle>-0 [001] d.s2. 1.000101: rcu_grace_period: rcu_preempt 12 newreq
      <idle>-0 [001] d.s2. 1.000102: rcu_grace_period: rcu_preempt 16 AccWaitCB
 rcu_preempt-15 [003] d..1. 1.000200: rcu_grace_period: rcu_preempt 13 start
 rcu_preempt-15 [003] d..1. 1.000201: rcu_grace_period_init: rcu_preempt 13 0 0 7 ff
 rcu_preempt-15 [003] ..... 1.000210: rcu_grace_period: rcu_preempt 13 fqswait
 rcu_preempt-15 [003] ..... 1.004210: rcu_grace_period: rcu_preempt 13 fqsstart
 rcu_preempt-15 [003] d..1. 1.004215: rcu_quiescent_state_report: rcu_preempt 13 f5>a 0 0 7 0
 rcu_preempt-15 [003] ..... 1.004216: rcu_grace_period: rcu_preempt 13 fqsend
 rcu_preempt-15 [003] ..... 1.004217: rcu_grace_period: rcu_preempt 13 fqswait
 rcu_preempt-15 [003] ..... 1.008217: rcu_grace_period: rcu_preempt 13 fqsstart
 rcu_preempt-15 [003] d..1. 1.008220: rcu_quiescent_state_report: rcu_preempt 13 8>2 0 0 7 0
 rcu_preempt-15 [003] ..... 1.008221: rcu_grace_period: rcu_preempt 13 fqsend
 rcu_preempt-15 [003] ..... 1.008222: rcu_grace_period: rcu_preempt 13 fqswait
      <idle>-0 [001] d.s2. 1.009222: rcu_quiescent_state_report: rcu_preempt 13 2>0 0 0 7 0
 rcu_preempt-15 [003] d..1. 1.009240: rcu_grace_period: rcu_preempt 13 end
 rcu_preempt-15 [003] d..1. 1.010240: rcu_grace_period: rcu_preempt 17 start
 rcu_preempt-15 [003] ..... 1.010250: rcu_grace_period: rcu_preempt 17 fqswait
 rcu_preempt-15 [003] ..... 1.014250: rcu_grace_period: rcu_preempt 17 fqsstart
 rcu_preempt-15 [003] d..1. 1.014255: rcu_quiescent_state_report: rcu_preempt 17 ff>0 0 0 7 0
 rcu_preempt-15 [003] ..... 1.014256: rcu_grace_period: rcu_preempt 17 fqsend
 rcu_preempt-15 [003] ..... 1.014257: rcu_grace_period: rcu_preempt 17 fqswait
 rcu_preempt-15 [003] d..1. 1.014260: rcu_grace_period: rcu_preempt 17 end
      b-6 [002] ..... 1.020000: rcu_exp_grace_period: rcu_preempt 4 start
      b-6 [002] ..... 1.020300: rcu_exp_grace_period: rcu_preempt 4 end
 rcu_preempt-15 [003] d..1. 1.030000: rcu_grace_period: rcu_preempt 21 start
";

#[test]
fn phases_scans_and_who_was_last() {
    let found = run(Kind::Gps, TEXT);
    let [phases, scans, last, asked, longest] = &found.tables[..] else {
        panic!("five tables: {:?}", found.tables);
    };
    let near = |phase: &str, n: f64, avg: f64| {
        assert_eq!(phases.figure(phase, "n"), Some(n), "{phase}");
        let ours = phases.figure(phase, "duration_us_avg").expect("is known");
        assert!((ours - avg).abs() < 1e-9, "{phase}: {ours} {avg}");
    };
    near("request to start", 1.0, 100.0);
    near("init", 2.0, 10.0);
    // Three waits of 4 ms, and one that the report cut off after 1 ms.
    near("wait", 4.0, 3250.0);
    near("scan", 3.0, (6.0 + 4.0 + 6.0) / 3.0);
    near("cleanup", 2.0, (18.0 + 5.0) / 2.0);
    near("start to end", 2.0, (9040.0 + 4020.0) / 2.0);
    near("end to next start", 1.0, 1000.0);
    near("expedited", 1.0, 300.0);
    assert_eq!(scans.figure("scans 1", "grace_periods"), Some(1.0));
    assert_eq!(scans.figure("scans 2", "grace_periods"), Some(1.0));
    assert_eq!(
        last.figure("last CPU 1, reported", "grace_periods"),
        Some(1.0)
    );
    assert_eq!(
        last.figure("last several CPUs, found by scan 1", "gp_ms_avg"),
        Some(4.02)
    );
    assert_eq!(
        asked.figure("asked f a softirq", "grace_periods"),
        Some(1.0)
    );
    assert_eq!(
        longest.figure("longest 1 CPU 1, reported f a softirq", "start_s"),
        Some(1.0002)
    );
    assert_eq!(
        found.notes,
        ["1 grace periods started in the window and did not end in it"]
    );
}

#[test]
fn filters_select_the_last_holdout_and_the_task() {
    let all = |filter| filtered(Kind::Gps, filter, TEXT).tables[0].figure("start to end", "n");
    assert_eq!(
        all(Filter {
            cpus: Some([1].into_iter().collect()),
            ..Filter::default()
        }),
        Some(2.0)
    );
    let thread = |name: &str| Filter {
        threads: vec![Thread::Name(name.into())],
        ..Filter::default()
    };
    assert_eq!(all(thread("a")), Some(1.0));
    assert_eq!(all(thread("b")), Some(0.0));
}

#[test]
fn holdouts_are_cpus_of_the_leaf_and_not_bits_of_the_root() {
    let text = "\
 rcu_preempt-15 [003] d..1. 1.1: rcu_grace_period: rcu_preempt 13 start
 rcu_preempt-15 [003] ..... 1.2: rcu_grace_period: rcu_preempt 13 fqswait
      <idle>-0 [017] d.s2. 1.3: rcu_quiescent_state_report: rcu_preempt 13 2>0 1 16 31 0
      <idle>-0 [017] d.s2. 1.3: rcu_quiescent_state_report: rcu_preempt 13 2>0 0 0 31 0
 rcu_preempt-15 [003] d..1. 1.4: rcu_grace_period: rcu_preempt 13 end";
    assert_eq!(
        run(Kind::Gps, text).tables[2].figure("last CPU 17, reported", "grace_periods"),
        Some(1.0)
    );
}
