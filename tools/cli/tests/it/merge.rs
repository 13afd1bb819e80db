//! `--shard` and `merge`: the parts of a batch, joined, are what one run prints. Rows one a line.

use crate::common::{nonsense, run, text};
use quiescent_report::{Report, Row};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A report without what is the machine's.
fn without_host(json: &str) -> Value {
    let mut report: Value = serde_json::from_str(json).expect(json);
    let host = report.as_object_mut().unwrap().remove("host");
    assert!(host.is_some());
    report
}

/// What the parts of this command print, each in a file, in the reverse order.
fn shards(folder: &Path, command: &[&str], of: usize, code: i32) -> Vec<PathBuf> {
    let shard = |number: usize| {
        let part = format!("{number}/{of}");
        let output = run(&[command, &["--shard", &part, "--json"]].concat());
        assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
        assert!(output.status.code().unwrap() <= code, "{output:?}");
        let file = folder.join(format!("{number}.json"));
        fs::write(&file, &output.stdout).unwrap();
        file
    };
    (1..=of).rev().map(shard).collect()
}

fn merge(files: &[PathBuf], more: &[&str]) -> std::process::Output {
    let files = files.iter().map(|it| it.to_str().unwrap());
    let words: Vec<&str> = ["merge"]
        .into_iter()
        .chain(files)
        .chain(more.iter().copied())
        .collect();
    run(&words)
}

/// The parts of a command, joined, are its whole run: the same report, and the same exit code.
#[track_caller]
fn are_one_run(command: &[&str], of: usize) -> Report {
    let folder = tempfile::tempdir().unwrap();
    let whole = run(&[command, &["--json"]].concat());
    let code = whole.status.code().unwrap();
    let files = shards(folder.path(), command, of, code);
    let merged = merge(&files, &["--json"]);
    assert_eq!(merged.status.code(), Some(code), "{merged:?}");
    let (whole, merged) = (text(&whole.stdout), text(&merged.stdout));
    assert_eq!(without_host(&merged), without_host(&whole));
    let screen = text(&merge(&files, &[]).stdout);
    assert_eq!(screen, text(&run(command).stdout));
    Report::from_json(&merged).unwrap()
}

const SWEEP: [&str; 6] = ["sim", "sync", "--set", "calls=5", "--seeds", "2"];

