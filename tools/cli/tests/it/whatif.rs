//! `whatif`: three columns from a trace, as text, JSON and a page; what is refused, and the exit codes.

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
    assert_eq!(report.options["fitted"], serde_json::json!(["idle_loop"]));
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
        "How long grace periods take",
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
            "1..=1000",
        ),
    ]);
}
