//! `quiescent sim`: the output for a user or a script, of a simulated machine.

use crate::common::{nonsense, quiescent, report, run, text};
use quiescent_report::Report;
use std::fs;
use std::io::Read;
use std::process::Stdio;

#[test]
fn nonsense_is_a_usage_error_with_a_remedy() {
    nonsense(&[
        (&["sim"][..], "--help"),
        (&["sim", "nothing"], "give one of sync, churn"),
        (
            &["sim", "sync", "--set", "early_gs=off"],
            "did you mean `early_qs`",
        ),
        (&["sim", "sync", "--set", "early_qs"], "key=value"),
        (
            &["sim", "sync", "--set", "calls=-1"],
            "calls takes a number",
        ),
        (&["sim", "sync", "--cpus", "0"], "1 to 1048576"),
        (&["sim", "sync", "--cpus", "10000000"], "MiB of memory"),
        (&["sim", "sync", "--hz", "0"], "1 to 10000"),
        (&["sim", "sync", "--seeds", "0"], "give 1 to 10000"),
        (&["sim", "sync", "--jobs", "0"], "give 1 to 1024"),
        (&["sim", "sync", "--seconds", "0"], "give 1 to 86400"),
        (
            &["sim", "sync", "--sweep", "early_qs=off,maybe"],
            "off, scan or init",
        ),
        (
            &["sim", "sync", "--sweep", "hz=100,250", "--trace", "/tmp/x"],
            "--sweep",
        ),
        (&["sim", "churn", "--set", "flush=1s"], "did you mean `"),
        (&["sim", "--list", "sync"], "cannot be used"),
        (
            &["sim", "--experiment", "nothing"],
            "give one of unseen-synchronize, ",
        ),
        (&["sim", "sync", "--experiment", "flood"], "cannot be used"),
    ]);
}

#[test]
fn an_experiment_of_ones_own_has_rows_and_verdicts() {
    let path = std::env::temp_dir().join(format!("quiescent-exp-{}.toml", std::process::id()));
    let text = "about = \"x\"\nworkload = \"sync\"\n[runs]\na = \"calls=5\"\n[[figure]]\ncase = \"own\"\n\
                what = [\"calls\", \"calls\"]\nis = \"a.calls\"\nat_least = 6\nsays = \"many are made\"\n";
    fs::write(&path, text).unwrap();
    let output = run(&["sim", "--experiment", path.to_str().unwrap(), "--json"]);
    fs::write(&path, text.replace("a.calls", "b.calls")).unwrap();
    let wrong = run(&["sim", "--experiment", path.to_str().unwrap()]);
    fs::remove_file(&path).unwrap();
    let found = report(&output);
    assert_eq!(found.find("model", "own", "calls").unwrap().median, 5.0);
    assert!(crate::common::text(&output.stdout).contains("\"met\":false"));
    assert_eq!(wrong.status.code(), Some(2));
    let said = crate::common::text(&wrong.stderr);
    assert!(
        said.contains("line 8, column 6: `b` is no run of [runs]"),
        "{said}"
    );
}

#[test]
fn a_file_that_is_wrong_is_named_with_its_line_and_column() {
    let path = std::env::temp_dir().join(format!("quiescent-sim-{}.toml", std::process::id()));
    fs::write(
        &path,
        "about = \"x\"\nassumes = [\"x\"]\nuntil = 3\n[[task]]\nwork = \"turns\"\nname = \"x\"\n",
    )
    .unwrap();
    let output = run(&["sim", path.to_str().unwrap()]);
    fs::remove_file(&path).unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(
        said.contains("line 3, column 9") && said.contains(path.to_str().unwrap()),
        "{said}"
    );
}