fn swept(sweep: &'static str) -> Vec<&'static str> {
    [&SWEEP[..], &["--sweep", sweep]].concat()
}

#[test]
fn shards_of_a_sweep_are_one_run() {
    let report = are_one_run(&swept("jiffies_till_first_fqs=1,2,3,4,5"), 2);
    assert!(
        report
            .median("model", "sync calls=5 jiffies_till_first_fqs=4", "calls")
            .is_some()
    );
    are_one_run(
        &[&swept("jiffies_till_first_fqs=1,2,3")[..], &["--recommend"]].concat(),
        2,
    );
    // More parts than variants; and two variants, which are compared run by run.
    are_one_run(&swept("jiffies_till_first_fqs=1,2,3"), 4);
    let report = are_one_run(&swept("early_qs=off,init"), 2);
    assert!(
        report
            .rows
            .iter()
            .any(|row| row.case.starts_with("sync saved"))
    );
}

#[test]
#[cfg(target_os = "linux")]
fn shards_of_simulated_torture_are_one_run() {
    let report = are_one_run(&["torture", "--sim", "--seeds", "23"], 3);
    assert_eq!(report.median("model", "all", "machines"), Some(23.0));
    assert!(report.median("model", "all", "distinct_states").unwrap() > 0.0);
}

/// Shards of simulated torture as their files may be: no count is too large, and the seeds are what failed.
#[test]
#[cfg(target_os = "linux")]
fn shards_of_machines_are_what_their_seeds_say() {
    let folder = tempfile::tempdir().unwrap();
    let files = shards(folder.path(), &["torture", "--sim", "--seeds", "2"], 2, 0);
    let change = |change: &dyn Fn(&mut Value)| {
        for file in &files {
            let mut report = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
            change(&mut report);
            fs::write(file, report.to_string()).unwrap();
        }
        merge(&files, &["--json"])
    };
    let output = change(&|report| {
        report["options"]["machines"] = u64::MAX.into();
        report["options"]["shard"]["counted"]["counts"]["events"] = u64::MAX.into();
    });
    let report = Report::from_json(&text(&output.stdout)).unwrap();
    let most = Some(1.84467e19); // rounded as every row
    assert_eq!(report.median("model", "all", "machines"), most);
    assert_eq!(report.median("model", "all", "events"), most);
    let output = change(&|report| report["options"]["failing_seeds"] = vec![1].into());
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("1.json: no finding of its seeds"));
    let case = quiescent_sim::torture::Case::of_seed(1).to_text();
    let case: Value = serde_json::from_str(&case).unwrap();
    let finding = serde_json::json!({
        "case": case, "finding": { "kind": "stuck", "at": 5, "words": [] }, "runs_to_make_it_smaller": 7,
    });
    let output = change(&|report| report["options"]["finding"] = finding.clone());
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

/// Traces of the model, which are recordings like others; and one that is none.
fn recordings(folder: &Path) -> Vec<String> {
    let recording = |name: &str, seed: &str| {
        let file = folder.join(name).to_str().unwrap().to_owned();
        let set = [
            "--seconds",
            "1",
            "--set",
            "rcu=offload",
            "--seed",
            seed,
            "--trace",
            &file,
        ];
        let output = run(&[&["sim", "churn"], &set[..]].concat());
        assert!(output.status.success(), "{output:?}");
        file
    };
    vec![
        recording("a.txt", "1"),
        recording("b.txt", "2"),
        recording("c.txt", "3"),
    ]
}

#[test]
fn shards_of_recordings_are_one_run() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = recordings(folder.path());
    let none = folder.path().join("none.txt").to_str().unwrap().to_owned();
    files.insert(1, none.clone());
    let names: Vec<&str> = files.iter().map(String::as_str).collect();
    let command = [&["whatif"], &names[..], &["--set", "rcu=lazy"]].concat();
    let report = are_one_run(&command, 2);
    for name in names.iter().filter(|it| **it != none) {
        assert!(
            report.median("changed", name, "wakeups_per_s").is_some(),
            "{name}"
        );
    }
    let of_files = report.options["files"].as_array().unwrap();
    assert_eq!(of_files[1]["file"], none.as_str());
    assert!(of_files[1]["error"].as_str().unwrap().contains("none.txt"));
    assert_eq!(of_files[3]["file"], names[3]);
    let failed = report.find("whatif", &none, "not_replayed");
    assert_eq!(failed.map(|it| it.median), Some(1.0));
    let lines = run(&[&command[..], &["--json-lines"]].concat());
    assert!(text(&lines.stdout).contains("not_replayed"), "{lines:?}");
    assert!(
        text(&lines.stderr).contains("none.txt: not replayed"),
        "{lines:?}"
    );
    let twice = run(&["whatif", names[0], names[0], "--set", "rcu=lazy"]);
    assert!(text(&twice.stderr).contains("named twice"), "{twice:?}");
}

#[test]
fn shards_that_are_none_are_refused() {
    let sim = ["sim", "sync", "--sweep", "early_qs=off,init", "--shard"];
    for (part, why) in [
        ("0/3", "from 1 to N"),
        ("4/3", "from 1 to N"),
        ("a/b", "give K/N"),
    ] {
        nonsense(&[
            (&[&sim[..], &[part]].concat(), why),
            (&["torture", "--sim", "--shard", part], why),
            (&["whatif", "x", "--set", "rcu=lazy", "--shard", part], why),
        ]);
    }
    nonsense(&[
        (&["sim", "sync", "--shard", "1/2"], "give --sweep"),
        (&["sim", "replay", "--shard", "1/2"], "takes no --shard"),
        (&["torture", "--shard", "1/2"], "--sim"),
        (
            &["torture", "--scenario", "TREE02", "--shard", "1/2"],
            "cannot be used",
        ),
        (
            &["torture", "--scenario", "TREE02", "--keep", "x"],
            "cannot be used",
        ),
        (&["merge"], "FILE"),
    ]);
}

