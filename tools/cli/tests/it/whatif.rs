//! `whatif`: three columns from a trace, as text, JSON and a page; what is refused, and the exit codes. What
//! it has in common with the other commands that read a trace: `sim replay`, `trace`.

use crate::common::{nonsense, report, run, text};
use std::fs;

const TRACE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../data/traces/a-softirq-file100-cut.txt.xz"
);

#[test]
fn a_trace_as_recorded_and_with_a_change() {
    let output = run(&[
        "whatif",
        TRACE,
        "--set",
        "rcu=offload",
        "--as",
        "smp=serial",
        "--json",
    ]);
    let report = report(&output);
    let of =
        |subject: &str, metric: &str| report.find(subject, "whatif", metric).map(|it| it.median);
    let (real, model) = (
        of("recorded", "wakeups_per_s"),
        of("model", "wakeups_per_s"),
    );
    assert!((model.unwrap() / real.unwrap() - 1.0).abs() < 0.15);
    assert_eq!(of("recorded", "wakeups_per_s rcuog"), None, "it has none");
    assert!(of("changed", "wakeups_per_s rcuog").unwrap() > 50.0);
    assert_eq!(report.options["fits"], true);
    assert_eq!(report.options["fitted"], serde_json::json!([]));
    let seen = report.options["told_by_the_trace"].as_array().unwrap();
    assert!(seen.contains(&"idle_loop".into()), "{seen:?}");
    assert_eq!(report.options["changed_machine"]["rcu_nocbs"], "all");
}

#[test]
fn a_page_is_written_and_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let name = page.to_str().unwrap();
    for option in ["--html", "--output"] {
        let output = run(&["whatif", TRACE, "--set", "early_qs=init", option, name]);
        assert!(output.status.success(), "{output:?}");
        assert!(text(&output.stderr).contains("page.html"), "{output:?}");
        assert!(text(&output.stdout).contains("model with change"));
    }
    let page = fs::read_to_string(page).unwrap();
    let body = page.find("<body>").unwrap()..page.find("</html>").unwrap();
    roxmltree::Document::parse(&page[body]).unwrap();
    for words in [
        "quiescent whatif",
        "prefers-color-scheme: dark",
        "model with change",
    ] {
        assert!(page.contains(words), "no `{words}`");
    }
    assert!(!page.contains("NaN") && !page.contains("src=") && !page.contains("<script"));
}

#[test]
fn a_model_that_does_not_fit_is_a_finding() {
    let output = run(&[
        "whatif",
        TRACE,
        "--as",
        "jiffies_till_first_fqs=60",
        "--as",
        "idle_loop=classic",
        "--set",
        "early_qs=init",
    ]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = text(&output.stdout);
    assert!(
        said.contains("Do not trust the change") && said.contains("--as"),
        "{said}"
    );
}

#[test]
fn requests_that_make_no_sense() {
    nonsense(&[
        (&["whatif", TRACE], "--set"),
        (&["whatif", TRACE, "--set", "cpus=4"], "leave it out"),
        (&["whatif", TRACE, "--set", "early_gs=init"], "did you mean"),
        (
            &["whatif", TRACE, "--set", "early_qs=off"],
            "was recorded under",
        ),
        (
            &["whatif", TRACE, "--set", "rcu=lazy", "--from", "-2"],
            "give seconds",
        ),
        (
            &["whatif", TRACE, "--set", "rcu=lazy", "--repeat", "x"],
            "give 1 to 1000 replays",
        ),
        (
            &["whatif", TRACE, "--set", "rcu=lazy", "--hz", "-1"],
            "give 1 to 10000 ticks",
        ),
        (
            &["whatif", TRACE, "--set", "rcu=lazy", "--from", "2"],
            "give both --from and --to",
        ),
        (
            &[
                "whatif", TRACE, "--set", "rcu=lazy", "--from", "3", "--to", "2",
            ],
            "the interval is empty",
        ),
        (
            &["whatif", "missing.txt", "--set", "rcu=lazy"],
            "give a file",
        ),
        (
            &[
                "whatif", TRACE, "--set", "rcu=lazy", "--json", "--html", "-",
            ],
            "name a file for the page",
        ),
        (
            &[
                "whatif",
                TRACE,
                "--set",
                "rcu=lazy",
                "--html",
                "missing/page.html",
            ],
            "a folder that exists",
        ),
        (
            &["whatif", TRACE, "--set", "rcu=lazy", "--repeat", "0"],
            "give 1 to 1000 replays",
        ),
    ]);
}

/// The trace, unpacked, with lines put in after so many of its lines; `NOW` is the time of the line before.
fn spoiled(folder: &std::path::Path, name: &str, after: usize, lines: &str) -> String {
    use std::io::Read;
    let mut text = String::new();
    let mut trace = lzma_rust2::XzReader::new(fs::File::open(TRACE).unwrap(), true);
    trace.read_to_string(&mut text).unwrap();
    let mut all: Vec<&str> = text.lines().collect();
    let time = |it: &&str| {
        it.strip_suffix(':')
            .is_some_and(|it| it.parse::<f64>().is_ok())
    };
    let now = all[after - 1].split_whitespace().find(time).unwrap();
    let lines = lines.replace("NOW:", now);
    all.splice(after..after, lines.lines());
    let path = folder.join(name);
    fs::write(&path, all.join("\n") + "\n").unwrap();
    path.to_str().unwrap().to_owned()
}

/// The commands that read a trace, with this one.
fn readers(file: &str) -> [Vec<String>; 3] {
    let replay = format!("trace={file}");
    [
        vec!["trace", file, "gps"],
        vec!["sim", "replay", "--set", &replay],
        vec!["whatif", file, "--set", "early_qs=init"],
    ]
    .map(|it| it.into_iter().map(str::to_owned).collect())
}

#[test]
fn damage_is_reported_alike_by_all_that_read_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let cut = "<idle>-0 [000] d..1. NOW: rcu_grace_period: rcu_preempt\n";
    let file = spoiled(
        folder.path(),
        "cut.txt",
        9000,
        &format!("broken\nalso broken\n{cut}"),
    );
    for command in readers(&file) {
        let arguments: Vec<&str> = command.iter().map(String::as_str).collect();
        let output = run(&arguments);
        assert_eq!(output.status.code(), Some(1), "{command:?}: {output:?}");
        let said = text(&output.stdout);
        for words in [
            "warning: 2 lines could not be read, first line 9001:",
            "warning: 1 events had a field that could not be read, first line 9003:",
        ] {
            assert!(said.contains(words), "{command:?}: no `{words}` in {said}");
        }
    }
}

