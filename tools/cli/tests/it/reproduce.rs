//! `reproduce`: its parts, its page, what is refused before anything is measured, and the result of a stopped
//! run. A whole run takes half a minute, so there is one.

use crate::common::{check_page, check_rows, interrupted, run, text, within};
use quiescent_report::Report;
use std::fs;
use std::path::Path;
use std::process::Output;

fn reproduce(folder: &Path, arguments: &[&str]) -> Output {
    within(folder, &[&["reproduce", "--quick"], arguments].concat())
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
        text(&output.stderr).contains("name a file for the page"),
        "{output:?}"
    );
}

#[test]
fn it_has_all_its_parts_and_its_page_is_written_beside_the_json_and_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    let older = "<meta name=\"generator\" content=\"quiescent reproduce\"><title>older</title>";
    fs::write(&path, older).unwrap();
    let arguments = ["--json", "--html", "page.html", "--seed", "5"];
    let output = reproduce(folder.path(), &arguments);
    let report = crate::common::report(&output);
    let said = text(&output.stderr);
    assert!(
        said.starts_with("page: ") && said.contains("page.html"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    let page = fs::read_to_string(&path).unwrap();
    check_rows(&page, &report);
    assert!(page.contains("<dd>5</dd>"), "the page of this run");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    has_all_its_parts(&report);
}

fn has_all_its_parts(report: &Report) {
    assert_eq!(report.command, "reproduce");
    for (subject, case, metric) in [
        ("quiescent", "load", "cpu_ns"),
        ("quiescent", "sole thread", "latency_us"),
        ("quiescent", "early-qs-v2 sole thread", "latency_us_mean"),
        ("published", "early-qs-v2 early_qs=off", "latency_us_mean"),
        (
            "published",
            "early-qs-v2 early_qs=init run 10",
            "latency_us_max",
        ),
        ("published", "early-qs-rfc early_qs=scan", "latency_us_mean"),
        ("quiescent", "push", "cpu_ns"),
        ("quiescent", "all-in 2t", "peak_rss_bytes"),
        ("quiescent", "at rest", "wakeups"),
        ("quiescent", "inside drop 1t", "inside_ratio"),
        ("seize", "outside drop 2t", "cpu_ns"),
        ("quiescent", "4 MiB 100/s", "peak_rss_bytes"),
        ("arc-swap", "small, then 4 MiB 100/s", "held"),
        ("quiescent", "update", "ops_per_s"),
    ] {
        assert!(
            report.find(subject, case, metric).is_some(),
            "{subject}, {case}, {metric}"
        );
    }
    // The kernel is measured, or the reason is printed.
    let measured = report.rows.iter().any(|row| row.subject == "kernel");
    let notes = report.options["notes"].to_string();
    assert!(measured || notes.contains("kernel:"), "{notes}");
}

#[test]
fn a_run_that_is_stopped_leaves_a_page_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let output = interrupted(folder.path(), &["reproduce"]);
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let said = text(&output.stdout);
    assert!(
        said.contains("stopped: the rest was not measured"),
        "{output:?}"
    );
    let page = fs::read_to_string(folder.path().join("reproduce.html")).unwrap();
    check_page(&page);
    assert!(page.contains("Incomplete"));
}

#[test]
fn standard_output_may_be_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let output = interrupted(folder.path(), &["reproduce", "--html", "-"]);
    check_page(&text(&output.stdout));
    assert!(output.stderr.is_empty(), "{output:?}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