#[test]
fn what_does_not_belong_together_is_not_merged() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let files = shards(folder.path(), &swept("jiffies_till_first_fqs=1,2,3"), 3, 0);
    let refused = |files: &[PathBuf], why: &str| {
        let output = merge(files, &["--json"]);
        assert_eq!(output.status.code(), Some(2), "{why}: {output:?}");
        assert!(output.stdout.is_empty());
        let said = text(&output.stderr);
        assert!(said.contains(why), "{why} in {said}");
    };
    refused(&files[..2], "shard 1/3 is missing");
    let twice = [&files[..], &files[..1]].concat();
    refused(&twice, "are both shard 3/3");
    refused(&[at("no-such-file")], "no-such-file");
    let edited = |of: &Path, name: &str, from: &str, to: &str| {
        let before = fs::read_to_string(of).unwrap();
        assert!(before.contains(from), "{from}");
        fs::write(at(name), before.replace(from, to)).unwrap();
        [&files[1..], &[at(name)]].concat()
    };
    let changed = |name: &str, from: &str, to: &str| edited(&files[0], name, from, to);
    refused(
        &changed("other.json", "\"seeds\":2", "\"seeds\":3"),
        "of different runs: seeds is 2 and 3",
    );
    refused(
        &changed("stopped.json", "\"stopped\":false", "\"stopped\":true"),
        "3/3 was stopped",
    );
    refused(
        &changed("short.json", "{\"rows\":", "{\"rows\":1"),
        "do not belong",
    );
    let short = |name: &str, from: &str, to: &str| edited(&at("short.json"), name, from, to);
    refused(
        &short("counted.json", "\"counted\":null", "\"counted\":1"),
        "do not belong",
    );
    refused(
        &short("early.json", "\"stopped\":false", "\"stopped\":true"),
        "3/3 was stopped",
    );
    refused(
        &changed("number.json", "\"number\":3", "\"number\":2"),
        "are both shard 2/3",
    );
    refused(
        &changed("none.json", "\"of\":3", "\"of\":0"),
        "do not belong together",
    );
    fs::write(at("text.json"), "rows\n").unwrap();
    refused(&[at("text.json")], "text.json: report");
    let whole = run(&[&swept("early_qs=off,init")[..], &["--json"]].concat());
    fs::write(at("whole.json"), whole.stdout).unwrap();
    refused(&[at("whole.json")], "no shard of one");
    // Nothing is overwritten: a shard is no page.
    let before = fs::read(&files[0]).unwrap();
    let page = files[0].to_str().unwrap();
    let output = merge(&files, &["--html", page]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert_eq!(fs::read(&files[0]).unwrap(), before);
}

#[test]
fn rows_one_a_line() {
    let command = swept("jiffies_till_first_fqs=1,2,3");
    let report = run(&[&command[..], &["--json"]].concat());
    let report = Report::from_json(&text(&report.stdout)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let files = shards(folder.path(), &command, 2, 0);
    for output in [
        run(&[&command[..], &["--json-lines"]].concat()),
        run(&[&["--json-lines"], &command[..]].concat()),
        merge(&files, &["--json-lines"]),
        merge(&files, &["--json", "--json-lines"]),
    ] {
        let lines = text(&output.stdout);
        let rows: Result<Vec<Row>, _> = lines.lines().map(serde_json::from_str).collect();
        assert_eq!(rows.unwrap(), report.rows);
    }
    let shard = [&command[..], &["--shard", "1/2", "--json-lines"]].concat();
    nonsense(&[
        (&shard, "cannot be used with '--json-lines'"),
        (&["--json-lines", "sim", "--list"], "cannot be used with"),
        (
            &["completions", "bash", "--json-lines"],
            "neither --json nor",
        ),
    ]);
    let tables = text(&merge(&files, &[]).stdout);
    assert!(tables.contains("jiffies_till_first_fqs=3"), "{tables}");
}
