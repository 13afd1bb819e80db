//! `quiescent top`, beside a program that uses the library: this one.

use crate::common::{nonsense, quiescent, report, run, text};
use quiescent::telemetry;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
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
        (&["top", "--pid", "0"], "give the number of a process"),
        (
            &["top", "--pid", "99999999999"],
            "give the number of a process",
        ),
        (&["top", "--pid", "-1"], "--pid"),
        (&["top", "--pid", "me"], "--pid"),
        (&["top", "--pid", "1", "-n", "0"], "give 1 to 4294967295"),
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
    let mut idle = Command::new("sleep").arg("60").spawn().expect("sleep");
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

/// A live view on a terminal of 80 by 24, and everything it writes.
struct Live {
    child: std::process::Child,
    ours: File,
    theirs: File,
    written: Arc<Mutex<String>>,
}

impl Live {
    fn start(term: &str) -> Live {
        let (ours, theirs) = crate::kernel::terminal(24, 80);
        let child = quiescent()
            .args(["top", "--sim", "local-video", "--delay", "0.2"])
            .env("TERM", term)
            .stdin(theirs.try_clone().unwrap())
            .stdout(theirs.try_clone().unwrap())
            .spawn()
            .unwrap();
        let written = Arc::new(Mutex::new(String::new()));
        let (mut from, to) = (ours.try_clone().unwrap(), Arc::clone(&written));
        // It ends with the process of this test.
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(n @ 1..) = from.read(&mut part) {
                *to.lock().unwrap() += &String::from_utf8_lossy(&part[..n]);
            }
        });
        Live {
            child,
            ours,
            theirs,
            written,
        }
    }

    /// Waits until this has been written; returns all up to it, and forgets that.
    fn wait_for(&self, part: &str) -> String {
        for _ in 0..3000 {
            let mut written = self.written.lock().unwrap();
            if let Some(at) = written.find(part) {
                return written.drain(..at + part.len()).collect();
            }
            drop(written);
            std::thread::sleep(Duration::from_millis(10));
        }
        let written = self.written.lock().unwrap();
        let last: String = written.chars().rev().take(2000).collect();
        panic!("no {part:?}; the last, in reverse: {last:?}");
    }

    fn modes(&self) -> libc::termios {
        // SAFETY: all zeroes are a value of it, and it is written by the call.
        let mut modes: libc::termios = unsafe { std::mem::zeroed() };
        // SAFETY: an open terminal, and a place of ours.
        let got = unsafe { libc::tcgetattr(self.theirs.as_raw_fd(), &raw mut modes) };
        assert_eq!(got, 0);
        modes
    }

    /// The terminal takes whole lines and shows what is typed, as a shell needs it.
    fn is_restored(&self) -> bool {
        self.modes().c_lflag & COOKED == COOKED
    }

    /// As a shell does when a job has stopped.
    fn restore(&self) {
        let mut modes = self.modes();
        modes.c_lflag |= COOKED;
        // SAFETY: an open terminal, and modes of it.
        let set =
            unsafe { libc::tcsetattr(self.theirs.as_raw_fd(), libc::TCSANOW, &raw const modes) };
        assert_eq!(set, 0);
    }

    /// Waits until it has stopped.
    fn wait_until_stopped(&self) {
        let mut status = 0;
        let pid = self.child.id() as libc::pid_t;
        // SAFETY: a child of ours that has not been waited for.
        let got = unsafe { libc::waitpid(pid, &raw mut status, libc::WUNTRACED) };
        assert!(got == pid && libc::WIFSTOPPED(status), "{status:x}");
    }

    fn send(&self, signal: i32) {
        // SAFETY: kill touches no memory; the child has not ended.
        unsafe { libc::kill(self.child.id() as libc::pid_t, signal) };
    }
}

const COOKED: libc::tcflag_t = libc::ICANON | libc::ECHO;
const LEAVES: &str = "\x1b[?1049l";
const ENTERS: &str = "\x1b[?1049h";

#[test]
fn ctrl_z_gives_the_terminal_back_and_resuming_draws_again() {
    let mut live = Live::start("xterm");
    live.wait_for("Callback");
    assert!(!live.is_restored());
    // The key, the signal, and a stop without notice, after which a shell sets the terminal's modes.
    live.ours.write_all(b"\x1a").unwrap();
    live.wait_until_stopped();
    live.wait_for(LEAVES);
    assert!(live.is_restored());
    live.send(libc::SIGCONT);
    let drawn = live.wait_for("quit");
    assert!(drawn.contains(ENTERS), "{drawn:?}");
    assert!(!live.is_restored());
    live.send(libc::SIGTSTP);
    live.wait_until_stopped();
    live.wait_for(LEAVES);
    assert!(live.is_restored());
    live.send(libc::SIGCONT);
    live.wait_for("quit");
    live.send(libc::SIGSTOP);
    live.wait_until_stopped();
    live.restore();
    live.send(libc::SIGCONT);
    live.wait_for(ENTERS);
    live.wait_for("quit");
    assert!(!live.is_restored());
    live.ours.write_all(b"q").unwrap();
    let status = live.child.wait().unwrap();
    assert!(status.success(), "{status}");
    assert!(live.is_restored());
}

#[test]
fn without_its_terminal_it_ends() {
    let (ours, theirs) = crate::kernel::terminal(24, 80);
    let mut child = quiescent()
        .args(["top", "--sim", "local-video", "--delay", "0.2"])
        .env("TERM", "xterm")
        .stdin(theirs.try_clone().unwrap())
        .stdout(theirs.try_clone().unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    drop(theirs);
    let mut written = String::new();
    let mut part = [0; 4096];
    while !written.contains("Callback") {
        let n = (&ours).read(&mut part).unwrap();
        written += &String::from_utf8_lossy(&part[..n]);
    }
    drop(ours);
    // It is not the session's leader here, so that no signal tells it.
    for _ in 0..3000 {
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{status}");
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    panic!("it still runs");
}

#[test]
fn a_hangup_ends_it_and_the_terminal_is_restored() {
    let mut live = Live::start("xterm");
    live.wait_for("Callback");
    live.send(libc::SIGHUP);
    assert!(live.child.wait().unwrap().success());
    assert!(live.is_restored());
}

#[test]
fn a_dumb_terminal_gets_text() {
    let mut live = Live::start("dumb");
    let said = live.wait_for("CPU %");
    live.child.kill().unwrap();
    live.child.wait().unwrap();
    assert!(
        said.contains("Callback") && said.contains(", 0.2 s"),
        "{said}"
    );
    assert!(!said.contains('\x1b'), "{said:?}");
}

#[test]
fn a_long_name_is_found_as_the_documents_do() {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tools.md");
    let docs = std::fs::read_to_string(docs).expect("the reference");
    let line = "$(pgrep -nf torture-run)";
    assert!(docs.contains(line), "the example has another line now");
    // Another program of that name.
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("quiescent-torture-run");
    std::os::unix::fs::symlink("/bin/sleep", &program).unwrap();
    let mut child = Command::new(&program).arg("60").spawn().unwrap();
    let pid = child.id().to_string();
    let found = |words: &[&str]| {
        let output = Command::new("pgrep").args(words).output().expect("pgrep");
        text(&output.stdout).lines().any(|it| it == pid)
    };
    let (by_line, by_name) = (found(&["-f", "torture-run"]), found(&["torture-run"]));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(by_line && !by_name, "{by_line} {by_name}");
}
