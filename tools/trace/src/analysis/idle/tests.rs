use crate::analysis::tests::{filtered, run};
use crate::{Filter, Kind, Thread};

/// A CPU with a callback: a tick that finds it, a tick that invokes it, a tick for a timer, then a thread of
/// RCU.
const TEXT: &str = "\
      a-5  [001] d..1. 1.000000: rcu_callback: rcu_preempt rhp=10 func=f 1
      a-5  [001] d..2. 1.000100: sched_switch: prev_comm=a prev_pid=5 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
  <idle>-0 [001] d..1. 1.000200: cpu_idle: state=2 cpu_id=1
  <idle>-0 [001] d.h1. 1.001000: hrtimer_expire_entry: hrtimer=ff function=tick_nohz_handler now=1001000000
  <idle>-0 [001] d..1. 1.001010: cpu_idle: state=4294967295 cpu_id=1
  <idle>-0 [001] d..1. 1.001020: cpu_idle: state=2 cpu_id=1
  <idle>-0 [001] d.h1. 1.002000: hrtimer_expire_entry: hrtimer=ff function=tick_nohz_handler now=1002000000
  <idle>-0 [001] ..s1. 1.002005: softirq_entry: vec=9 [action=RCU]
  <idle>-0 [001] ..s1. 1.002010: rcu_invoke_callback: rcu_preempt rhp=10 func=f
  <idle>-0 [001] d..1. 1.002030: cpu_idle: state=4294967295 cpu_id=1
  <idle>-0 [001] d..1. 1.002040: cpu_idle: state=2 cpu_id=1
  <idle>-0 [001] d.h1. 1.003000: hrtimer_expire_entry: hrtimer=ff function=tick_nohz_handler now=1003000000
  <idle>-0 [001] ..s1. 1.003005: timer_expire_entry: timer=ff function=process_timeout now=42 baseclk=42
  <idle>-0 [001] dNs4. 1.003010: sched_wakeup: comm=rcu_preempt pid=15 prio=120 target_cpu=001
  <idle>-0 [001] dN.1. 1.003015: cpu_idle: state=4294967295 cpu_id=1
  <idle>-0 [001] d..2. 1.003016: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=rcu_preempt next_pid=15 next_prio=120
  rcu_preempt-15 [001] d..2. 1.003096: sched_switch: prev_comm=rcu_preempt prev_pid=15 prev_prio=120 prev_state=I ==> next_comm=swapper/1 next_pid=0 next_prio=120
  <idle>-0 [001] d..1. 1.003100: cpu_idle: state=3 cpu_id=1
      b-6  [000] ..... 1.010000: sched_switch: prev_comm=b prev_pid=6 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
      c-7  [000] ..... 1.010200: softirq_exit: vec=1 [action=TIMER]
";

#[test]
fn segments_states_and_what_ticks_were_for() {
    let found = run(Kind::Idle, TEXT);
    let [cpus, states, ticks, lost] = &found.tables[..] else {
        panic!("four tables: {:?}", found.tables);
    };
    let near = |ours: Option<f64>, expected: f64| {
        let ours = ours.expect("is known");
        assert!((ours - expected).abs() < 1e-9, "{ours} {expected}");
    };
    let one = |metric| cpus.figure("CPU 1 cpu_idle", metric);
    assert_eq!(
        [one("idle_entries"), one("idle_ticks")],
        [Some(4.0), Some(3.0)]
    );
    // 810, 1010 and 975 us in full, and 7100 us up to the end of the trace at 1.010200.
    near(one("idle_ms_max"), 1.01);
    near(
        one("idle_pct"),
        (810.0 + 1010.0 + 975.0 + 7100.0) / 10_200.0 * 100.0,
    );
    let zero = |metric| cpus.figure("CPU 0 sched_switch", metric);
    near(zero("idle_ms_avg"), 0.2);
    assert_eq!(states.figure("state 2", "idle_entries"), Some(3.0));
    assert_eq!(states.figure("state 3", "idle_ms_avg"), None);
    near(
        states.figure("state 3", "residency_pct"),
        7100.0 / 10_200.0 * 100.0,
    );
    // The first tick and the second one found the callback; the second one invoked it.
    for (case, n) in [
        ("tick callbacks f", 2.0),
        ("tick timer process_timeout", 1.0),
    ] {
        assert_eq!(
            ticks.figure(case, "idle_ticks"),
            Some(n),
            "{case}: {ticks:?}"
        );
    }
    near(lost.figure("lost tick", "lost_ms"), 0.02);
    near(lost.figure("lost RCU softirq", "lost_ms"), 0.04);
    near(lost.figure("lost rcu_preempt", "lost_ms"), 0.1);
    near(lost.figure("lost (RCU)", "lost_us_avg"), 70.0);
    near(lost.figure("lost rcu_preempt", "idle_before_ms_avg"), 0.96);
}

