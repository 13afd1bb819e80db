//! Running the command, for all tests of it.

use quiescent_bench::Report;
use std::process::{Command, Output, Stdio};

/// The command.
pub fn quiescent() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quiescent"));
    command.env_remove("NO_COLOR").stdin(Stdio::null());
    command
}

/// Runs it to its end.
pub fn run(arguments: &[&str]) -> Output {
    quiescent()
        .args(arguments)
        .output()
        .expect("the command was built for this test")
}

/// What it wrote.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The report that it printed.
#[track_caller]
pub fn report(output: &Output) -> Report {
    assert!(output.status.success(), "{output:?}");
    let text = text(&output.stdout);
    assert_eq!(text.lines().count(), 1, "one line of JSON");
    Report::from_json(&text).unwrap()
}
