//! `quiescent doctor`: the output for a user or a script, about this machine and made-up ones.

use crate::common::{nonsense, run, text};
use quiescent_report::Report;
use serde_json::Value;
use std::fs;
use std::path::Path;

fn put(folder: &Path, file: &str, text: &str) {
    let path = folder.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A machine with laziness and, with the argument, offloaded CPUs.
pub fn machine(offloaded: bool) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    put(at, "proc/sys/kernel/osrelease", "6.12.9-made\n");
    put(at, "proc/cmdline", "rcu_nocbs=all\n");
    put(
        at,
        "boot/config-6.12.9-made",
        "CONFIG_HZ=1000\nCONFIG_RCU_NOCB_CPU=y\nCONFIG_RCU_LAZY=y\n",
    );
    put(at, "sys/devices/system/cpu/possible", "0\n");
    put(at, "sys/devices/system/cpu/online", "0\n");
    put(at, "sys/module/rcutree/parameters/enable_rcu_lazy", "Y\n");
    put(at, "proc/15/comm", "rcu_preempt\n");
    if offloaded {
        put(at, "proc/16/comm", "rcuop/0\n");
    }
    folder
}

fn findings(report: &Report) -> &Vec<Value> {
    report.options["findings"].as_array().unwrap()
}

#[test]
fn nonsense_is_refused_with_a_remedy() {
    nonsense(&[
        (&["doctor", "--root"], "--root"),
        (&["doctor", "here"], "--help"),
        (&["doctor", "--clean", "--root", "/"], "cannot be used with"),
    ]);
    let empty = tempfile::tempdir().unwrap();
    let name = empty.path().display().to_string();
    for (folder, why) in [
        (name.as_str(), "neither proc/"),
        ("/no/such/folder", "no such folder"),
    ] {
        let output = run(&["doctor", "--root", folder]);
        assert_eq!(output.status.code(), Some(2));
        let said = text(&output.stderr);
        assert!(
            said.contains(why) && said.contains("docs/tools.md"),
            "{said}"
        );
    }
}

#[test]
fn cleaning_says_what_was_removed_or_why_it_cannot() {
    let output = run(&["doctor", "--clean"]);
    let (out, said) = (text(&output.stdout), text(&output.stderr));
    match output.status.code() {
        Some(0) => {
            assert!(out.contains("removed: ") || out.contains("kept") || out.contains("nothing"))
        }
        Some(1) => assert!(
            said.contains("doctor --clean") && said.contains("root"),
            "{said}"
        ),
        code => panic!("{code:?} {out} {said}"),
    }
}

#[test]
fn what_has_no_effect_is_exit_code_1() {
    let good = machine(true);
    let output = run(&["doctor", "--root", good.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text(&output.stdout).contains("callbacks of CPU 0"));
    let bad = machine(false);
    let output = run(&["doctor", "--root", bad.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stdout);
    assert!(said.contains("without effect: laziness"), "{said}");
    assert!(said.contains("remedy    boot with rcu_nocbs=all"), "{said}");
    assert!(output.stderr.is_empty());
}

#[test]
fn where_nothing_is_known_it_is_exit_code_2() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("proc")).unwrap();
    let root = folder.path().to_str().unwrap();
    let output = run(&["doctor", "--root", root]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stdout).contains("cannot tell: files"));
    // One word that is wrong is enough to tell.
    put(
        folder.path(),
        "proc/cmdline",
        "rcutree.jiffies_til_first_fqs=8\n",
    );
    let output = run(&["doctor", "--root", root]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = text(&output.stdout);
    assert!(
        said.contains("write rcutree.jiffies_till_first_fqs=8"),
        "{said}"
    );
    // One that is known, and nothing wrong.
    put(folder.path(), "proc/cmdline", "quiet\n");
    put(folder.path(), "proc/sys/kernel/osrelease", "6.12.9\n");
    let output = run(&["doctor", "--root", root]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn a_script_gets_findings_and_counts() {
    let bad = machine(false);
    let output = run(&["doctor", "--json", "--root", bad.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let report = Report::from_json(&text(&output.stdout)).unwrap();
    let is_bad = |it: &&Value| it["severity"] == "without effect";
    let bad: Vec<&Value> = findings(&report).iter().filter(is_bad).collect();
    assert_eq!(bad.len(), 2, "offloading and laziness: {bad:#?}");
    assert!(
        bad.iter()
            .all(|it| it["remedy"].as_str().is_some_and(|it| !it.is_empty()))
    );
    let row = report.find("kernel", "without effect", "findings").unwrap();
    assert_eq!(row.median, 2.0);
    assert_eq!(report.options["machine"]["offloaded"], "none");
}

#[test]
fn this_machine_is_read_whatever_it_is() {
    let output = run(&["doctor", "--json"]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    let report = Report::from_json(&text(&output.stdout)).unwrap();
    assert!(
        findings(&report)
            .iter()
            .any(|it| it["about"] == "membarrier")
    );
    assert_eq!(
        report.options["machine"]["kernel"],
        report.host.kernel.as_str()
    );
    let bad = report.find("kernel", "without effect", "findings").unwrap();
    assert_eq!(bad.median > 0.0, output.status.code() == Some(1));
}
