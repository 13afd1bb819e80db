//! `quiescent trace`: the output for a user or a script, of a recorded trace.
//! `tools/trace/tests/it/analyses.rs` compares the figures with an independent script.

use crate::common::{nonsense, quiescent, report, run, text};
use std::io::Write;
use std::process::Stdio;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/traces/");

fn path(name: &str) -> String {
    format!("{DATA}{name}")
}

const ANALYSES: [&str; 6] = ["summary", "wakeups", "callbacks", "batches", "gps", "idle"];

#[test]
fn nonsense_is_a_usage_error_with_a_remedy() {
    let idle = path("classic-idle.txt.xz");
    let idle = idle.as_str();
    nonsense(&[
        (&["trace"], "--help"),
        (&["trace", idle, "everything"], "wakeups"),
        (&["trace", "/nowhere/t.txt", "idle"], "give a file"),
        (&["trace", "/dev/null", "idle"], "no record"),
        (&["trace", idle, "idle", "--from", "x"], "give seconds"),
        (&["trace", idle, "idle", "--to", "-1"], "give seconds"),
        (
            &["trace", idle, "idle", "--thread", ""],
            "a value is required for '--thread",
        ),
        (
            &["trace", idle, "idle", "--from", "3", "--to", "2"],
            "the interval is empty",
        ),
        (
            &["trace", idle, "idle", "--from", "3000"],
            "no record in the window",
        ),
        (&["trace", idle, "idle", "--cpu", "5-2"], "0-3,7"),
        (&["trace", idle, "idle", "--limit", "-1"], "rows"),
        (&["trace", idle, "idle", "--output", "x"], "leave it out"),
        (&["trace", idle, "idle", "--remedies"], "for the waits"),
        (
            &["trace", idle, "waits", "--remedies", "--from", "1"],
            "both --from and --to",
        ),
        (&["trace", idle, "timeline"], "--output"),
        (
            &["trace", idle, "timeline", "--output", "/nowhere/x"],
            "name a file",
        ),
    ]);
}

#[test]
fn every_analysis_prints_tables_and_rows() {
    let file = path("classic-b-nocb-file100.txt.xz");
    for analysis in ANALYSES {
        let printed = run(&["trace", &file, analysis]);
        assert_eq!(printed.status.code(), Some(0), "{analysis}");
        let printed = text(&printed.stdout);
        assert!(
            printed.contains("101264 records, 8 CPUs; 2.127179 s to 12.128176 s"),
            "{printed}"
        );
        let rows = report(&run(&["trace", &file, analysis, "--json"]));
        assert_eq!(rows.command, format!("trace {analysis}"));
        assert!(rows.rows.len() > 5 && rows.rows.iter().all(|row| row.subject == "recorded"));
        assert_eq!(rows.options["about"]["records"], 101_264);
    }
    let rows = |more: &[&str]| {
        let all = [&["trace", &file, "gps", "--json"], more].concat();
        report(&run(&all)).rows.len()
    };
    assert!(rows(&["--limit", "1"]) < rows(&[]));
}

#[test]
fn without_an_analysis_the_first_line_is_what_rcu_costs() {
    let file = path("classic-b-nocb-file100.txt.xz");
    let said = text(&run(&["trace", &file]).stdout).to_owned();
    let first = "RCU: 434 wake-ups/s, 81 % of all; 343 ended a CPU's idle period, 279 all CPUs'\n";
    assert!(said.starts_with(first) && first.len() <= 80, "{said}");
    assert!(
        said.contains("analyses of this trace") && !said.contains("warning"),
        "{said}"
    );
    let rows = report(&run(&["trace", &file, "--json"]));
    assert_eq!(rows.command, "trace summary");
    let of = |case| rows.find("recorded", case, "wakeups").map(|row| row.median);
    // As `wakeups` counts them, by thread.
    let [all, rcu, gp] = ["(all)", "(RCU)", "rcu_preempt"].map(|case| of(case).expect("counted"));
    let threads = report(&run(&["trace", &file, "wakeups", "--json"]));
    let of = |case| {
        threads
            .find("recorded", case, "wakeups")
            .map(|row| row.median)
    };
    assert_eq!((Some(all), Some(gp)), (of("(all)"), of("rcu_preempt")));
    assert_eq!(rcu, 4339.0);
    // Nothing to show: no table, and why.
    let said = run(&["trace", &file, "idle", "--cpu", "99"]);
    assert_eq!(said.status.code(), Some(0));
    let said = text(&said.stdout);
    assert!(
        !said.contains("Idle by CPU") && said.contains("note: no such CPU"),
        "{said}"
    );
    let said = text(&run(&["trace", &file, "wakeups", "--thread", "nosuch"]).stdout);
    let there = "note: no thread of this name or id in this trace; there are <idle>, ";
    assert!(said.contains(there) && said.contains("rcuog/0"), "{said}");
}

