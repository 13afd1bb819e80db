//! The page of a `bench` command, from its report alone: [`families`] shows the measured figures.

use super::families::{families, is_target, noise};
use super::{head, rows};
use crate::html::layout::{Count, Head, News, Section, prose};
use crate::html::table::{Cell, Table};
use crate::html::{Markup, html};
use crate::text::number::figure;
use crate::{OURS, Occasion, Report, Row};
use serde_json::Value;

/// Options that are shown elsewhere on the page.
const PLACED: [&str; 3] = ["method", "targets", "stopped"];

/// The page of a report's figures. `about` is a sentence about what the command measures.
pub fn measured(report: &Report, about: &str, occasion: &Occasion) -> String {
    let title = format!("quiescent {}", report.command);
    let head = Head {
        title: title.clone(),
        lead: Some(lead(report, about)),
        alarm: head::alarm(occasion),
        counts: counts(report),
        facts: head::facts(report, occasion),
    };
    let sections = vec![
        Section::new("targets", "Targets", targets(report)),
        Section::new("figures", "Figures", figures(report)),
        Section::new("absent", "Not in this build", absent(report)),
        Section::new("options", "Options in force", options(report, &PLACED)),
        Section::new("rows", "All figures", rows::body(report)),
    ];
    super::page(title, super::BENCH, head, sections)
}

fn lead(report: &Report, about: &str) -> Markup {
    html! {
        (prose(about)) ". "
        @if let Some(Value::String(method)) = report.options.get("method") { "How: " (method) "." }
    }
}

fn counts(report: &Report) -> Vec<Count> {
    let met: Vec<bool> = verdicts(report).iter().map(|it| it.met).collect();
    let kept = met.iter().filter(|it| **it).count();
    let mut counts = Vec::new();
    if !met.is_empty() {
        counts.push(Count::of(News::Good, kept, "targets met"));
        counts.push(Count::of(News::Bad, met.len() - kept, "targets not met"));
    }
    let figures = || report.rows.iter().filter(|it| !is_target(it));
    let mut peers: Vec<&str> = figures().map(|it| it.subject.as_str()).collect();
    peers.retain(|it| *it != OURS);
    peers.sort_unstable();
    peers.dedup();
    counts.push(Count::of(News::None, figures().count(), "figures"));
    if !peers.is_empty() {
        counts.push(Count::of(
            News::None,
            peers.len(),
            "others measured in turn with quiescent",
        ));
    }
    let mut ranges: Vec<f64> = figures().filter_map(noise).collect();
    ranges.sort_by(f64::total_cmp);
    if let Some(typical) = ranges.get(ranges.len() / 2) {
        let share = format!("{:.0} %", 100.0 * typical);
        let what = "of a figure is the typical range of its rounds: this run's noise";
        counts.push(Count::text(News::None, share, what));
    }
    counts
}

/// A target and its result.
struct Verdict {
    what: String,
    met: bool,
    measured: Option<f64>,
    bound: Option<f64>,
    ratio: Option<f64>,
}

/// From the list that some reports have; without one, from the rows.
fn verdicts(report: &Report) -> Vec<Verdict> {
    let ratio = |what: &str| {
        let case = format!("target: {what}");
        let row = report
            .rows
            .iter()
            .find(|it| is_target(it) && it.case == case);
        row.map(|it| it.median)
    };
    if let Some(Value::Array(all)) = report.options.get("targets") {
        let known = all.iter().filter_map(|it| {
            let what = it.get("what")?.as_str()?;
            Some(Verdict {
                what: what.into(),
                met: it.get("met")?.as_bool()?,
                measured: it.get("measured").and_then(Value::as_f64),
                bound: it.get("bound").and_then(Value::as_f64),
                ratio: ratio(what),
            })
        });
        return known.collect();
    }
    let rows = report.rows.iter().filter(|it| is_target(it));
    let of = |it: &Row| Verdict {
        what: it.case.trim_start_matches("target: ").into(),
        met: it.median <= 1.0,
        measured: None,
        bound: None,
        ratio: Some(it.median),
    };
    rows.map(of).collect()
}

fn targets(report: &Report) -> Option<Markup> {
    let all = verdicts(report);
    let full = all.iter().any(|it| it.measured.is_some());
    let head: &[&str] = match full {
        true => &["met?", "target", "of the bound", "measured", "bound"],
        false => &["met?", "target", "of the bound"],
    };
    let mut table = Table::new("Targets", head, 2);
    for it in &all {
        let or_dash = |value: Option<f64>| Cell::from(value.map_or("-".into(), figure));
        let met = if it.met {
            Cell::good("yes")
        } else {
            Cell::bad("NO")
        };
        let figures = [it.ratio, it.measured, it.bound].map(or_dash);
        table.row(
            [met, Cell::from(it.what.clone())]
                .into_iter()
                .chain(figures)
                .take(head.len()),
        );
    }
    (!table.is_empty()).then(|| {
        html! {
            p class="soft" {
                "A target is met at 1 of the bound or less. A target not met is reported; the command does \
                 not fail."
            }
            (table.render())
        }
    })
}

fn figures(report: &Report) -> Option<Markup> {
    let all = families(report);
    Some(html! {
        @for family in &all { (family.render()) }
        @if all.is_empty() { p class="empty" { "Nothing was measured." } }
    })
}

/// Requested subjects that are missing, with the remedy.
fn absent(report: &Report) -> Option<Markup> {
    let Some(Value::Object(absent)) = report.host.more.get("absent_peers") else {
        return None;
    };
    let mut table = Table::new("Not in this build", &["subject", "remedy"], 2);
    for (name, remedy) in absent {
        table.row([name.as_str(), remedy.as_str().unwrap_or("?")]);
    }
    (!table.is_empty()).then(|| table.render())
}

/// Every option, except those that the page shows elsewhere.
pub(super) fn options(report: &Report, placed: &[&str]) -> Option<Markup> {
    let mut table = Table::new("Options in force", &["option", "value"], 2);
    for (name, value) in &report.options {
        let text = match value {
            _ if placed.contains(&name.as_str()) => continue,
            Value::Null => continue,
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        table.row([name.clone(), text]);
    }
    (!table.is_empty()).then(|| table.folded(&format!("{} options, given or not", table.len())))
}
