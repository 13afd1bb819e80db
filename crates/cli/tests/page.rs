//! Pages of commands: where they go, what is refused before anything is measured, what a run that was stopped leaves, what is on them.

mod common;

use common::{quiescent, run, text};
use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};

fn reproduce(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = quiescent();
    command.current_dir(folder).args(["reproduce", "--quick"]);
    command.args(arguments).output().unwrap()
}

/// The page is whole, and its body well-formed.
#[track_caller]
fn check(page: &str) {
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"));
    let body = page.find("<body>").unwrap()..page.find("</html>").unwrap();
    roxmltree::Document::parse(&page[body]).unwrap();
    assert!(!page.contains("NaN") && !page.contains("src=") && !page.contains("<script"));
}

#[test]
fn a_wrong_place_is_refused_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mine.html"), "<title>mine</title>").unwrap();
    for (arguments, remedy) in [
        (&["--html", "missing/page.html"][..], "a folder that exists"),
        (&["--html", "."], "name a file in it"),
        (&["--html", "mine.html"], "name another file"),
        (&["--html", "mine.html/page.html"], "--no-html"),
        (&["--html", ""], "--no-html"),
        (&["--html", "x.html", "--no-html"], "cannot be used with"),
    ] {
        let output = reproduce(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        let said = text(&output.stderr);
        assert!(said.contains(remedy), "{arguments:?} says {said}");
        assert!(
            output.stdout.is_empty(),
            "{arguments:?}: nothing was measured"
        );
    }
    let left = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 1, "nothing was made");
    let mine = fs::read_to_string(folder.path().join("mine.html")).unwrap();
    assert_eq!(mine, "<title>mine</title>");
}