#[test]
fn filters_narrow_what_is_counted() {
    let file = path("classic-b-nocb-file100.txt.xz");
    let figure = |more: &[&str], case: &str| {
        let all = [&["trace", &file, "wakeups", "--json"], more].concat();
        report(&run(&all))
            .find("recorded", case, "wakeups")
            .map(|row| row.median)
    };
    let all = figure(&[], "(all)").expect("there are wake-ups");
    assert_eq!(
        figure(&["--thread", "rcuop/1"], "(all)"),
        figure(&[], "rcuop/1")
    );
    assert_eq!(figure(&["--thread", "27"], "(all)"), figure(&[], "rcuop/1"));
    let halves = ["--from", "--to"].map(|end| figure(&[end, "7.5000005"], "(all)").expect("some"));
    // Without marks: the halves of the whole trace.
    assert!(halves[0] + halves[1] > all, "{halves:?} {all}");
    let cpus = ["0", "1-7"].map(|cpus| figure(&["--cpu", cpus], "(all)").expect("some"));
    assert_eq!(cpus[0] + cpus[1], all);
}

#[test]
fn standard_input_and_lines_that_cannot_be_read() {
    let mut child = quiescent()
        .args(["trace", "-", "wakeups"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let lines = "\
        a-1 [000] d..2. 1.0: sched_wakeup: comm=b pid=7 prio=120 target_cpu=001\n\
        what is this?\n\
        a-1 [000] d..2. 1.5: sched_wakeup: comm=b pid=7 prio=120 target_cpu=001\n";
    let mut input = child.stdin.take().expect("is piped");
    input.write_all(lines.as_bytes()).expect("is read");
    drop(input);
    let output = child.wait_with_output().expect("ends");
    assert_eq!(output.status.code(), Some(1), "a finding: {output:?}");
    let said = text(&output.stdout);
    assert!(
        said.contains("warning: 1 lines could not be read, first line 2"),
        "{said}"
    );
    assert!(said.contains("500000.0"), "{said}");
}

#[test]
fn a_timeline_appears_whole_or_not_at_all() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().join("t.pftrace");
    let target = target.to_str().expect("a name");
    let output = run(&[
        "trace",
        &path("classic-idle.txt.xz"),
        "timeline",
        "--output",
        target,
    ]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let bytes = std::fs::read(target).expect("is written");
    // A packet: field 1, bytes.
    assert!(bytes.len() > 1000 && bytes[0] == 0x0a);
    assert!(text(&output.stdout).contains("idle"));
    std::fs::remove_file(target).expect("is there");
    let refused = run(&[
        "trace",
        &path("format_variants.txt"),
        "timeline",
        "--output",
        target,
    ]);
    assert_eq!(
        refused.status.code(),
        Some(2),
        "its clocks have no unit: {refused:?}"
    );
    let left: Vec<_> = std::fs::read_dir(folder.path())
        .expect("a folder")
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn runs_of_the_model_are_read_like_recorded_ones() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.txt");
    let file = file.to_str().expect("a name");
    let made = run(&[
        "sim",
        "churn",
        "--set",
        "rcu_nocbs=all",
        "--seconds",
        "2",
        "--trace",
        file,
        "-q",
    ]);
    assert!(made.status.success(), "{made:?}");
    for analysis in ANALYSES {
        let found = report(&run(&["trace", file, analysis, "--json"]));
        assert_eq!(
            found.options["about"]["doubts"].as_array().map(Vec::len),
            Some(1),
            "CPUs that wrote nothing: {:?}",
            found.options
        );
        assert!(found.rows.len() > 5, "{analysis}");
    }
}

/// A kernel was measured before and after `rcu_normal_wake_from_gp=1`, in one trace: what is predicted from
/// the first part is what the second part shows.
#[test]
fn a_remedy_of_waits_is_what_the_kernel_showed_with_it() {
    let file = path("s-sync-classic-8.txt.xz");
    let part = |from, to, more: &[&str]| {
        let window = [
            "trace", &file, "waits", "--from", from, "--to", to, "--json",
        ];
        report(&run(&[&window, more].concat()))
    };
    let before = part("1.6214", "2.1211", &["--remedies"]);
    let after = part("2.1213", "2.3292", &[]);
    let figure = |of: &quiescent_report::Report, case: &str, metric: &str| {
        let mut rows = of.rows.iter();
        let row = rows.find(|row| row.case == case && row.metric == metric);
        row.unwrap_or_else(|| panic!("no {case} {metric}")).median
    };
    let remedy = "remedy rcu_normal_wake_from_gp=1 normal";
    let predicted = figure(&before, remedy, "wait_ms_changed");
    let shown = figure(&after, "(all) normal", "wait_ms_avg");
    // The first waits after the change took twice as long as the others: 3 % of the mean.
    assert!(
        (predicted / shown - 1.0).abs() < 0.05,
        "{predicted} {shown}"
    );
    let recorded = figure(&before, "(all) normal", "wait_ms_avg");
    assert!(recorded > 2.0 * shown, "{recorded} {shown}");
    // Both ways to read the recorded waits agree.
    assert!((figure(&before, remedy, "wait_ms_recorded") - recorded).abs() < 0.001);
    let model = before.rows.iter().filter(|row| row.subject == "model");
    assert!(model.count() >= 4 * 6);
}

#[test]
fn waits_fit_on_a_narrow_screen() {
    let file = path("s-sync-classic-8.txt.xz");
    let printed = run(&["trace", &file, "waits", "--remedies"]);
    assert_eq!(printed.status.code(), Some(0));
    let printed = text(&printed.stdout);
    for part in ["Who waited", "recognised by", "last holdout", "saves %"] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    // The first line has the file's name.
    let wide = printed.lines().skip(1).find(|it| it.chars().count() > 100);
    assert_eq!(wide, None);
}

#[test]
fn what_a_replay_lived_through_is_read_like_the_recording() {
    let folder = tempfile::tempdir().expect("a folder");
    let written = folder.path().join("replayed.txt");
    let written = written.to_str().expect("a name");
    let file = path("classic-b-nocb-file100.txt.xz");
    let replay = ["sim", "replay", "--recorded", &file, "--trace", written];
    let said = text(&run(&replay).stdout);
    let window = ["--from", "2.127179s", "--to", "12.128176s"];
    assert!(
        said.contains(&format!("quiescent trace {written} gps --from 2127179")),
        "{said}"
    );
    let figure = |file: &str, metric: &str| {
        let all = [&["trace", file, "gps", "--json"], &window[..]].concat();
        report(&run(&all))
            .find("recorded", "start to end", metric)
            .expect("has it")
            .median
    };
    for metric in ["duration_us_p50", "n"] {
        let ratio = figure(written, metric) / figure(&file, metric);
        assert!((0.9..1.1).contains(&ratio), "{metric}: {ratio}");
    }
    // Neither the recording nor another file is replaced.
    for output in [&file, written] {
        let again = ["sim", "replay", "--recorded", &file, "--trace", output];
        assert_eq!(run(&again).status.code(), Some(2), "{output}");
    }
}

#[test]
fn views_for_the_trace_processor_are_printed_and_nothing_is_read() {
    let printed = run(&["trace", "--sql"]);
    assert_eq!(printed.status.code(), Some(0), "{printed:?}");
    let module = text(&printed.stdout);
    for view in ["wakeups", "gp", "callbacks", "wait"] {
        let view = format!("CREATE VIEW quiescent_{view} AS");
        assert!(module.contains(&view), "{view}");
    }
    nonsense(&[(&["trace", "--sql", "x", "idle"], "--sql")]);
}
