//! `quiescent torture`, as a user runs it. `check/torture/tests` tests the oracles; these tests check the
//! command's output.

use crate::common::{catches_ctrl_c, ctrl_c, quiescent, report, run, text};
use std::io::{BufRead, BufReader};
use std::process::{Child, Output, Stdio};

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

#[test]
fn scenarios_are_listed_with_what_they_stress() {
    let output = run(&["torture", "--list"]);
    assert_eq!(code(&output), Some(0));
    let listed = text(&output.stdout);
    let mut stressed = 0;
    for name in quiescent_torture::scenario::names() {
        assert!(listed.lines().any(|line| line.starts_with(name)), "{name}");
        stressed += 1;
    }
    let reasons = listed
        .lines()
        .filter(|line| line.trim_start().starts_with("- "));
    assert!(stressed >= 13 && reasons.count() >= stressed);
    let json = report(&run(&["torture", "--list", "--json"]));
    let scenarios = json.options["scenarios"].as_array().unwrap();
    let named = scenarios.iter().map(|it| it["name"].as_str().unwrap());
    assert!(named.eq(quiescent_torture::scenario::names()));
}

#[test]
fn a_campaign_too_short_for_all_scenarios_says_how_many_it_reaches() {
    let said = text(&run(&["torture", "--duration", "3s"]).stdout);
    assert!(
        said.contains("2 of ") && said.contains("a longer --duration"),
        "{said}"
    );
    let words = "torture --scenario SOLE01 --duration 2s";
    let said = text(&run(&words.split(' ').collect::<Vec<_>>()).stdout);
    assert!(
        said.contains("1 scenarios") && !said.contains("longer"),
        "{said}"
    );
}

#[test]
fn a_good_campaign_is_one_document_and_says_nothing_else() {
    let words = "torture --scenario SOLE01 --scenario FENCE01 --duration 5s --seed 3 --json";
    let output = run(&words.split(' ').collect::<Vec<_>>());
    assert_eq!(text(&output.stderr), "", "quiet in a pipe");
    let report = report(&output);
    assert_eq!((report.command.as_str(), report.seed), ("torture", 3));
    let value = |case: &str, metric: &str| {
        let row = report.find("quiescent", case, metric);
        row.unwrap_or_else(|| panic!("no row {case}, {metric}"))
            .median
    };
    assert_eq!((value("all", "errors"), value("all", "runs")), (0.0, 2.0));
    for (case, metric) in [
        ("all", "grace_periods"),
        ("lazily", "ops"),
        ("SOLE01 all", "grace_periods_sole"),
        ("SOLE01 writer", "ops"),
        ("FENCE01 reader", "reads"),
        ("FENCE01 synchronize", "age_0"),
        ("FENCE01 synchronize", "latency_us_p99"),
    ] {
        assert!(value(case, metric) > 0.0, "{case}, {metric}");
    }
    assert_eq!(value("FENCE01 all", "errors"), 0.0);
    let runs = report.options["runs"].as_array().expect("a list");
    let fences: Vec<_> = runs.iter().map(|run| run["fence"].as_str()).collect();
    assert_eq!(fences[1], Some("fenced"), "{fences:?}");
    assert_eq!(runs[1]["seed"], 4);
    assert_eq!(runs[1]["findings"].as_array().map(Vec::len), Some(0));
}

#[test]
fn what_is_asked_for_is_done() {
    let words = "torture --scenario TREE08 --duration 1s --interval 300ms --seed 9 \
                 --fence fenced --threads 5";
    let output = run(&words.split(' ').collect::<Vec<_>>());
    let printed = text(&output.stdout);
    assert_eq!(code(&output), Some(0), "{printed}");
    let mut lines = printed.lines();
    assert!(lines.next().is_some_and(|line| line.starts_with("seed 9,")));
    let of_runs: Vec<&str> = printed
        .lines()
        .filter(|line| line.starts_with("TREE08 "))
        .collect();
    assert!(of_runs.len() >= 3, "intervals, and the end: {printed}");
    assert!(
        of_runs
            .iter()
            .all(|line| line.contains(" grace periods, ") && !line.contains("FINDINGS"))
    );
    let last = of_runs.last().copied().unwrap_or_default();
    assert!(last.starts_with("TREE08  ok "), "{last}");
    assert!(printed.ends_with("nothing found; seed 9\n"));

    let json = [&words.split(' ').collect::<Vec<_>>()[..], &["--json"]].concat();
    let report = report(&run(&json));
    assert_eq!(report.options["runs"][0]["fence"], "fenced");
    assert_eq!(report.options["threads"], 5);
}

