//! `quiescent record`, on this machine. Where it is refused, only the remedy is checked.

use crate::common::{catches_ctrl_c, nonsense, quiescent, run, text};
use quiescent_report::Report;
use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

/// Was a trace recorded? If not, the reason is printed with a remedy, and no file is left.
#[track_caller]
fn recorded(output: &Output, file: &Path) -> bool {
    let said = text(&output.stderr);
    let refused = output.status.code() == Some(1) && said.starts_with("error: ");
    if refused {
        let has_remedy = ["root", "mount -t tracefs", "doctor", "memory"]
            .iter()
            .any(|it| said.contains(it));
        assert!(has_remedy, "{said}");
        assert!(!file.exists(), "nothing is left of it");
    }
    !refused
}

/// Instances that the process with this number has made.
fn left_behind(process: u32) -> Vec<String> {
    let own = format!("quiescent-{process}-");
    let folders = [
        "/sys/kernel/tracing/instances",
        "/sys/kernel/debug/tracing/instances",
    ];
    let entries = folders
        .iter()
        .filter_map(|it| fs::read_dir(it).ok())
        .flatten()
        .flatten();
    let names = entries.map(|it| it.file_name().to_string_lossy().into_owned());
    names.filter(|it| it.starts_with(&own)).collect()
}

/// Has the recording begun?
fn records(process: u32) -> bool {
    left_behind(process).iter().any(|name| {
        let on = |folder: &str| fs::read_to_string(format!("{folder}/instances/{name}/tracing_on"));
        let on = on("/sys/kernel/tracing").or_else(|_| on("/sys/kernel/debug/tracing"));
        on.is_ok_and(|it| it.trim() == "1")
    })
}

