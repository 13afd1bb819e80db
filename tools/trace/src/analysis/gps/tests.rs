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

/// A grace period from `start` that takes so many microseconds, without anything in it.
fn short(start: u64, us: u64) -> String {
    let line = |at: u64, what: &str| {
        format!(
            " rcu_preempt-15 [003] d..1. {:.6}: rcu_grace_period: rcu_preempt 13 {what}\n",
            at as f64 / 1e6
        )
    };
    line(start, "start") + &line(start + us, "end")
}

#[test]
fn the_ten_longest_are_shown_the_longest_first_and_equal_ones_in_their_order() {
    let durations = [30, 50, 10, 50, 20, 90, 40, 60, 70, 80, 15, 5];
    let text: String = (1u64..)
        .zip(durations)
        .map(|(n, us)| short(n * 1000, us))
        .collect();
    let found = run(Kind::Gps, &text);
    let longest = found.tables.last().expect("tables");
    assert_eq!(longest.prefix, "longest ");
    let shown: Vec<(f64, f64)> = longest
        .rows
        .iter()
        .map(|row| (row.figures[0].unwrap(), row.figures[1].unwrap()))
        .collect();
    let expected = [
        (0.006, 0.09),
        (0.010, 0.08),
        (0.009, 0.07),
        (0.008, 0.06),
        (0.002, 0.05),
        (0.004, 0.05),
        (0.007, 0.04),
        (0.001, 0.03),
        (0.005, 0.02),
        (0.011, 0.015),
    ];
    assert_eq!(shown, expected);
}

#[test]
fn what_began_before_the_mark_does_not_count() {
    let mark = |at: &str| format!("m-2 [001] ..... {at}: tracing_mark_write: WORKLOAD_START\n");
    let expedited = |at: &str, what: &str| {
        format!("b-6 [002] ..... {at}: rcu_exp_grace_period: rcu_preempt 4 {what}\n")
    };
    // One ends before the mark, one begins before it; so does an expedited one.
    let before = short(900_000, 5)
        + " rcu_preempt-15 [003] d..1. 0.95: rcu_grace_period: rcu_preempt 13 start\n";
    let text = before
        + &expedited("0.96", "start")
        + &mark("1.0")
        + " rcu_preempt-15 [003] d..1. 1.1: rcu_grace_period: rcu_preempt 13 end\n"
        + &expedited("1.15", "end")
        + &short(1_200_000, 7)
        + &short(1_300_000, 9);
    let found = run(Kind::Gps, &text);
    let phase = |name| {
        ["n", "duration_us_min", "duration_us_max"]
            .map(|metric| found.tables[0].figure(name, metric))
    };
    assert_eq!(phase("start to end"), [Some(2.0), Some(7.0), Some(9.0)]);
    assert_eq!(phase("end to next start")[0], Some(1.0));
    assert_eq!(phase("expedited")[0], Some(0.0));
    assert_eq!(found.notes, [""; 0]);
}

#[test]
fn a_filter_asks_for_a_holdout_and_a_task_together() {
    let all = |cpu, name: &str| {
        let filter = Filter {
            cpus: Some([cpu].into_iter().collect()),
            threads: vec![Thread::Name(name.into())],
            ..Filter::default()
        };
        filtered(Kind::Gps, filter, TEXT).tables[0].figure("start to end", "n")
    };
    assert_eq!(
        [all(1, "a"), all(1, "b"), all(9, "a")],
        [Some(1.0), Some(0.0), Some(0.0)]
    );
    // Who asked is a task too.
    assert_eq!(all(1, "softirq"), Some(1.0));
    // A thread's id is not known here.
    let by_id = Filter {
        threads: vec![Thread::Pid(5)],
        ..Filter::default()
    };
    assert_eq!(
        filtered(Kind::Gps, by_id, TEXT).tables[0].figure("start to end", "n"),
        Some(0.0)
    );
}

