//! Running the command, for all tests of it.

use quiescent_bench::Report;
use std::process::{Child, Command, Output, Stdio};

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

/// Waits until the process catches SIGINT, as the kernel sees it; false when it ended before.
#[allow(dead_code)] // not every test file stops what it starts
pub fn catches_ctrl_c(child: &mut Child) -> bool {
    loop {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let caught = status
            .lines()
            .find_map(|line| line.strip_prefix("SigCgt:"))
            .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
            .unwrap_or(0);
        if caught & 1 << (libc::SIGINT - 1) != 0 {
            return true;
        }
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        std::thread::yield_now();
    }
}

/// Interrupts it.
#[allow(dead_code)] // as above
pub fn ctrl_c(child: &Child) {
    let id = libc::pid_t::try_from(child.id()).unwrap();
    // SAFETY: `kill` takes two numbers; the process is our child and not yet waited for.
    assert_eq!(unsafe { libc::kill(id, libc::SIGINT) }, 0);
}
