//! `quiescent kernel`: the output for a user or a script, about this machine's own kernel.
//!
//! The tests do not check whether a prediction is met: other programs run here as well. On a machine whose
//! kernel refuses the call, only the error is checked.

use crate::common::{nonsense, quiescent, refuse, run, text};
use quiescent_report::Report;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::FromRawFd;
use std::process::{Output, Stdio};

/// The report; none where the kernel refuses the call, which must be reported with a remedy.
#[track_caller]
fn measured(output: &Output) -> Option<Report> {
    if output.status.code() == Some(1) {
        let said = text(&output.stderr);
        assert!(
            said.contains("membarrier") && said.contains("nohz_full"),
            "{said}"
        );
        return None;
    }
    Some(crate::common::report(output))
}

#[test]
fn nonsense_is_a_usage_error_with_a_remedy() {
    nonsense(&[
        (&["kernel"], "bench"),
        (&["kernel", "doctor"], "--help"),
        (&["kernel", "bench", "--calls", "0"], "give 1 to 100000"),
        (&["kernel", "bench", "--calls", "-1"], "give 1 to 100000"),
        (
            &["kernel", "bench", "--calls", "1000000000000"],
            "give 1 to 100000",
        ),
        (
            &["kernel", "bench", "--pause", "-1"],
            "give 0 to 60000 milliseconds",
        ),
        (&["kernel", "bench", "--pause", "soon"], "such as 2.5"),
        (
            &["kernel", "bench", "--cpu", "-1"],
            "give the number of a CPU",
        ),
        (&["kernel", "bench", "--set", "hz"], "key=value"),
        (&["kernel", "bench", "--set", "hzz=1"], "did you mean `hz`"),
        (
            &["kernel", "bench", "--set", "smp=both"],
            "parallel or serial",
        ),
        (
            &["kernel", "bench", "--set", "cpus=10000000"],
            "MiB of memory",
        ),
    ]);
}

#[test]
fn a_cpu_that_there_is_not_is_refused_with_those_there_are() {
    let output = run(&["kernel", "bench", "--calls", "1", "--cpu", "4000000"]);
    let said = text(&output.stderr);
    let refused = output.status.code() == Some(1) && said.contains("membarrier");
    assert!(refused || output.status.code() == Some(2), "{output:?}");
    assert!(refused || said.contains("give one of these"), "{said}");
}

#[test]
fn the_kernel_and_the_model_stand_side_by_side() {
    let output = run(&["kernel", "bench", "--calls", "12", "--json", "--seed", "7"]);
    let Some(report) = measured(&output) else {
        return;
    };
    assert_eq!((report.command.as_str(), report.seed), ("kernel bench", 7));
    assert_eq!(
        report
            .find("kernel", "synchronize", "latency_us")
            .unwrap()
            .n,
        12
    );
    let facts = report.options["facts"].as_array().unwrap();
    for name in [
        "cpus",
        "hz",
        "jiffies_till_first_fqs",
        "rcu_nocbs",
        "idle_loop",
        "early_qs",
        "smp",
    ] {
        let fact = facts.iter().find(|it| it["name"] == name);
        let fact = fact.unwrap_or_else(|| panic!("no fact {name}"));
        assert!(
            fact["from"].as_str().is_some_and(|it| !it.is_empty()),
            "{fact}"
        );
    }
    let counted = report
        .rows
        .iter()
        .filter(|row| row.subject == "kernel" && row.metric == "calls");
    assert_eq!(
        counted.map(|row| row.median).sum::<f64>(),
        12.0,
        "calls by ticks"
    );
    let modelled = report.rows.iter().filter(|row| row.subject == "model");
    assert!(modelled.count() > 0);
    // A kernel on one CPU does not wait, so there is no verdict.
    if report.options["returns_at_once"].is_null() {
        let prediction = &report.options["prediction"];
        assert!(["inside", "outside"].contains(&prediction["verdict"].as_str().unwrap()));
        let nearest = prediction["nearest"][0].as_str().unwrap();
        let case = format!("synchronize, {nearest}");
        assert!(
            report
                .find("model", &case, "latency_us_pooled_mean")
                .is_some(),
            "{case}"
        );
    }
    assert!(
        output.stderr.is_empty(),
        "no progress bar where there is no terminal"
    );
}

#[test]
fn what_is_given_is_used_and_said() {
    let output = run(&[
        "kernel",
        "bench",
        "--calls",
        "2",
        "--set",
        "smp=serial",
        "--pause",
        "0.5",
        "--json",
    ]);
    let Some(report) = measured(&output) else {
        return;
    };
    let facts = report.options["facts"].as_array().unwrap();
    assert!(
        facts
            .iter()
            .any(|it| it["name"] == "smp" && it["from"] == "--set")
    );
    let model = report.rows.iter().filter(|row| row.subject == "model");
    let cases: Vec<&str> = model.map(|row| row.case.as_str()).collect();
    assert!(
        cases.iter().all(|case| case.ends_with("serial")),
        "{cases:?}"
    );
    assert_eq!(report.options["pause_ms"], 0.5);
}

