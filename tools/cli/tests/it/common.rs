//! Runs the command, for all its tests.

use quiescent_report::Report;
use std::path::Path;
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

/// Its output.
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

/// Each request is wrong usage: code 2, the remedy on standard error, and nothing printed.
#[track_caller]
pub fn nonsense(requests: &[(&[&str], &str)]) {
    for (arguments, remedy) in requests {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        let said = text(&output.stderr);
        assert!(said.contains(remedy), "{arguments:?} says {said}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

/// Makes the kernel answer these system calls of the command with an error, as a sandbox or an exhausted
/// machine does.
pub fn refuse(command: &mut Command, calls: &[libc::c_long], error: libc::c_int) {
    let op = |code: u32, jt, k| libc::sock_filter {
        code: code as u16,
        jt,
        jf: 0,
        k,
    };
    let give = libc::BPF_RET | libc::BPF_K;
    // Offset 0 of `struct seccomp_data` is the number of the system call.
    let mut filter = vec![op(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0)];
    for (index, call) in calls.iter().enumerate() {
        let to_error = (calls.len() - index) as u8;
        let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
        filter.push(op(equal, to_error, *call as u32));
    }
    filter.push(op(give, 0, libc::SECCOMP_RET_ALLOW));
    filter.push(op(give, 0, libc::SECCOMP_RET_ERRNO | error as u32));
    let install = move || quiescent_bench::cases::fence_count::install(&mut filter);
    // SAFETY: between fork and exec, it makes two system calls and allocates nothing.
    unsafe { std::os::unix::process::CommandExt::pre_exec(command, install) };
}

/// Waits until the process catches SIGINT, as the kernel shows it; false when it ended before.
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
pub fn ctrl_c(child: &Child) {
    let id = libc::pid_t::try_from(child.id()).unwrap();
    // SAFETY: `kill` takes two numbers; the process is our child and not yet waited for.
    assert_eq!(unsafe { libc::kill(id, libc::SIGINT) }, 0);
}

/// A command with these arguments, in this folder.
pub fn within(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = quiescent();
    command
        .current_dir(folder)
        .args(arguments)
        .output()
        .unwrap()
}

/// A command with these arguments, in this folder, interrupted as soon as it can be.
pub fn interrupted(folder: &Path, arguments: &[&str]) -> Output {
    let mut child = quiescent()
        .current_dir(folder)
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    assert!(catches_ctrl_c(&mut child));
    ctrl_c(&child);
    child.wait_with_output().unwrap()
}

/// The page is complete, and its body well-formed.
#[track_caller]
pub fn check_page(page: &str) {
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"));
    let body = page.find("<body>").unwrap()..page.find("</html>").unwrap();
    roxmltree::Document::parse(&page[body]).unwrap();
    assert!(!page.contains("NaN") && !page.contains("src=") && !page.contains("<script"));
}

/// Every row of the report is in a table of the page, and the page links only within itself.
#[track_caller]
pub fn check_rows(page: &str, report: &Report) {
    check_page(page);
    for row in &report.rows {
        let cells = format!("<td>{}</td><td>{}</td>", row.case, row.metric);
        assert!(page.contains(&cells), "{row:?}");
    }
    assert!(!page.contains("http"), "nothing elsewhere is named");
}
