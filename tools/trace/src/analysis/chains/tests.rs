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

fn causes(text: &str) -> Vec<(String, f64)> {
    let found = run(Kind::Wakeups, text);
    let table = found
        .tables
        .iter()
        .find(|table| table.prefix == "why ")
        .expect("causes");
    let all = table
        .rows
        .iter()
        .map(|row| (table.case(row), row.figures[0].expect("a count")));
    all.collect()
}

#[test]
fn a_soft_interrupt_is_the_ticks_until_something_ends_it() {
    let tick = "<idle>-0 [001] d.h1. 1.0: hrtimer_expire_entry: hrtimer=ff function=tick_nohz_handler now=1\n";
    let softirq = "<idle>-0 [001] ..s1. 1.2: softirq_entry: vec=9 [action=RCU]\n";
    let cause = |between: &str| causes(&format!("{tick}{between}{softirq}"));
    let one = |cause: &str| vec![(format!("why RCU softirq {cause} interrupt"), 1.0)];
    assert_eq!(cause(""), one("tick"));
    for ends in [
        "<idle>-0 [001] d..1. 1.1: cpu_idle: state=2 cpu_id=1\n",
        "<idle>-0 [001] d..1. 1.1: cpu_idle: state=4294967295 cpu_id=1\n",
        "<idle>-0 [001] d..2. 1.1: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R \
         ==> next_comm=b next_pid=2 next_prio=120\n",
    ] {
        assert_eq!(cause(ends), one("other"), "{ends}");
        // Nor does it on another CPU.
        let elsewhere = ends
            .replace("[001]", "[002]")
            .replace("cpu_id=1", "cpu_id=2");
        assert_eq!(cause(&elsewhere), one("tick"), "{elsewhere}");
    }
    // The second one is not the tick's.
    let twice = causes(&format!("{tick}{softirq}{softirq}"));
    assert_eq!(
        twice,
        [
            ("why RCU softirq other interrupt".to_owned(), 1.0),
            ("why RCU softirq tick interrupt".to_owned(), 1.0)
        ]
    );
    // Another soft interrupt is not RCU's.
    let timer = "<idle>-0 [001] ..s1. 1.1: softirq_entry: vec=1 [action=TIMER]\n";
    assert_eq!(cause(timer), one("tick"));
}

#[test]
fn the_last_report_is_that_of_another_task_or_of_an_interrupt() {
    let cause = |report: &str| {
        let text = format!(
            "rcu_preempt-15 [006] d..1. 1.0: rcu_grace_period: rcu_preempt 13 start
             rcu_preempt-15 [006] ..... 1.1: rcu_grace_period: rcu_preempt 13 fqswait
             {report} 1.2: rcu_quiescent_state_report: rcu_preempt 13 1>0 0 0 7 0
             <idle>-0 [006] dNh2. 1.3: sched_wakeup: comm=rcu_preempt pid=15 prio=120 target_cpu=006\n"
        );
        causes(&text)[0].0.clone()
    };
    assert_eq!(
        cause("a-5 [001] d..1."),
        "why rcu_preempt last report interrupt"
    );
    assert_eq!(
        cause("rcu_preempt-15 [006] d.s1."),
        "why rcu_preempt last report interrupt"
    );
    assert_eq!(
        cause("rcu_preempt-15 [006] d..1."),
        "why rcu_preempt scan due interrupt"
    );
}

#[test]
fn a_group_sleeps_by_its_own_words_and_a_timer_shows() {
    let wakeup =
        "<idle>-0 [000] dNh2. 1.5: sched_wakeup: comm=rcuog/0 pid=16 prio=120 target_cpu=000\n";
    let cause = |before: &str| causes(&format!("{before}{wakeup}"))[0].0.clone();
    let sleeps = "rcuog/0-16 [000] d..1. 1.0: rcu_nocb_wake: rcu_preempt 0 Sleep\n";
    let waits =
        "rcuog/0-16 [000] ..... 1.0: rcu_future_grace_period: rcu_preempt 12 16 0 0 7 StartWait\n";
    let timer = "<idle>-0 [000] d.s1. 1.2: rcu_nocb_wake: rcu_preempt 0 Timer\n";
    assert_eq!(cause(sleeps), "why rcuog/N callback queued interrupt");
    assert_eq!(
        cause(&format!("{sleeps}{timer}")),
        "why rcuog/N timer interrupt"
    );
    assert_eq!(cause(waits), "why rcuog/N grace period over interrupt");
    // What others say about sleeping is not about the group, even under its id.
    for other in [sleeps, waits] {
        let other = other.replace("rcuog/0-16", "other-16");
        assert_eq!(cause(&other), "why rcuog/N unknown interrupt", "{other}");
        assert_eq!(
            cause(&format!("{sleeps}{other}")),
            "why rcuog/N callback queued interrupt"
        );
    }
}