#[test]
fn for_people_the_verdict_comes_first_and_the_facts_last() {
    let output = run(&["kernel", "bench", "--calls", "5"]);
    if output.status.code() == Some(1) {
        return;
    }
    let said = text(&output.stdout);
    let place = |words: &str| {
        said.find(words)
            .unwrap_or_else(|| panic!("no `{words}` in {said}"))
    };
    assert!(place("The measured mean") < place("Measured: 5 calls"));
    assert!(place("Measured: 5 calls") < place("predicted by the machine model"));
    assert!(place("predicted by the machine model") < place("read from"));
    assert!(place("unknown -> off") > 0, "what was assumed is plain");
    assert!(
        !said.contains('\x1b'),
        "no colours where there is no terminal"
    );
    let help = text(&run(&["kernel", "bench", "--help"]).stdout);
    assert!(
        help.contains("Examples:") && help.contains("--cpu 0"),
        "{help}"
    );
}

#[test]
fn a_refused_membarrier_is_a_failure_with_a_remedy() {
    let mut command = quiescent();
    command.args(["kernel", "bench", "--calls", "3"]);
    refuse(&mut command, &[libc::SYS_membarrier], libc::EPERM);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = text(&output.stderr);
    assert!(
        said.contains("seccomp") && said.contains("quiescent sim sync"),
        "{said}"
    );
    assert!(output.stdout.is_empty());
}

/// A terminal: the test's side, and the command's.
pub fn terminal(lines: u16, columns: u16) -> (File, File) {
    let size = libc::winsize {
        ws_row: lines,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let (mut ours, mut theirs) = (-1, -1);
    let none = std::ptr::null_mut();
    let (to_ours, to_theirs) = (&raw mut ours, &raw mut theirs);
    // SAFETY: two numbers of ours are written, and the size is read; the rest may be null.
    let made = unsafe { libc::openpty(to_ours, to_theirs, none, none.cast(), &raw const size) };
    assert_eq!(made, 0, "a terminal");
    // Or the command has both ends, and its terminal never goes.
    for end in [ours, theirs] {
        // SAFETY: takes three numbers.
        unsafe { libc::fcntl(end, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
    // SAFETY: both were just made, and no other code uses them.
    unsafe { (File::from_raw_fd(ours), File::from_raw_fd(theirs)) }
}

#[test]
fn a_terminal_gets_a_bar_and_on_a_tiny_one_the_report_is_whole() {
    for (lines, columns) in [(24, 80), (2, 8)] {
        let (mut ours, mut theirs) = terminal(lines, columns);
        let mut child = quiescent()
            .args(["kernel", "bench", "--calls", "10", "--json"])
            .env("TERM", "xterm")
            .stdout(Stdio::piped())
            .stderr(theirs.try_clone().unwrap())
            .spawn()
            .unwrap();
        let mut said = String::new();
        let mut printed = child.stdout.take().unwrap();
        printed.read_to_string(&mut said).unwrap();
        let status = child.wait().unwrap();
        // One of its ends is still open, so the output is still there; the dot keeps this from waiting for
        // ever.
        theirs.write_all(b".").unwrap();
        let mut drawn = [0; 4096];
        let drawn = ours.read(&mut drawn).map(|n| text(&drawn[..n])).unwrap();
        if status.code() == Some(1) {
            return; // refused
        }
        assert!(status.success(), "{status}");
        Report::from_json(&said).unwrap();
        let fits = columns >= 80;
        assert!(!fits || drawn.contains("kernel grace periods"), "{drawn:?}");
    }
}

#[test]
fn ctrl_c_prints_what_was_measured() {
    let mut child = quiescent()
        .args([
            "kernel", "bench", "--calls", "100000", "--pause", "10", "--json",
        ])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    if !crate::common::catches_ctrl_c(&mut child) {
        assert_eq!(
            child.wait().unwrap().code(),
            Some(1),
            "only a refusal ends it"
        );
        return;
    }
    crate::common::ctrl_c(&child);
    let mut said = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    let code = child.wait().unwrap().code();
    if code == Some(1) {
        return; // refused
    }
    assert_eq!(code, Some(130));
    let report = Report::from_json(&said).unwrap();
    assert_eq!(report.options["stopped"], true);
    assert!(report.rows.iter().all(|row| row.subject == "kernel"));
}
