//! The page of `reproduce`: where it goes, what is refused before anything is measured, what a run that was stopped leaves.

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
