//! Inputs that ask for more work or memory than there is: each is refused before the work, with code 2, its
//! name, its place and the remedy. What blocks or acts is not opened.

use crate::common::{quiescent, run, text};
use std::fs;
use std::path::Path;
use std::process::Output;

/// The error of a command that refuses its input, and prints nothing else.
#[track_caller]
fn refused(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    text(&output.stderr)
}

fn written(folder: &Path, name: &str, content: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

const WORKLOAD: &str =
    "about = \"x\"\nassumes = [\"x\"]\nuntil = \"tasks\"\nseconds = 1\n[machine]\ncpus = 4\n";

#[test]
fn a_workload_of_twenty_million_tasks_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let task = "[[task]]\nwork = \"rounds\"\nname = \"c\"\ncalls = 1\ntasks = 100000\n";
    let file = written(
        folder.path(),
        "x.toml",
        &(WORKLOAD.to_owned() + &task.repeat(200)),
    );
    for command in [
        vec!["sim", &file],
        vec!["top", "--batch", "-n", "1", "--sim", &file],
    ] {
        let why = refused(&run(&command));
        assert!(
            why.contains("x.toml: line 12, column 1: 200000 tasks"),
            "{why}"
        );
        assert!(why.contains("give 100000 in all at most"), "{why}");
    }
}

#[test]
fn a_text_file_of_more_than_a_mebibyte_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), "x.toml", &"#".repeat((1 << 20) + 1));
    let commands = [
        vec!["sim", &file],
        vec!["torture", "--scenario", &file],
        vec!["torture", "--sim", "--replay", &file],
    ];
    let table = format!("idle_table={file}");
    let more = vec!["sim", "sync", "--set", &table];
    for command in commands.iter().chain([&more]) {
        let why = refused(&run(command));
        assert!(why.contains("x.toml"), "{command:?}: {why}");
    }
    let why = refused(&run(&["sim", "/dev/zero"]));
    assert!(
        why.contains("/dev/zero") && why.contains("more than 1048576 bytes"),
        "{why}"
    );
}

#[test]
fn a_trace_with_a_step_of_years_is_not_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let line = |time: &str| {
        format!(
            "  a-1 [003] d..1. {time}: rcu_callback: rcu_preempt rhp=ffff888000000040 func=f 1\n"
        )
    };
    let head = "# tracer: nop\n#\n# entries-in-buffer/entries-written: 2/2   #P:8\n#\n";
    let content = head.to_owned() + &line("1.000000") + &line("90000000.000000");
    let file = written(folder.path(), "step.txt", &content);
    let why = refused(&run(&["whatif", &file, "--set", "rcu=lazy", "--hz", "250"]));
    let window = "step.txt: its window from 1.000000 s to 90000000.000000 s";
    assert!(
        why.contains(window) && why.contains("--from and --to"),
        "{why}"
    );
}

#[test]
fn a_copied_tree_with_a_fifo_for_a_file_does_not_block() {
    let folder = tempfile::tempdir().unwrap();
    let proc = folder.path().join("proc");
    fs::create_dir(&proc).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(proc.join("cmdline"))
        .status();
    assert!(made.unwrap().success());
    let output = quiescent()
        .arg("doctor")
        .arg("--root")
        .arg(folder.path())
        .output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(
        text(&output.stdout).contains("cannot tell: files"),
        "{output:?}"
    );
}