#[test]
fn traces_out_of_order_or_without_a_window_are_errors_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let late = "<idle>-0 [000] d..1. 0.5: cpu_idle: state=1 cpu_id=0\n";
    let later = late.replace("0.5", "0.6");
    let clocks = (late.to_owned() + &later).repeat(2000);
    let order = spoiled(folder.path(), "order.txt", 9000, &clocks);
    // A few may be in the names of tasks: they are counted.
    let few = spoiled(folder.path(), "few.txt", 9000, late);
    for command in readers(&few) {
        let arguments: Vec<&str> = command.iter().map(String::as_str).collect();
        let output = run(&arguments);
        assert_eq!(output.status.code(), Some(1), "{command:?}: {output:?}");
        let said = unfolded(&output.stdout);
        let words = "first line 9001: its time is earlier";
        assert!(said.contains(words), "{command:?}: {said}");
    }
    let empty = folder.path().join("empty.txt");
    fs::write(&empty, "# tracer: nop\n").unwrap();
    let empty = empty.to_str().unwrap();
    for (file, place, remedy) in [
        (order.as_str(), "order.txt: line 9001: ", "trace_clock mono"),
        (
            empty,
            "empty.txt: the trace has no record in its 1 lines",
            "give",
        ),
    ] {
        for command in readers(file) {
            let arguments: Vec<&str> = command.iter().map(String::as_str).collect();
            nonsense(&[(&arguments, place), (&arguments, remedy)]);
        }
    }
}

/// What was printed, in one line.
fn unfolded(printed: &[u8]) -> String {
    let words: Vec<String> = text(printed).split_whitespace().map(String::from).collect();
    words.join(" ")
}

#[test]
fn a_script_that_waits_less_is_measured_until_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sync.txt");
    let file = path.to_str().unwrap();
    let made = run(&["sim", "sync", "--trace", file]);
    assert!(made.status.success(), "{made:?}");
    let output = run(&["whatif", file, "--set", "rcu_expedited=1"]);
    let said = unfolded(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("the run takes: "), "{said}");
    let json = report(&run(&[
        "whatif",
        file,
        "--set",
        "rcu_expedited=1",
        "--json",
    ]));
    let took = json.options["took_s"].as_array().unwrap();
    let [before, after] = [0, 1].map(|it| took[it].as_f64().unwrap());
    assert!(after < before, "{before} {after}");
}

#[test]
fn a_replay_takes_what_the_trace_tells_and_says_so() {
    let trace = concat!(
        "trace=",
        env!("CARGO_MANIFEST_DIR"),
        "/../../data/traces/classic-d-nocb-j32-file100.txt.xz"
    );
    let output = run(&["sim", "replay", "--set", trace]);
    assert!(output.status.success(), "{output:?}");
    let said = unfolded(&output.stdout);
    for words in [
        "jiffies_till_first_fqs=32 (trace)",
        "rcu_nocbs=all (trace)",
        "smp=serial (trace)",
        "idle_loop=classic (trace)",
    ] {
        assert!(said.contains(words), "no `{words}` in {said}");
    }
    let given = run(&[
        "sim",
        "replay",
        "--set",
        trace,
        "--set",
        "jiffies_till_first_fqs=8",
    ]);
    assert!(unfolded(&given.stdout).contains("jiffies_till_first_fqs=8 (given)"));
}

#[test]
fn a_replay_has_the_waits_of_the_trace() {
    let trace = concat!(
        "trace=",
        env!("CARGO_MANIFEST_DIR"),
        "/../../data/traces/s-sync-classic-8.txt.xz"
    );
    let output = run(&["sim", "replay", "--set", trace, "--json"]);
    let report = report(&output);
    let of = |subject, metric| report.find(subject, "replay", metric).expect(metric).median;
    // Two settings change in it, and the model changes with them.
    for metric in [
        "synchronize_ms_mean",
        "grace_periods_per_s",
        "idle_ticks_per_s",
    ] {
        let ratio = of("model", metric) / of("recorded", metric);
        assert!((0.95..1.05).contains(&ratio), "{metric}: {ratio}");
    }
}