#[test]
fn scenarios_without_a_run_are_named() {
    let words = "torture --duration 2s --seed 4 --quiet";
    let printed = text(&run(&words.split(' ').collect::<Vec<_>>()).stdout);
    let left = printed
        .lines()
        .find(|it| it.starts_with("not run: "))
        .expect(&printed);
    assert!(left.contains(" scenarios: "), "{printed}");
    let words = format!("{words} --json");
    let report = report(&run(&words.split(' ').collect::<Vec<_>>()));
    let all = report.options["scenarios"].as_array().map(Vec::len);
    let left = report.options["not_run"].as_array().map(Vec::len);
    let ran = report
        .median("quiescent", "all", "runs")
        .map(|it| it as usize);
    assert_eq!(Some(left.unwrap_or(0) + ran.unwrap_or(0)), all);
}

#[test]
fn a_finding_comes_with_the_last_events_and_the_way_to_it() {
    let words =
        "torture --scenario TREE05 --duration 120s --seed 1 --quiet --broken no-grace-period";
    let words: Vec<&str> = words.split(' ').collect();
    let output = run(&words);
    let printed = text(&output.stdout);
    assert_eq!(code(&output), Some(1), "{printed}");
    for expected in [
        "TREE05, seed 1",
        "  FOUND ",
        "the last events, until the first finding:",
        "again: quiescent torture --scenario TREE05 --seed 1",
        "the last run has found something",
    ] {
        assert!(printed.contains(expected), "{expected}: {printed}");
    }
    let output = run(&[&words[..], &["--tap"]].concat());
    let printed = text(&output.stdout);
    assert_eq!(code(&output), Some(1), "{printed}");
    assert!(printed.starts_with("TAP version 13\n"), "{printed}");
    assert!(
        printed.contains("\nnot ok 1 - TREE05 seed 1\n"),
        "{printed}"
    );
    assert!(
        printed.contains("\n#   FOUND ")
            && printed
                .lines()
                .last()
                .is_some_and(|it| it.starts_with("1.."))
    );
    let is_tap = |line: &str| {
        ["ok ", "not ok ", "#", "1..", "TAP "]
            .iter()
            .any(|it| line.starts_with(it))
    };
    assert!(printed.lines().all(is_tap), "{printed}");
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    let file = std::env::temp_dir().join(format!("scenario-{}.toml", std::process::id()));
    std::fs::write(
        &file,
        "about = \"x\"\nstresses = []\n[actors]\njuggler = 1\n",
    )
    .unwrap();
    let path = file.to_str().expect("a plain name").to_owned();
    for (words, expected) in [
        (vec!["--scenario", "TREE99"], "TREE01, TREE02"),
        (vec!["--scenario", &path], "line 4, column 1: `juggler`"),
        (vec!["--duration", "soon"], "such as 90s"),
        (vec!["--duration", "0s"], "100ms to 100h"),
        (vec!["--threads", "0"], "give 1 to 1000"),
        (vec!["--fence", "picket"], "any, membarrier or fenced"),
        (vec!["--json", "--tap"], "cannot be used with"),
    ] {
        let output = run(&[&["torture"], &words[..]].concat());
        let said = text(&output.stderr);
        assert_eq!(code(&output), Some(2), "{words:?}: {said}");
        assert!(said.contains(expected), "{words:?}: {said}");
        assert_eq!(text(&output.stdout), "", "nothing was run");
    }
    std::fs::remove_file(file).unwrap();
}

