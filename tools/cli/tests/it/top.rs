//! `quiescent top`, beside a program that uses the library: this one.

use crate::common::{nonsense, quiescent, report, run, text};
use quiescent::telemetry;
use std::process::Stdio;
use std::time::Duration;

/// This process has telemetry, and executes some callbacks repeatedly until the command has ended.
fn beside<T>(command: impl FnOnce(&str) -> T) -> T {
    telemetry::start().expect("a page");
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                quiescent::defer_hurry(|| ());
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        let result = command(&std::process::id().to_string());
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        result
    })
}

#[test]
fn nonsense_is_a_usage_error_with_a_remedy() {
    nonsense(&[
        (&["top"], "--pid"),
        (&["top", "--pid", "0"], "--pid"),
        (&["top", "--pid", "-1"], "--pid"),
        (&["top", "--pid", "me"], "--pid"),
        (&["top", "--pid", "1", "-n", "0"], "1.."),
        (&["top", "--pid", "1", "--sim", "churn"], "--sim"),
        (&["top", "--pid", "1", "--seed", "2"], "--seed"),
        (&["top", "--sim", "no-such-workload"], "give one of"),
        (&["top", "--sim", "churn", "--set", "colour=blue"], "colour"),
        (&["top", "--pid", "1", "--delay", "0"], "give 0.1 to 3600"),
        (&["top", "--pid", "1", "--sort", "colour"], "queued"),
        (&["top", "--pid", "1", "--kernel"], "--kernel"),
        (&["top", "--pid", "1", "--by", "rates"], "--pid"),
        (&["top", "--kernel", "--by", "guess"], "events"),
    ]);
}

#[test]
fn a_process_without_counters_gets_the_remedy() {
    let mut idle = std::process::Command::new("sleep")
        .arg("60")
        .spawn()
        .expect("sleep");
    let pid = idle.id().to_string();
    let output = run(&["top", "--pid", &pid, "--json"]);
    idle.kill().expect("it runs");
    idle.wait().expect("it ends");
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("QUIESCENT_TELEMETRY=1"), "{said}");
    let output = run(&["top", "--pid", "4294967295"]);
    assert!(text(&output.stderr).contains("no process"));
}

#[test]
fn text_has_callbacks_threads_and_causes() {
    let output = beside(|pid| run(&["top", "--pid", pid, "-n", "2", "--delay", "0.3"]));
    assert!(output.status.success(), "{output:?}");
    let said = text(&output.stdout);
    assert_eq!(said.matches("Callback ").count(), 2, "{said}");
    for part in [
        "counted exactly",
        "{{closure}}",
        "kick ",
        "hurry ",
        "quiescent ",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
}

#[test]
fn json_has_each_figure_over_all_intervals() {
    let words = ["top", "-n", "3", "--delay", "0.2", "--json", "--pid"];
    let all = beside(|pid| report(&run(&[&words[..], &[pid]].concat())));
    let of = |case: &str, metric: &str| {
        let found = all.find("quiescent", case, metric);
        found.unwrap_or_else(|| panic!("{case} {metric}: {all:#?}"))
    };
    assert_eq!(of("process", "grace_periods_per_s").n, 3);
    assert!(of("by kick", "wakeups_per_s").max > 0.0);
    let closure = all.rows.iter().find(|it| it.case.contains("closure"));
    assert!(closure.is_some_and(|it| it.n >= 1));
    let filtered = beside(|pid| {
        let more = [pid, "--filter", "no such callback"];
        report(&run(&[&words[..], &more].concat()))
    });
    assert!(!filtered.rows.iter().any(|it| it.case.contains("closure")));
}

#[test]
fn ctrl_c_prints_what_was_counted() {
    let output = beside(|pid| {
        let child = quiescent()
            .args([
                "top", "--json", "-n", "1000", "--delay", "0.1", "--pid", pid,
            ])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the command was built for this test");
        std::thread::sleep(Duration::from_millis(1500));
        // SAFETY: kill touches no memory; the child has not been waited for.
        unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGINT) };
        child.wait_with_output().expect("it ends")
    });
    assert_eq!(output.status.code(), Some(130));
    let said = text(&output.stdout);
    let all = quiescent_report::Report::from_json(&said).expect("a document");
    assert!(all.find("quiescent", "process", "scans_per_s").is_some());
}