#[test]
fn a_report_has_everything_that_was_decided_and_which_cpu_credited_which() {
    let output = run(&[
        "sim",
        "sync",
        "--cpus",
        "32",
        "--hz",
        "1000",
        "--set",
        "caller_cpu=1",
        "--set",
        "early_qs=off",
        "--json",
    ]);
    let report = report(&output);
    assert_eq!(report.command, "sim");
    assert_eq!(report.options["cpus"], 32);
    assert_eq!(report.options["early_qs"], "off");
    assert_eq!(report.options["caller_cpu"], 1);
    assert!(
        report.options["assumes"]
            .as_array()
            .is_some_and(|it| !it.is_empty())
    );
    let case = "sync caller_cpu=1 early_qs=off";
    let value = |case: &str, metric: &str| report.find("model", case, metric).unwrap().median;
    assert_eq!(value(case, "two_wait_pct"), 100.0);
    assert_eq!(report.find("model", case, "latency_us").unwrap().n, 100);
    let cpu = format!("{case}, cpu 0");
    assert_eq!(
        value(&cpu, "credited_by_scan"),
        100.0,
        "the thread's own CPU, by the second scan"
    );
    assert!(value(&format!("{case}, thread rcu_preempt"), "wakeups") > 200.0);
    assert_eq!(
        value(&format!("{case}, function wakeme_after_rcu"), "executed"),
        100.0
    );
    assert!(
        output.stderr.is_empty(),
        "no progress bar where there is no terminal"
    );
}

#[test]
fn sweeps_and_seeds_give_the_same_report_whatever_the_jobs() {
    let run_with = |jobs: &str| {
        let output = run(&[
            "sim",
            "churn",
            "--sweep",
            "early_qs=off,init",
            "--sweep",
            "rcu_nocbs=none;0-3,5",
            "--seeds",
            "3",
            "--seconds",
            "1",
            "--jobs",
            jobs,
            "--json",
        ]);
        report(&output).rows
    };
    let rows = run_with("1");
    assert_eq!(rows, run_with("5"));
    let mut cases: Vec<&str> = Vec::new();
    for row in &rows {
        let case = row.case.split(", ").next().unwrap();
        if !cases.contains(&case) && row.metric == "grace_periods" {
            assert_eq!(row.n, 3);
            cases.push(case);
        }
    }
    assert_eq!(cases.len(), 4, "{cases:?}");
}

#[test]
fn a_trace_is_the_same_bytes_again() {
    let once = |seed: &str| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.txt");
        let arguments = ["sim", "fork", "--seconds", "1", "--seed", seed, "--trace"];
        let output = quiescent().args(arguments).arg(&path).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        fs::read_to_string(&path).unwrap()
    };
    let first = once("4");
    assert_eq!(first, once("4"));
    assert_ne!(first, once("5"));
    for event in [
        "rcu_grace_period: rcu_preempt",
        "sched_switch: prev_comm=",
        "sched_wakeup: comm=rcu_preempt",
        "cpu_idle: state=1",
        "softirq_entry: vec=9 [action=RCU]",
        "timer_expire_entry:",
        "rcu_callback: rcu_preempt",
        "rcu_invoke_callback: rcu_preempt",
        "rcu_fqs:",
        "rcu_batch_start:",
    ] {
        assert!(first.contains(event), "no {event}");
    }
    let nowhere = ["sim", "fork", "--trace", "/nowhere/at/all"];
    nonsense(&[(&nowhere, "/nowhere/at/all")]);
}

#[test]
fn a_trace_has_the_system_calls_that_callbacks_come_from() {
    let path = std::env::temp_dir().join(format!("quiescent-calls-{}.txt", std::process::id()));
    let arguments = ["sim", "display-pipeline", "--seconds", "1", "--trace"];
    let output = quiescent().args(arguments).arg(&path).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let trace = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let count = |what: &str| trace.matches(what).count();
    let calls = count(": sys_enter: NR 3 (");
    assert!(calls > 300, "{calls}");
    assert_eq!(calls, count(": sys_exit: NR 3 = 0\n"));
    let said = text(&output.stdout);
    assert!(said.contains("freed_after_ms_p50"), "{said}");
}