fn started(words: &str) -> Child {
    quiescent()
        .args(words.split(' '))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command was built for this test")
}

#[test]
fn an_interrupt_ends_it_with_what_was_done() {
    let mut child = started("torture --duration 1h --seed 1");
    assert!(catches_ctrl_c(&mut child));
    ctrl_c(&child);
    let output = child.wait_with_output().expect("it ends");
    let printed = text(&output.stdout);
    assert_eq!(
        code(&output),
        Some(130),
        "{printed}{}",
        text(&output.stderr)
    );
    assert!(printed.contains("stopped early") && printed.contains("nothing found"));
}

#[test]
fn a_run_that_dies_is_a_finding() {
    let mut child = started("torture --scenario TREE05 --duration 10s --interval 100ms --seed 1");
    let mut output = BufReader::new(child.stdout.take().expect("piped"));
    let mut line = String::new();
    while !line.starts_with("TREE05") {
        line.clear();
        assert!(output.read_line(&mut line).expect("text") > 0, "it ended");
    }
    let id = child.id();
    let of = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).expect("procfs");
    let run: libc::pid_t = of
        .split_whitespace()
        .next()
        .expect("a run")
        .parse()
        .unwrap();
    // SAFETY: two integers; the run is the command's child, which has not waited for it: its output is open.
    assert_eq!(unsafe { libc::kill(run, libc::SIGKILL) }, 0);
    let printed: String = output.lines().map_while(Result::ok).collect();
    assert_eq!(child.wait().expect("it ends").code(), Some(1), "{printed}");
    assert!(
        printed.contains("FOUND the run was ended by signal 9"),
        "{printed}"
    );
}

#[test]
fn a_run_that_crashes_leaves_its_last_events() {
    let words = "torture --scenario FORK01 --duration 60s --seed 1 --quiet --broken crash";
    let words: Vec<&str> = words.split(' ').collect();
    let output = run(&words);
    let printed = text(&output.stdout);
    assert_eq!(code(&output), Some(1), "{printed}");
    assert!(
        printed.contains("FOUND the run was ended by signal 11"),
        "{printed}"
    );
    let events = printed.split("the last events, until the first finding:\n");
    let events: Vec<&str> = events
        .last()
        .expect("something")
        .lines()
        .take_while(|line| line.starts_with("    "))
        .collect();
    // At least those of threads that never rest, in the order in which they happened.
    for thread in [" writer ", " elsewhere "] {
        assert!(
            events.iter().any(|it| it.contains(thread)),
            "{thread}: {printed}"
        );
    }
    let times = events.iter().map(|line| {
        let time = line.split_whitespace().next().expect("a time");
        time.parse::<f64>().expect("seconds")
    });
    let times: Vec<f64> = times.collect();
    assert!(times.len() >= 10 && times.is_sorted(), "{printed}");
    let output = run(&[&words[..], &["--json"]].concat());
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a document");
    let events = &report["options"]["runs"][0]["events"];
    assert!(
        events.as_array().is_some_and(|it| it.len() >= 10),
        "{report}"
    );
}

#[test]
fn without_its_other_program_it_says_so() {
    // A link: a file that was just written may still be open for writing in another test's child.
    let name = format!("quiescent-alone-{}", std::process::id());
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let alone = folder.join("quiescent");
    std::fs::create_dir(&folder).unwrap();
    std::fs::hard_link(env!("CARGO_BIN_EXE_quiescent"), &alone).unwrap();
    let output = std::process::Command::new(&alone)
        .args(["torture", "--duration", "1s"])
        .output()
        .expect("a copy of the command");
    std::fs::remove_dir_all(folder).unwrap();
    let said = text(&output.stderr);
    assert_eq!(code(&output), Some(1), "{said}");
    assert!(
        said.contains("quiescent-torture-run: no such file; it belongs beside"),
        "{said}"
    );
}