#[test]
fn a_simulated_run_is_the_same_each_time_and_does_not_wait() {
    let words = [
        "top",
        "--sim",
        "local-video",
        "--set",
        "rcu=lazy",
        "-n",
        "40",
    ];
    let first = run(&words);
    assert!(first.status.success(), "{first:?}");
    assert_eq!(text(&first.stdout), text(&run(&words).stdout));
    let other = run(&[&words[..], &["--seed", "9"]].concat());
    assert_ne!(text(&first.stdout), text(&other.stdout));
    let said = text(&first.stdout);
    for part in ["at 40.0 s, counted exactly", "RCU 0.", "compositor"] {
        assert!(said.contains(part), "{part} in {said}");
    }
    let churn = run(&["top", "--sim", "churn", "--batch", "-n", "1"]);
    assert!(
        text(&churn.stdout).contains("in the way: CPU "),
        "{churn:?}"
    );
    let all = report(&run(&[&words[..], &["--json"]].concat()));
    let of = |case: &str, metric: &str| all.find("model", case, metric).expect(metric);
    let broke = of("wakeme_after_rcu", "broke_per_s");
    assert!(broke.n == 40 && broke.max > 0.0);
    // A callback that finds the others' flush time passed runs with them.
    assert!(of("file_free_rcu", "lazy_pct").median == 100.0);
    assert!(of("machine", "rcu_cpu_pct").max > 0.0);
}

#[test]
fn the_kernels_rates_are_for_everybody() {
    let words = [
        "top", "--kernel", "--by", "rates", "-n", "2", "--delay", "0.2",
    ];
    let all = report(&run(&[&words[..], &["--json"]].concat()));
    assert_eq!(
        (&all.options["source"], &all.options["exact"]),
        (&"rates".into(), &true.into())
    );
    assert_eq!(
        all.find("kernel", "kernel", "softirqs_per_s")
            .expect("/proc/softirqs")
            .n,
        2
    );
    let none = all.find("kernel", "kernel", "grace_periods_per_s");
    assert!(none.is_none(), "what is not known is left out");
    let said = text(&run(&words).stdout);
    assert_eq!(said.matches("exact rates").count(), 2, "{said}");
    assert!(!said.contains("grace periods"), "{said}");
}

#[test]
fn the_kernels_best_source_is_taken_and_another_one_refused_with_a_remedy() {
    let output = run(&["top", "--kernel", "-n", "1", "--delay", "0.3", "--json"]);
    let why = text(&output.stderr);
    let all = report(&output);
    let source = all.options["source"]
        .as_str()
        .expect("one of three")
        .to_owned();
    assert_eq!(
        why.contains("no better source"),
        source != "events",
        "{why}"
    );
    assert_eq!(all.options["exact"], source != "frees");
    assert!(
        !all.rows
            .iter()
            .any(|it| it.metric == "errors" && it.max > 0.0),
        "{all:#?}"
    );
    for by in ["events", "frees"] {
        let output = run(&["top", "--kernel", "--by", by, "-n", "1", "--delay", "0.2"]);
        match output.status.code() {
            Some(0) => assert!(text(&output.stdout).contains("events lost: ")),
            code => {
                assert_eq!(code, Some(1), "{output:?}");
                let why = text(&output.stderr);
                let has_remedy = ["root", "mount", "CONFIG_RCU_TRACE", "doctor"]
                    .iter()
                    .any(|it| why.contains(it));
                assert!(has_remedy, "{why}");
            }
        }
    }
}