#[test]
fn for_people_the_settings_come_first_and_warnings_are_plain() {
    let words = "sim churn --full --seconds 1 --set rcu_lazy=1";
    let output = run(&words.split(' ').collect::<Vec<_>>());
    assert!(output.status.success(), "{output:?}");
    let said = text(&output.stdout);
    let place = |words: &str| {
        said.find(words)
            .unwrap_or_else(|| panic!("no `{words}` in {said}"))
    };
    assert!(place("jiffies_till_first_fqs=default") < place("warning: rcu_lazy=1 does nothing"));
    assert!(place("warning: ") < place("grace_periods_per_s"));
    place("rcu_preempt");
    place("A model: it leaves out");
    let list = text(&run(&["sim", "--list"]).stdout);
    let json = report(&run(&["sim", "--list", "--json"]));
    let names = |of: &str, key: &str| -> Vec<String> {
        let list = json.options[of].as_array().unwrap().iter();
        list.map(|it| it[key].as_str().unwrap().to_owned())
            .collect()
    };
    let settings = names("settings", "key");
    for name in names("workloads", "name").iter().chain(&settings) {
        assert!(list.contains(name), "{name}");
    }
    for words in ["tab-switch", "bridge", "torture5s"] {
        assert!(names("workloads", "name").iter().any(|it| it == words));
    }
    for words in ["cost.ipi_ns", "rcu_normal_wake_from_gp"] {
        assert!(settings.iter().any(|it| it == words), "{words}");
    }
}

#[test]
fn a_version_that_may_have_either_idle_loop_shows_both() {
    let of = |more: &[&str]| {
        let words = [
            "sim",
            "sync",
            "--set",
            "calls=3",
            "--set",
            "caller_cpu=1",
            "--json",
        ];
        let report = report(&run(&[&words[..], more].concat()));
        let row = report.rows.iter().find(|it| it.metric == "latency_us_p50");
        let row = row.expect("calls take time").clone();
        (
            row.n,
            row.min,
            row.max,
            report.options["warnings"].to_string(),
        )
    };
    let (n, least, most, warnings) = of(&["--kernel", "6.12.95"]);
    assert!(
        n == 2 && least < most && warnings.contains("either idle loop"),
        "{least} {most}"
    );
    for (loops, us) in [("classic", most), ("retain", least)] {
        let set = format!("idle_loop={loops}");
        let (n, min, max, warnings) = of(&["--kernel", "6.12", "--set", &set]);
        assert_eq!((n, min, max), (1, us, us), "{loops}");
        assert!(!warnings.contains("either"), "{warnings}");
    }
    // It is decided before 6.12, where nothing names a version, and where there is a driver.
    for one in [
        &["--kernel", "6.11"][..],
        &[],
        &["--kernel", "6.12", "--set", "idle_table=alder-lake"],
    ] {
        assert_eq!(of(one).0, 1, "{one:?}");
    }
}

#[test]
fn ctrl_c_prints_what_is_finished() {
    let mut child = quiescent()
        .args([
            "sim",
            "sync",
            "--set",
            "calls=100",
            "--seeds",
            "10000",
            "--cpus",
            "64",
            "--jobs",
            "1",
            "--json",
        ])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    if !crate::common::catches_ctrl_c(&mut child) {
        panic!("it ended by itself");
    }
    crate::common::ctrl_c(&child);
    let mut said = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let report = Report::from_json(&said).unwrap();
    assert_eq!(report.options["stopped"], true);
    let after = report.options["stopped_after"].as_str().unwrap();
    assert!(after.ends_with(" of 10000 runs"), "{after}");
}

/// A traced kernel, and the model's replay of it.
const TRACE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../data/traces/classic-a-softirq-file100.txt.xz"
);

