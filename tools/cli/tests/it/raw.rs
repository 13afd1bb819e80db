//! What a name contains reaches standard output and standard error as escapes only, whatever the command.

use crate::common::{quiescent, text};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::Output;

/// Clears a screen and sets its title; a C1 control sequence; text from right to left.
const HOSTILE: &str = "\x1b[2J\x1b]0;x\x07\u{9b}1m\u{202e}b";

/// A recorded name has 15 bytes.
const TASKS: [&str; 3] = [
    "\x1b[2J\x1b]0;x\x07",
    "\u{9b}1m\u{202e}b",
    "\x7f\x08\u{2066}c",
];

fn runs(arguments: &[&str]) -> Output {
    let name = |it: &&str| it.replace("HOSTILE", HOSTILE);
    let arguments: Vec<String> = arguments.iter().map(name).collect();
    quiescent().args(arguments).output().unwrap()
}

/// Nothing that a terminal obeys, but for the ends of lines.
#[track_caller]
fn is_safe(output: &Output) -> String {
    let all = [&output.stdout[..], &output.stderr[..]].concat();
    let said = String::from_utf8(all).expect("text");
    let is_raw = |it: char| it != '\n' && (it.is_control() || "\u{202e}\u{2066}".contains(it));
    assert!(!said.contains(is_raw), "{said:?}");
    said
}

#[test]
fn arguments_and_names_of_files_are_escaped_in_errors() {
    for arguments in [
        &["HOSTILE"][..],
        &["--HOSTILE"],
        &["trace", "HOSTILE", "HOSTILE"],
        &["trace", "HOSTILE", "wakeups"],
        &["trace", "--from", "HOSTILE", "x", "wakeups"],
        &["sim", "HOSTILE"],
        &["sim", "churn", "--set", "HOSTILE=1"],
        &["sim", "churn", "--set", "cpus=HOSTILE"],
        &["whatif", "HOSTILE", "--set", "early_qs=init"],
        &["doctor", "--root", "HOSTILE"],
        &["man", "HOSTILE"],
        &["record", "--events", "HOSTILE"],
        &["record", "--output", "HOSTILE/HOSTILE"],
        &["torture", "HOSTILE"],
        &["top", "--sim", "HOSTILE"],
        &["completions", "HOSTILE"],
        &["kernel", "--HOSTILE"],
    ] {
        let output = runs(arguments);
        assert!(!output.status.success(), "{arguments:?}");
        let said = is_safe(&output);
        // Clap leaves out what begins with an escape.
        assert!(said.contains(r"\u{202e}"), "{arguments:?}: {said}");
    }
    let output = quiescent().arg(OsStr::from_bytes(b"\xff\x1b[2J")).output();
    is_safe(&output.unwrap());
}

/// A trace in which tasks and functions have such names.
fn trace() -> String {
    let mut all = "# tracer: nop\n#\n".to_owned();
    for (n, name) in TASKS.iter().cycle().take(60).enumerate() {
        let (us, head) = (
            n * 1000,
            format!("{name:>16}-{:<7} [003] d.h1.", 100 + n % 3),
        );
        all += &format!(
            "{head}     1.{us:06}: sched_wakeup: comm={name} pid={} prio=120 target_cpu=003\n",
            100 + n % 3
        );
        all += &format!(
            "{head}     1.{us:06}: rcu_callback: rcu_preempt rhp=00000000{n:08x} func={name} 1\n"
        );
        all += &format!("{head}     1.{us:06}: cpu_idle: state=1 cpu_id=3\n");
    }
    all
}

#[test]
fn names_in_a_trace_are_escaped_in_every_analysis_and_exact_in_json() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.txt");
    fs::write(&file, trace()).unwrap();
    let name = file.to_str().unwrap();
    for analysis in ["wakeups", "callbacks", "batches", "gps", "waits", "idle"] {
        is_safe(&runs(&["trace", name, analysis, "--limit", "0"]));
    }
    let said = is_safe(&runs(&["trace", name, "wakeups", "--limit", "0"]));
    assert!(said.contains(r"\x1b[2J\x1b]0;x\x07"), "{said}");
    is_safe(&runs(&["whatif", name, "--set", "early_qs=init"]));
    is_safe(&runs(&["sim", "replay", "--recorded", name]));
    let output = runs(&["trace", name, "wakeups", "--limit", "0", "--json"]);
    assert!(
        text(&output.stdout).contains(r"\u001b[2J\u001b]0;x\u0007"),
        "{output:?}"
    );
}

#[test]
fn errors_in_a_file_of_a_load_are_escaped() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("load.toml");
    for content in [
        "[HOSTILE",
        "about=\"x\"\n\"HOSTILE\"=1\n",
        "until=\"HOSTILE\"\n",
    ] {
        fs::write(&file, content.replace("HOSTILE", HOSTILE)).unwrap();
        let output = runs(&["sim", file.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2));
        is_safe(&output);
    }
}