#[test]
fn an_offloaded_cpu_does_not_keep_its_tick_for_callbacks() {
    let offloaded = format!(
        "{}{TEXT}",
        "a-5 [001] d..1. 0.9: rcu_nocb_wake: rcu_preempt 1 FirstQ\n"
    );
    let found = run(Kind::Idle, &offloaded);
    let ticks = &found.tables[2];
    assert_eq!(ticks.figure("tick after a task", "idle_ticks"), Some(1.0));
    assert_eq!(ticks.figure("tick RCU softirq", "idle_ticks"), Some(1.0));
}

#[test]
fn the_window_cuts_idle_time() {
    let filter = Filter {
        from_ns: Some(1_000_600_000),
        to_ns: Some(1_001_000_000),
        ..Filter::default()
    };
    let found = filtered(Kind::Idle, filter, TEXT);
    let idle = found.tables[0]
        .figure("CPU 1 cpu_idle", "idle_pct")
        .expect("is known");
    assert!((idle - 100.0).abs() < 1e-9, "{idle}");
    assert_eq!(
        found.tables[0].figure("CPU 1 cpu_idle", "idle_ms_max"),
        None
    );
    let filter = Filter {
        cpus: Some([0].into_iter().collect()),
        ..Filter::default()
    };
    assert_eq!(
        filtered(Kind::Idle, filter, TEXT).tables[0].figure("(all)", "idle_ticks"),
        None
    );
}

#[test]
fn a_window_in_which_nothing_happens_is_idle_all_the_same() {
    let filter = Filter {
        from_ns: Some(1_004_000_000),
        to_ns: Some(1_005_000_000),
        ..Filter::default()
    };
    let found = filtered(Kind::Idle, filter.clone(), TEXT);
    assert_eq!(
        found.tables[0].figure("CPU 1 cpu_idle", "idle_pct"),
        Some(100.0)
    );
    let ended =
        format!("{TEXT}  <idle>-0 [001] d..1. 1.020000: cpu_idle: state=4294967295 cpu_id=1\n");
    let found = filtered(Kind::Idle, filter, &ended);
    assert_eq!(
        found.tables[0].figure("CPU 1 cpu_idle", "idle_pct"),
        Some(100.0)
    );
}

#[test]
fn a_tick_that_was_not_stopped_is_counted_with_what_needs_it() {
    let stop = |cpu: u32, at: &str, success: u32, needs: &str| {
        format!("<idle>-0 [{cpu:03}] d..1. {at}: tick_stop: success={success} dependency={needs}\n")
    };
    let text = TEXT.to_owned()
        + &stop(1, "1.011", 1, "NONE")
        + &stop(1, "1.012", 1, "NONE")
        + &stop(1, "1.013", 0, "SCHED")
        + &stop(1, "1.014", 0, "RCU")
        + &stop(1, "1.015", 0, "RCU")
        + &stop(2, "1.016", 0, "RCU")
        + &stop(2, "1.017", 1, "NONE")
        + &stop(1, "1.020", 0, "RCU");
    let counts = |filter| {
        let found = filtered(Kind::Idle, filter, &text);
        let table = found
            .tables
            .iter()
            .find(|table| table.prefix == "tick_stop ")
            .expect("refusals");
        ["SCHED", "RCU", "(stopped)"]
            .map(|case| table.figure(&format!("tick_stop {case}"), "idle_ticks"))
    };
    assert_eq!(counts(Filter::default()), [1.0, 4.0, 3.0].map(Some));
    let filter = Filter {
        cpus: Some([1].into_iter().collect()),
        to_ns: Some(1_018_000_000),
        ..Filter::default()
    };
    assert_eq!(counts(filter), [1.0, 2.0, 2.0].map(Some));
}

