//! What the first screen of `sim` has: a choice of the report's rows. `--full` and `--json` have all.
//!
//! Shown are the figures by which settings are compared, those that only some workloads have, the threads of
//! RCU, and of the package its deepest state. Of many names those with the largest figures are shown.

use super::text::{self, POWER};
use quiescent_report::{Report, Row};

/// Names in a table.
const MOST_NAMES: usize = 5;

/// Figures of the whole machine that explain others and compare little.
const LEFT_OUT: &str = "grace_periods gp_duration_ms_p99 scans_per_gp one_scan_gp_pct busy_ticks_per_s \
     idle_entries_per_s softirqs_per_s interruption_us_max batches callbacks_per_batch \
     backlog_max held_bytes_mean delay_ms_p50 delay_ms_max credited_by_scan_pct \
     credited_by_own_report_pct credited_by_early_report_pct idle_looks_per_s idle_look_ticks_min \
     idle_look_ticks_max latency_us latency_us_min latency_us_pooled_mean latency_us_pooled_p99";

/// Can a part's table show this row of this name?
fn shows(part: &str, name: &str, metric: &str, deepest: &str) -> bool {
    match part {
        "" => !LEFT_OUT.split_whitespace().any(|it| it == metric),
        POWER => true,
        text::THREAD => {
            let is_one_of_a_group = name.contains('/') && !name.ends_with('*');
            name.starts_with("rcu") && !is_one_of_a_group && metric == "wakeups_per_s"
        }
        text::FUNCTION => metric == "delay_ms_mean",
        text::PACKAGE_STATE => {
            name == deepest && metric.ends_with("pct") && metric != "residency_pct"
        }
        text::KEPT_OUT => name.split(' ').next() == Some(deepest),
        text::WOKEN_BY => true,
        _ => false,
    }
}

/// The rows of the first screen, of variants with these cases.
pub fn rows<'a>(report: &'a Report, cases: &[&str]) -> Vec<&'a Row> {
    let state = |row: &Row| Some(row.case.split_once(text::PACKAGE_STATE)?.1.to_owned());
    let deepest = report.rows.iter().filter_map(state).next_back();
    let deepest = deepest.unwrap_or_default();
    let mut shown = Vec::new();
    for (part, _) in text::PARTS {
        let named = report.rows.iter().filter_map(|row| {
            let mut names = cases.iter().filter_map(|case| text::named(row, case, part));
            let name = names.next()?;
            shows(part, name, &row.metric, &deepest).then_some((name, row))
        });
        let named: Vec<(&str, &Row)> = named.collect();
        let largest = largest(&named);
        let of_largest = named.iter().filter(|(name, _)| largest.contains(name));
        if part != text::FUNCTION || largest.len() > 1 {
            shown.extend(of_largest.map(|(_, row)| *row));
        }
    }
    shown
}

/// The names with the largest figures.
fn largest<'a>(named: &[(&'a str, &Row)]) -> Vec<&'a str> {
    let mut all: Vec<(&str, f64)> = Vec::new();
    for (name, row) in named {
        match all.iter_mut().find(|it| it.0 == *name) {
            Some((_, largest)) => *largest = largest.max(row.max),
            None => all.push((name, row.max)),
        }
    }
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all.into_iter().take(MOST_NAMES).map(|it| it.0).collect()
}