#[test]
fn what_does_not_end_in_the_window_is_counted_apart() {
    let start = " rcu_preempt-15 [003] d..1. 0.9: rcu_grace_period: rcu_preempt 13 start\n";
    let mark = |at: &str| format!("m-2 [001] ..... {at}: tracing_mark_write: WORKLOAD_END\n");
    let note = ["1 grace periods started in the window and did not end in it"];
    // A second start without an end, and an end behind the window.
    for text in [
        start.to_owned() + &short(1_000_000, 7),
        start.to_owned() + &mark("0.95") + &short(1_000_000, 7).replace("start", "end"),
    ] {
        assert_eq!(run(Kind::Gps, &text).notes, note, "{text}");
    }
}

#[test]
fn the_last_holdout_is_found_by_a_scan_of_the_grace_period_thread_only() {
    let last = |before: &str, by: &str| {
        let text = format!(
            " rcu_preempt-15 [003] d..1. 1.1: rcu_grace_period: rcu_preempt 13 start
 rcu_preempt-15 [003] ..... 1.2: rcu_grace_period: rcu_preempt 13 {before}
 {by} 1.3: rcu_quiescent_state_report: rcu_preempt 13 2>0 0 0 7 0
 rcu_preempt-15 [003] ..... 1.4: rcu_grace_period: rcu_preempt 13 fqsend
 rcu_preempt-15 [003] d..1. 1.5: rcu_grace_period: rcu_preempt 13 end\n"
        );
        run(Kind::Gps, &text).tables[2].rows[0].labels[0].clone()
    };
    assert_eq!(
        last("fqsstart", "rcu_preempt-15 [003] d..1."),
        "CPU 1, found by scan 1"
    );
    assert_eq!(
        last("fqsstart", "rcu_preempt-15 [003] d.s1."),
        "CPU 1, reported"
    );
    assert_eq!(last("fqsstart", "a-5 [001] d..1."), "CPU 1, reported");
    assert_eq!(
        last("fqswait", "rcu_preempt-15 [003] d..1."),
        "CPU 1, reported"
    );
}

#[test]
fn waits_and_scans_of_one_grace_period_have_a_bound() {
    let line = |what: &str| {
        format!(" rcu_preempt-15 [003] d..1. 1.1: rcu_grace_period: rcu_preempt 13 {what}\n")
    };
    let most = crate::analysis::NAMES_MOST;
    for phases in [["fqswait", "fqsstart"], ["fqsstart", "fqsend"]] {
        for (n, counted) in [(most, 1.0), (most + 1, 0.0)] {
            let text = line("start") + &phases.map(line).concat().repeat(n) + &line("end");
            let found = run(Kind::Gps, &text);
            assert_eq!(
                found.tables[0].figure("start to end", "n"),
                Some(counted),
                "{phases:?} {n}"
            );
            assert_eq!(
                found.notes.len(),
                usize::from(counted == 0.0),
                "{:?}",
                found.notes
            );
        }
    }
}

#[test]
fn tables_of_holdouts_and_requesters_have_their_bounds_and_say_so() {
    // Another CPU is last each time, and each of sixty-five tasks queues each of sixty-five functions.
    let mut text = String::new();
    for n in 0..65 * 65u64 {
        let (task, function, seq) = (n / 65, n % 65, 4 * n);
        let at = format!("1.{seq:06}");
        let gp = |seq: u64, what: &str| {
            format!("s-6 [001] d..1. {at}: rcu_grace_period: rcu_preempt {seq} {what}\n")
        };
        text += &format!(
            "t{task}-5 [001] d..1. {at}: rcu_callback: rcu_preempt rhp={n:x} func=f{function} 1\n"
        );
        text += &(gp(seq, "newreq") + &gp(seq + 4, "AccWaitCB") + &gp(seq + 1, "start"));
        text += &format!(
            "b-7 [001] d..1. {at}: rcu_quiescent_state_report: rcu_preempt 13 1>0 0 {n} {n} 0\n"
        );
        text += &gp(seq + 1, "end");
    }
    let found = run(Kind::Gps, &text);
    let note = "258 grace periods had no room in the tables of who was last and who asked";
    assert_eq!(found.notes[0], note);
}