#[test]
fn states_beyond_the_bound_are_left_out_and_said() {
    let mut text = String::new();
    for state in 0..super::STATES_MOST + 2 {
        text += &format!("<idle>-0 [001] d..1. 1.0: cpu_idle: state={state} cpu_id=1\n");
    }
    let found = run(Kind::Idle, &text);
    assert_eq!(found.tables[1].rows.len(), super::STATES_MOST);
    let note = "2 idle entries into states beyond the first 32768 of all CPUs are not in the table";
    assert!(
        found.notes.iter().any(|said| said.starts_with(note)),
        "{:?}",
        found.notes
    );
    assert_eq!(run(Kind::Idle, TEXT).notes, [""; 0]);
}

#[test]
fn a_filter_shows_its_cpus_and_what_its_threads_took() {
    let one = Filter {
        cpus: Some([1].into_iter().collect()),
        ..Filter::default()
    };
    let found = filtered(Kind::Idle, one, TEXT);
    let cpus: Vec<&str> = found.tables[0]
        .rows
        .iter()
        .map(|row| row.labels[0].as_str())
        .collect();
    assert_eq!(cpus, ["1", "(all)"]);
    let lost = |name: &str| {
        let filter = Filter {
            threads: vec![Thread::Name(name.into())],
            ..Filter::default()
        };
        let found = filtered(Kind::Idle, filter, TEXT);
        let table = found
            .tables
            .into_iter()
            .find(|table| table.prefix == "lost ");
        let rows = table.map_or(Vec::new(), |table| table.rows);
        rows.into_iter()
            .map(|row| row.labels[0].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(lost("rcu_preempt"), ["rcu_preempt", "(RCU)", "(all)"]);
    assert_eq!(lost("b"), [""; 0]);
}

#[test]
fn causes_of_lost_time_have_their_bound() {
    let most = crate::analysis::NAMES_MOST;
    let mut text = "<idle>-0 [001] d..1. 1.0: cpu_idle: state=1 cpu_id=1\n".to_owned();
    for n in 0..most + 3 {
        text += &format!(
            "<idle>-0 [001] d..1. 1.1: sched_wakeup: comm=rcu_{n} pid=7 prio=120 target_cpu=001\n"
        );
        text += "<idle>-0 [001] d..1. 1.1: cpu_idle: state=1 cpu_id=1\n";
    }
    let found = run(Kind::Idle, &text);
    let lost = found
        .tables
        .iter()
        .find(|table| table.prefix == "lost ")
        .expect("causes");
    // Those beyond it are one row; sums of RCU and of all follow.
    assert_eq!(lost.rows.len(), most + 3);
    assert_eq!(lost.figure("lost (others)", "interruptions"), Some(3.0));
}

#[test]
fn what_took_nothing_has_no_mean() {
    let text = "\
        <idle>-0 [001] d..1. 1.0: cpu_idle: state=1 cpu_id=1
        <idle>-0 [001] d..1. 1.1: sched_wakeup: comm=b pid=7 prio=120 target_cpu=001
        <idle>-0 [001] d..1. 1.2: cpu_idle: state=1 cpu_id=1";
    let found = run(Kind::Idle, text);
    let lost = found
        .tables
        .iter()
        .find(|table| table.prefix == "lost ")
        .expect("causes");
    let of = |case: &str| ["interruptions", "lost_us_avg"].map(|metric| lost.figure(case, metric));
    assert_eq!(
        of("lost a task").map(|figure| figure.map(f64::round)),
        [Some(1.0), Some(100_000.0)]
    );
    assert_eq!(of("lost (RCU)"), [Some(0.0), None]);
}