#[test]
fn two_things_on_standard_output_are_one_too_many() {
    let output = run(&["reproduce", "--quick", "--json", "--html", "-"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(
        text(&output.stderr).contains("give the page a file"),
        "{output:?}"
    );
}

#[test]
fn the_page_is_written_beside_the_json_and_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    let older = "<meta name=\"generator\" content=\"quiescent reproduce\"><title>older</title>";
    fs::write(&path, older).unwrap();
    let arguments = ["--json", "--html", "page.html", "--seed", "5"];
    let output = reproduce(folder.path(), &arguments);
    let report = common::report(&output);
    let said = text(&output.stderr);
    assert!(
        said.starts_with("page: ") && said.contains("page.html"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    let page = fs::read_to_string(&path).unwrap();
    check(&page);
    assert!(page.contains("<dd>5</dd>"), "the page of this run");
    for row in &report.rows {
        let cells = format!("<td>{}</td><td>{}</td>", row.case, row.metric);
        assert!(page.contains(&cells), "{row:?}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// `reproduce` with these arguments, interrupted as soon as it can be. Without `--quick` it would take minutes.
fn interrupted(folder: &Path, arguments: &[&str]) -> Output {
    let mut child = quiescent()
        .current_dir(folder)
        .arg("reproduce")
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    assert!(common::catches_ctrl_c(&mut child));
    common::ctrl_c(&child);
    child.wait_with_output().unwrap()
}

#[test]
fn a_run_that_is_stopped_leaves_a_page_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let output = interrupted(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert!(text(&output.stdout).contains("Targets"), "{output:?}");
    let page = fs::read_to_string(folder.path().join("reproduce.html")).unwrap();
    check(&page);
    assert!(page.contains("Incomplete"));
}

#[test]
fn standard_output_may_be_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let output = interrupted(folder.path(), &["--html", "-"]);
    check(&text(&output.stdout));
    assert!(output.stderr.is_empty(), "{output:?}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// A command with these arguments, in this folder.
fn within(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = quiescent();
    command
        .current_dir(folder)
        .args(arguments)
        .output()
        .unwrap()
}

/// Every row of the report is in a table of the page, and the page is linked within itself only.
#[track_caller]
fn check_rows(page: &str, report: &quiescent_bench::Report) {
    check(page);
    for row in &report.rows {
        let cells = format!("<td>{}</td><td>{}</td>", row.case, row.metric);
        assert!(page.contains(&cells), "{row:?}");
    }
    assert!(!page.contains("http"), "nothing elsewhere is named");
}

#[test]
fn every_bench_has_a_page() {
    let folder = tempfile::tempdir().unwrap();
    for command in [
        &["read", "--rounds", "2"][..],
        &["sync", "--rounds", "1", "--calls", "20"],
        &["srcu", "--rounds", "1", "--calls", "20"],
        &["mixed", "--rounds", "1", "--ms", "20"],
        &["scale", "--rounds", "1", "--threads", "1,3", "--calls", "5"],
        &["pressure", "--rounds", "1", "--objects", "10"],
        &["idle", "--seconds", "0.1"],
        &[
            "barrier",
            "--rounds",
            "1",
            "--calls",
            "2",
            "--objects",
            "10",
        ],
        &["flood", "--seconds", "0.1", "--producers", "1"],
    ] {
        let path = format!("{}.html", command[0]);
        let words = [
            &["bench"],
            command,
            &["--json", "--html", &path, "--seed", "23"],
        ]
        .concat();
        let output = within(folder.path(), &words);
        let report = common::report(&output);
        let said = text(&output.stderr);
        assert!(said.starts_with("page: ") && said.contains(&path), "{said}");
        let page = fs::read_to_string(folder.path().join(&path)).unwrap();
        check_rows(&page, &report);
        let again = format!("quiescent {}</code>", words.join(" "));
        assert!(
            page.contains(&again),
            "the command that does it again: {again}"
        );
        for words in [
            &*format!("<h1>quiescent bench {}</h1>", command[0]),
            "<dd>23</dd>",
            "Machine",
        ] {
            assert!(page.contains(words), "no `{words}` in {path}");
        }
    }
}

#[test]
fn every_bench_and_torture_refuses_a_wrong_place_at_once() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mine.html"), "<title>mine</title>").unwrap();
    let mut commands: Vec<Vec<&str>> = vec![vec!["torture"], vec!["torture", "--sim"]];
    for name in [
        "read", "sync", "srcu", "domain", "retire", "mixed", "scale", "pressure", "idle",
        "trickle", "flood", "stall", "barrier",
    ] {
        commands.push(vec!["bench", name]);
    }
    for command in commands {
        for (place, remedy) in [
            ("mine.html", "name another file"),
            ("missing/page.html", "a folder that exists"),
            ("", "leave the page out"),
        ] {
            let output = within(folder.path(), &[&command[..], &["--html", place]].concat());
            assert_eq!(
                output.status.code(),
                Some(2),
                "{command:?} {place}: {output:?}"
            );
            assert!(
                text(&output.stderr).contains(remedy),
                "{command:?} {place}: {output:?}"
            );
            assert!(
                output.stdout.is_empty(),
                "{command:?}: nothing was measured"
            );
        }
    }
    let output = within(folder.path(), &["bench", "read", "--json", "--html", "-"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let mine = fs::read_to_string(folder.path().join("mine.html")).unwrap();
    assert_eq!(mine, "<title>mine</title>");
}

#[test]
fn the_page_may_stand_in_the_place_of_the_tables() {
    let folder = tempfile::tempdir().unwrap();
    for command in [
        &["bench", "idle", "--seconds", "0.1"][..],
        &["torture", "--sim", "--seeds", "3"],
    ] {
        let output = within(folder.path(), &[command, &["--html", "-"]].concat());
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{output:?}"
        );
        check(&text(&output.stdout));
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_page_of_machines_says_what_was_done_and_reached() {
    let folder = tempfile::tempdir().unwrap();
    let output = within(
        folder.path(),
        &[
            "torture", "--sim", "--seeds", "11", "--seed", "5", "--json", "--html", "sim.html",
        ],
    );
    let report = common::report(&output);
    let page = fs::read_to_string(folder.path().join("sim.html")).unwrap();
    check_rows(&page, &report);
    for words in [
        "<b>nothing</b><span>was found",
        "<b>11</b><span>machines",
        "trace points",
        "Never reached",
    ] {
        assert!(page.contains(words), "no `{words}`");
    }
}

#[test]
fn a_page_of_torture_has_the_histograms_and_who_did_what() {
    let folder = tempfile::tempdir().unwrap();
    let words = [
        "torture",
        "--scenario",
        "TREE01",
        "--duration",
        "1s",
        "--seed",
        "9",
        "--json",
        "--quiet",
        "--html",
        "t.html",
    ];
    let report = common::report(&within(folder.path(), &words));
    let page = fs::read_to_string(folder.path().join("t.html")).unwrap();
    check_rows(&page, &report);
    for words in [
        "<b>nothing</b><span>was found",
        "Pipe ages",
        "A histogram",
        "Actors",
        "short-lived thread",
        "everything at once",
    ] {
        assert!(page.contains(words), "no `{words}`");
    }
    // The chart's figure is the sum of the ways to dispose, each a row.
    let ages = report
        .rows
        .iter()
        .filter(|it| it.metric == "age_0" && !it.case.starts_with("TREE01 "));
    let sum: f64 = ages.map(|it| it.median).sum();
    assert!(
        sum > 0.0 && page.contains(&format!("<td class=\"n\">{sum:.0}</td>")),
        "{sum}"
    );
}

#[test]
fn what_torture_finds_is_on_its_page() {
    let folder = tempfile::tempdir().unwrap();
    let words = [
        "torture",
        "--scenario",
        "TREE01",
        "--duration",
        "20s",
        "--broken",
        "no-grace-period",
        "--quiet",
        "--html",
        "t.html",
    ];
    let output = within(folder.path(), &words);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let page = fs::read_to_string(folder.path().join("t.html")).unwrap();
    check(&page);
    for words in [
        "<strong>Found: </strong>",
        "grace period too short",
        "The last events",
        "FOUND",
        "quiescent torture --scenario TREE01 --seed ",
    ] {
        assert!(page.contains(words), "no `{words}`");
    }
}

#[test]
fn a_bench_that_is_stopped_leaves_a_page_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = quiescent()
        .current_dir(folder.path())
        .args(["bench", "read", "--rounds", "100000", "--html", "page.html"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    assert!(common::catches_ctrl_c(&mut child));
    common::ctrl_c(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
    check(&page);
    assert!(page.contains("Incomplete"));
}
