//! `--help-metrics`: a line for each metric that a command prints.

use crate::common::{nonsense, report, run, text};
use std::collections::BTreeSet;

/// Whether a name of the legend, which may end in `*`, means this metric.
fn means(name: &str, metric: &str) -> bool {
    match name.split_once('*') {
        Some((start, end)) => metric.starts_with(start) && metric.ends_with(end),
        None => name == metric,
    }
}

/// Fails for each metric of these runs that the command's legend lacks.
fn check(command: &str, runs: &[&str]) {
    let output = run(&[command, "--help-metrics"]);
    assert!(output.status.success(), "{output:?}");
    let legend = text(&output.stdout);
    let names: BTreeSet<&str> = legend
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split("  ").next())
        .collect();
    let mut metrics = BTreeSet::new();
    for arguments in runs {
        let words: Vec<&str> = [command].into_iter().chain(arguments.split(' ')).collect();
        let words = [&words[..], &["--json"]].concat();
        metrics.extend(report(&run(&words)).rows.into_iter().map(|row| row.metric));
    }
    let lacks = |metric: &&String| !names.iter().any(|name| means(name, metric));
    let lacking: Vec<_> = metrics.iter().filter(lacks).collect();
    assert!(
        !metrics.is_empty() && lacking.is_empty(),
        "{command} --help-metrics lacks {lacking:?}"
    );
}

fn recorded(name: &str) -> String {
    format!(
        "{}/../../data/traces/{name}.txt.xz",
        env!("CARGO_MANIFEST_DIR")
    )
}

#[test]
fn every_metric_of_a_trace_is_explained() {
    let (offloaded, waits) = (
        recorded("classic-b-nocb-file100"),
        recorded("s-sync-classic-8"),
    );
    let mut runs: Vec<String> = ["summary", "wakeups", "callbacks", "batches", "gps", "idle"]
        .map(|analysis| format!("{offloaded} {analysis}"))
        .into();
    runs.push(format!(
        "{waits} waits --remedies --from 1.6214 --to 2.1211"
    ));
    check(
        "trace",
        &runs.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    let replayed = format!("{waits} --set early_qs=init --from 1.6214 --to 2.1211");
    check("whatif", &[&replayed]);
}

#[test]
fn every_metric_of_a_simulated_machine_is_explained() {
    check(
        "sim",
        &[
            "sync --sweep early_qs=off,init",
            "churn --seconds 2 --set idle_table=alder-lake --set power=two-states --set rcu_nocbs=all",
            "idle-callbacks --seconds 2",
            "barrier --seconds 2",
            "srcu --seconds 2",
            "nohz-full --seconds 2",
            "display-pipeline --seconds 2",
        ],
    );
    check("torture", &["--sim --seeds 2"]);
}

#[test]
#[cfg(target_os = "linux")]
fn every_metric_of_a_watched_machine_and_of_a_benchmark_is_explained() {
    check("top", &["--sim local-video -n 1"]);
    check(
        "bench",
        &[
            "sync --rounds 1 --calls 10",
            "retire --rounds 1 --objects 20000 --rest-ms 10",
        ],
    );
}

#[test]
fn only_commands_that_measure_have_metrics() {
    nonsense(&[
        (&["man", "--help-metrics"], "and torture have metrics"),
        (&["--help-metrics"], "requires a subcommand"),
    ]);
}