#[test]
fn causes_and_chains_have_their_bounds_and_say_so() {
    let mut text = String::new();
    // Two kinds of threads, woken by each of so many tasks.
    let causes = crate::analysis::NAMES_MOST + 2;
    for n in 0..causes {
        let (waker, kind) = (n / 2, ["rcuop", "rcuos"][n % 2]);
        text += &format!(
            "w{waker}-5 [000] d..1. 1.5: sched_wakeup: comm={kind}/1 pid=27 prio=120 target_cpu=000\n"
        );
    }
    let found = run(Kind::Wakeups, &text);
    assert_eq!(found.tables[1].rows.len(), causes - 2);
    let note = "2 wake-ups or grace periods had no room";
    assert!(
        found.notes.iter().any(|said| said.starts_with(note)),
        "{:?}",
        found.notes
    );
    // Sixty-five tasks queue each of sixty-five functions: a grace period for each pair.
    let mut text = String::new();
    for n in 0..65 * 65u64 {
        let (task, function, seq) = (n / 65, n % 65, 4 * n);
        let at = format!("1.{seq:06}");
        text += &format!(
            "t{task}-5 [001] d..1. {at}: rcu_callback: rcu_preempt rhp={n:x} func=f{function} 1\n"
        );
        text += &format!("s-6 [001] d..1. {at}: rcu_grace_period: rcu_preempt {seq} newreq\n");
        text += &format!(
            "s-6 [001] d..1. {at}: rcu_grace_period: rcu_preempt {} AccWaitCB\n",
            seq + 4
        );
        text += &format!(
            "rcu_preempt-15 [003] d..1. {at}: rcu_grace_period: rcu_preempt {} start\n",
            seq + 1
        );
        text += &format!(
            "rcu_preempt-15 [003] d..1. {at}: rcu_grace_period: rcu_preempt {} end\n",
            seq + 1
        );
    }
    let found = run(Kind::Wakeups, &text);
    let note = "129 wake-ups or grace periods had no room";
    assert!(
        found.notes.iter().any(|said| said.starts_with(note)),
        "{:?}",
        found.notes
    );
    assert_eq!(run(Kind::Wakeups, CHAIN).notes, [""; 0]);
}

/// The callback, the task and the requester of the only grace period.
fn asked(events: &[&str]) -> [String; 3] {
    let request = [
        "<idle>-0 [001] d.s2. 1.8: rcu_grace_period: rcu_preempt 12 newreq",
        "rcu_preempt-15 [003] d..1. 1.8: rcu_grace_period: rcu_preempt 13 start",
        "rcu_preempt-15 [003] d..1. 1.9: rcu_grace_period: rcu_preempt 13 end",
    ];
    let found = run(Kind::Gps, &[events, &request].concat().join("\n"));
    let asked = found
        .tables
        .iter()
        .find(|table| table.prefix == "asked ")
        .expect("requesters");
    asked.rows[0]
        .labels
        .clone()
        .try_into()
        .expect("three labels")
}

#[test]
fn a_callback_on_a_bypass_list_gets_its_grace_period_behind_the_others() {
    let h = "c-5 [001] d..1. 1.0: rcu_callback: rcu_preempt rhp=10 func=h 1";
    let opens = "c-5 [001] d..1. 1.1: rcu_nocb_wake: rcu_preempt 1 FirstBQ";
    let k = "d-6 [001] d..1. 1.2: rcu_callback: rcu_preempt rhp=20 func=k 1";
    for wakes in [
        "DoWake",
        "WakeNot",
        "WakeNotPoll",
        "WakeEmpty",
        "WakeEmptyIsDeferred",
        "WakeOvfIsDeferred",
    ] {
        let wakes = format!("d-6 [001] d..1. 1.3: rcu_nocb_wake: rcu_preempt 1 {wakes}");
        assert_eq!(
            asked(&[h, opens, k, &wakes]),
            ["k", "d", "softirq"],
            "{wakes}"
        );
        // On behalf of another CPU, or by a thread of a group, it says nothing about this one.
        for other in [
            wakes.replace("[001]", "[002]"),
            wakes.replace("d-6", "rcuog/0-16"),
        ] {
            assert_eq!(
                asked(&[h, opens, k, &other]),
                ["h", "c", "softirq"],
                "{other}"
            );
        }
    }
    assert_eq!(asked(&[h, k]), ["h", "c", "softirq"]);
    assert_eq!(asked(&[h, opens, k]), ["h", "c", "softirq"]);
    assert_eq!(asked(&[]), ["-", "-", "softirq"]);
}

#[test]
fn without_reports_what_has_ended_is_known_by_its_end() {
    let text: Vec<&str> = CHAIN
        .lines()
        .filter(|line| !line.contains("report"))
        .collect();
    let found = run(Kind::Wakeups, &text.join("\n"));
    let figure = |metric| found.tables[2].figure("chain __d_free cbload/0 rcuog/0", metric);
    assert_eq!(
        ["wakeups_rcuog", "wakeups_rcuop"].map(figure),
        [Some(2.0), Some(1.0)]
    );
}