#[test]
fn a_replay_stands_beside_what_was_recorded() {
    let trace = format!("trace={TRACE}");
    let output = run(&["sim", "replay", "--set", &trace, "--json"]);
    let report = Report::from_json(&text(&output.stdout)).unwrap();
    for metric in ["grace_periods_per_s", "idle_ticks_per_s", "delay_ms_p50"] {
        let of = |subject| report.find(subject, "replay", metric).unwrap().median;
        let ratio = of("model") / of("recorded");
        assert!((0.98..1.02).contains(&ratio), "{metric}: {ratio}");
    }
    // The early report removes the second wait: fewer wake-ups of the kernel's thread.
    let output = run(&[
        "sim",
        "replay",
        "--set",
        &trace,
        "--set",
        "early_qs=init",
        "--json",
    ]);
    let early = Report::from_json(&text(&output.stdout)).unwrap();
    let wakeups = |report: &Report| {
        report
            .find("model", "replay", "wakeups_per_s rcu_preempt")
            .unwrap()
            .median
    };
    assert!(wakeups(&early) < 0.8 * wakeups(&report));
}

#[test]
fn a_trace_of_our_own_is_read_as_a_kernels() {
    let path = std::env::temp_dir().join(format!("quiescent-sim-{}.trace", std::process::id()));
    let file = path.to_str().unwrap();
    let sets = ["--set", "smp=serial", "--set", "seed=3"];
    let made = run(&[&["sim", "churn", "--trace", file, "--json"][..], &sets].concat());
    let made = Report::from_json(&text(&made.stdout)).unwrap();
    let trace = format!("trace={file}");
    let replayed = run(&[&["sim", "replay", "--set", &trace, "--json"][..], &sets].concat());
    fs::remove_file(&path).unwrap();
    let replayed = Report::from_json(&text(&replayed.stdout)).unwrap();
    // The figures that the reader counts in the text are those of the machine, and a replay repeats the run.
    let of = |report: &Report, subject: &str, case: &str| {
        report
            .find(subject, case, "idle_ticks_per_s")
            .unwrap()
            .median
    };
    let counted = of(&made, "model", "churn smp=serial seed=3");
    for subject in ["recorded", "model"] {
        let ratio = of(&replayed, subject, "replay") / counted;
        assert!((0.97..1.03).contains(&ratio), "{subject}: {ratio}");
    }
}

#[test]
fn a_replay_without_a_trace_says_what_it_needs() {
    nonsense(&[
        (&["sim", "replay"][..], "--set trace=FILE"),
        (&["sim", "replay", "--set", "trace=/nowhere"], "ftrace text"),
        (&["sim", "replay", "--sweep", "hz=1,2"], "one run"),
    ]);
}

#[test]
fn watts_are_shown_before_idle_states_and_what_is_assumed_before_both() {
    let wanted = [
        "sim",
        "screen-off",
        "--seconds",
        "2",
        "--sweep",
        "rcu=offload,lazy",
    ];
    let said = text(&run(&[&wanted[..], &["--full"]].concat()).stdout);
    let place = |what: &str| {
        said.find(what)
            .unwrap_or_else(|| panic!("no {what}: {said}"))
    };
    let order = ["FITTED: two-states", "watts_at_least", "this_or_deeper_pct"].map(place);
    assert!(order.is_sorted(), "{order:?}");
    place("assumes: alder-lake-2p8e");
    let found = report(&run(&[&wanted[..], &["--json"]].concat()));
    let of = |rcu: &str, about: &str, metric: &str| {
        let case = format!("screen-off rcu={rcu}, {about}");
        let row = found.find("model", &case, metric);
        row.unwrap_or_else(|| panic!("{case}")).median
    };
    let deep = ["offload", "lazy"].map(|rcu| of(rcu, "package state PC10", "this_or_deeper_pct"));
    assert!(deep[0] < deep[1] && deep[1] < 100.0, "{deep:?}");
    for rcu in ["offload", "lazy"] {
        let pct = |metric| of(rcu, "package state PC10", metric);
        let all =
            pct("this_or_deeper_pct") + pct("blocked_by_rcu_pct") + pct("blocked_by_others_pct");
        // Reports have seven digits.
        assert!((all - 100.0).abs() < 1e-3, "{all}");
        let watts = |metric| of(rcu, "power two-states", metric);
        assert!(watts("watts_at_least") < watts("watts_at_most"));
    }
    nonsense(&[(&["sim", "sync", "--set", "idle_table=adl"], "alder-lake")]);
}
