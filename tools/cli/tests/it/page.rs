//! Pages of commands: their place, what is refused before anything is measured, and their content.
//! `reproduce` has its own file.

use crate::common::{check_page, check_rows, interrupted, text, within};
use std::fs;

#[test]
fn every_bench_has_a_page() {
    let folder = tempfile::tempdir().unwrap();
    for command in [
        &["read", "--rounds", "2"][..],
        &["sync", "--rounds", "1", "--calls", "20"],
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
        &["hold", "--seconds", "0.02"],
    ] {
        let path = format!("{}.html", command[0]);
        let words = [
            &["bench"],
            command,
            &["--json", "--html", &path, "--seed", "23"],
        ]
        .concat();
        let output = within(folder.path(), &words);
        let report = crate::common::report(&output);
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
        "read", "sync", "retire", "mixed", "scale", "pressure", "idle", "trickle", "flood",
        "stall", "hold", "barrier",
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
        check_page(&text(&output.stdout));
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
    let report = crate::common::report(&output);
    let page = fs::read_to_string(folder.path().join("sim.html")).unwrap();
    check_rows(&page, &report);
    for words in ["nothing found", "11 machines", "trace points", ", never: "] {
        assert!(page.contains(words), "no `{words}`");
    }
}

#[test]
fn a_page_of_torture_has_the_ages_and_who_did_what() {
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
    let report = crate::common::report(&within(folder.path(), &words));
    let page = fs::read_to_string(folder.path().join("t.html")).unwrap();
    check_rows(&page, &report);
    for words in [
        "nothing found; seed 9",
        "age 0, sections",
        "short-lived thread",
    ] {
        assert!(page.contains(words), "no `{words}`");
    }
}

#[test]
fn what_torture_finds_is_on_its_page() {
    let folder = tempfile::tempdir().unwrap();
    let words = [
        "torture",
        "--scenario",
        "TREE01",
        "--duration",
        "120s",
        "--broken",
        "no-grace-period",
        "--quiet",
        "--html",
        "t.html",
    ];
    let output = within(folder.path(), &words);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let page = fs::read_to_string(folder.path().join("t.html")).unwrap();
    check_page(&page);
    for words in [
        "grace period too short",
        "the last events",
        "FOUND",
        "quiescent torture --scenario TREE01 --seed ",
    ] {
        assert!(page.contains(words), "no `{words}`");
    }
}

#[test]
fn a_bench_that_is_stopped_leaves_a_page_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["bench", "read", "--rounds", "100000", "--html", "page.html"];
    let output = interrupted(folder.path(), &words);
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
    check_page(&page);
    assert!(page.contains("Incomplete"));
}