/// Every line of it can be read.
#[track_caller]
fn is_read(file: &Path) -> String {
    let output = run(&["trace", file.to_str().unwrap(), "wakeups"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    text(&output.stdout)
}

#[test]
fn nonsense_is_a_usage_error_with_a_remedy() {
    nonsense(&[
        (&["record", "--events", "a b"], "sched:sched_switch"),
        (&["record", "--events", ""], "no event"),
        (&["record", "--buffer", "1"], "give 64 to"),
        (&["record", "--for", "soon"], "such as 90s"),
        (&["record", "--json", "--output", "-"], "name a file"),
        (
            &["record", "--output", "/no/such/folder/trace.txt"],
            "cannot be written",
        ),
        (&["record", "true"], "--help"),
    ]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("letter.txt");
    fs::write(&file, "Dear Sir").unwrap();
    nonsense(&[(&["record", "--output", file.to_str().unwrap()], "--force")]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "Dear Sir");
}

#[test]
fn a_command_is_recorded_between_marks() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.txt");
    let name = file.to_str().unwrap();
    let output = run(&[
        "record",
        "--json",
        "--output",
        name,
        "--",
        "sh",
        "-c",
        "sleep 0.2; exit 3",
    ]);
    if !recorded(&output, &file) {
        return;
    }
    assert_eq!(output.status.code(), Some(1), "the command failed");
    let report = Report::from_json(&text(&output.stdout)).unwrap();
    let lines = report.find("recorded", "trace", "lines").unwrap().median;
    let trace = fs::read_to_string(&file).unwrap();
    let records = trace.lines().filter(|it| !it.starts_with('#')).count();
    assert_eq!(records as f64, lines);
    for mark in ["WORKLOAD_START", "WORKLOAD_END", "sched_switch: "] {
        assert!(trace.contains(mark), "{mark}");
    }
    assert!(is_read(&file).contains("between the marks"));
    // Events that the kernel does not have are listed, and each word is in one of the lists.
    let count = |of: &str| report.options[of].as_array().unwrap().len();
    assert!(count("events") >= 1 && count("events") + count("missing_events") >= 8);
    let entries = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(entries, 1, "nothing else is left in the folder");
    // A trace that cannot be made again is replaced only if that is asked for.
    let again = ["record", "--output", name, "--for", "200ms"];
    nonsense(&[(&again, "--force")]);
    assert_eq!(fs::read_to_string(&file).unwrap(), trace);
    let output = run(&[
        "record",
        "--force",
        "--output",
        name,
        "--for",
        "200ms",
        "--events",
        "sched_switch,no_such_event",
    ]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text(&output.stdout).contains("not in this kernel, and left out: no_such_event"));
    assert!(is_read(&file).contains("wakeup"));
}

#[test]
fn a_pipe_gets_the_trace_and_people_the_rest() {
    let output = run(&["record", "--for", "200ms", "--output", "-"]);
    if !recorded(&output, Path::new("/no/such/file")) {
        return;
    }
    assert!(output.stdout.starts_with(b"# tracer: nop\n"));
    assert!(text(&output.stderr).contains(" lines, "));
}

#[test]
fn what_its_command_prints_is_not_among_its_data() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.txt");
    let name = file.to_str().unwrap();
    for (place, json) in [("-", None), (name, Some("--json")), (name, None)] {
        let mut arguments = vec!["record", "--mount", "--force", "--output", place];
        arguments.extend(json);
        arguments.extend(["--", "echo", "a letter"]);
        let output = run(&arguments);
        if !recorded(&output, &file) {
            return;
        }
        let is_data = place == "-" || json.is_some();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(out.lines().any(|it| it == "a letter"), !is_data, "{out}");
        assert_eq!(err.lines().any(|it| it == "a letter"), is_data, "{err}");
    }
}

#[test]
fn no_such_command_and_no_such_event() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.txt");
    let name = file.to_str().unwrap();
    let output = run(&["record", "--output", name, "--", "/no/such/program"]);
    if !recorded(&output, &file) {
        return;
    }
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("behind `--`"));
    let output = run(&["record", "--output", name, "--events", "no:such"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(text(&output.stderr).contains("available_events"));
    assert!(!file.exists());
}

#[test]
fn however_it_ends_nothing_stays_behind() {
    for (signal, code) in [
        (libc::SIGINT, Some(130)),
        (libc::SIGTERM, Some(130)),
        (libc::SIGHUP, Some(130)),
        (libc::SIGKILL, None),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("trace.txt");
        let mut command = quiescent();
        command.args(["record", "--output", file.to_str().unwrap()]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let process = child.id();
        if !catches_ctrl_c(&mut child) {
            assert!(!recorded(&child.wait_with_output().unwrap(), &file));
            return;
        }
        let begin = Instant::now();
        let mut is_made = false;
        while !is_made && begin.elapsed() < Duration::from_secs(20) {
            is_made = records(process);
            std::thread::sleep(Duration::from_millis(10));
        }
        if !is_made {
            assert!(
                child.try_wait().unwrap().is_some(),
                "it records, or it has refused"
            );
            return;
        }
        // Something happens meanwhile: the loop itself, if nothing else does.
        std::thread::sleep(Duration::from_millis(300));
        // SAFETY: two numbers; the process is our child and not yet waited for.
        assert_eq!(unsafe { libc::kill(process as libc::pid_t, signal) }, 0);
        // Its output ends with it, even if a process is left to clean up.
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), code, "{output:?}");
        let begin = Instant::now();
        while !left_behind(process).is_empty() {
            assert!(
                begin.elapsed() < Duration::from_secs(20),
                "signal {signal}: {:?}",
                left_behind(process)
            );
            std::thread::sleep(Duration::from_millis(10));
        }
        if code.is_some() {
            is_read(&file);
        }
    }
}

#[test]
fn its_command_ends_when_it_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let (file, number) = (
        folder.path().join("trace.txt"),
        folder.path().join("number"),
    );
    let script = format!(
        "echo $$ > {0}.new; mv {0}.new {0}; exec sleep 1000",
        number.display()
    );
    let mut command = quiescent();
    command.args([
        "record",
        "--mount",
        "--output",
        file.to_str().unwrap(),
        "--",
        "sh",
        "-c",
        &script,
    ]);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !number.exists() {
        if child.try_wait().unwrap().is_some() {
            assert!(!recorded(&child.wait_with_output().unwrap(), &file));
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let started = fs::read_to_string(&number).unwrap();
    let stat = format!("/proc/{}/stat", started.trim());
    // Gone, or not yet waited for by whatever process has inherited it.
    let has_ended = || fs::read_to_string(&stat).map_or(true, |it| it.contains(") Z "));
    let begin = Instant::now();
    while !has_ended() {
        assert!(begin.elapsed() < Duration::from_secs(20), "{stat}");
        std::thread::sleep(Duration::from_millis(10));
    }
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "the number only: {left:?}");
}
