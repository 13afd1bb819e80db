//! The page of HTML of any report: what the command prints, its figures with bars, its options, every row.
//!
//! No command is known here: the rows of a report decide what its page shows, so a new command needs no
//! change here. A page is one file: it loads nothing, needs no script, has its one style sheet in it, and
//! follows the reader's light or dark setting. It names the program that made it, so that a program can
//! distinguish a page of its own from another file ([`is_ours`]). A run that was stopped has a page, too, and
//! its head says so.

mod families;
mod html;

use self::families::families;
use self::html::{Cell, Table, escaped};
use crate::text::number::figure;
use crate::{Occasion, Report};
use serde_json::Value;
use std::time::Duration;

const STYLE: &str = include_str!("style.css");

/// Every page names this program, before the command that made it.
const PROGRAM: &str = "quiescent ";

/// Is the file a page of this program, which may be overwritten?
pub fn is_ours(text: &str) -> bool {
    let head = text.split_once("<title>").map_or("", |(head, _)| head);
    head.contains(&format!("<meta name=\"generator\" content=\"{PROGRAM}"))
}

/// The page of a report. `about` is a sentence about the command, and `text` what it prints.
///
/// ```
/// use quiescent_report::{Occasion, Report, Row, pages};
///
/// let mut report = Report::new("bench read", 1);
/// report.rows.push(Row::of("<theirs>", "empty", "cpu_ns", "ns/pair", &[1.4, 1.3, 1.9]).unwrap());
/// let occasion = Occasion {
///     began: std::time::UNIX_EPOCH,
///     elapsed: std::time::Duration::from_secs(1),
///     command_line: "quiescent bench read".into(),
///     version: "1".into(),
///     stopped: false,
/// };
/// let page = pages::page(&report, "the cost of a pair", "a pair: 1.4 ns", &occasion);
/// assert!(pages::is_ours(&page) && page.contains("<td>&lt;theirs&gt;</td>"));
/// ```
pub fn page(report: &Report, about: &str, text: &str, occasion: &Occasion) -> String {
    let name = escaped(&format!("{PROGRAM}{}", report.command));
    let figures: String = families(report).iter().map(|it| it.render()).collect();
    let printed = format!("<pre>{}</pre>", html::lines(text.trim_matches('\n')));
    let sections = [
        ("result", "Result", html::scrolled("Result", &printed)),
        ("figures", "Figures", figures),
        ("options", "Options in force", options(report)),
        ("rows", "All figures", rows(report)),
    ];
    let sections = || sections.iter().filter(|it| !it.2.is_empty());
    let links: String = sections()
        .map(|(id, title, _)| format!("<li><a href=\"#{id}\">{title}</a></li>"))
        .collect();
    let bodies: String = sections()
        .map(|(id, title, body)| format!("<section id=\"{id}\"><h2>{title}</h2>{body}</section>"))
        .collect();
    format!(
        "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"generator\" content=\"{name}\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><title>{name}</title>\
         <style>{STYLE}</style></head>\
         <body><main><header><h1>{name}</h1><p class=\"soft\">{}</p>{}{}\
         <nav aria-label=\"Sections\"><ul>{links}</ul></nav></header>{bodies}</main></body></html>",
        escaped(about),
        alarm(occasion),
        facts(report, occasion),
    )
}

/// The text about a run that was stopped.
fn alarm(occasion: &Occasion) -> &'static str {
    match occasion.stopped {
        true => {
            "<p class=\"alarm\" role=\"note\"><strong>Incomplete: </strong>the run was stopped. Figures that \
             are missing here were not measured.</p>"
        }
        false => "",
    }
}

/// Time, command and place; the machine and its kernel.
fn facts(report: &Report, occasion: &Occasion) -> String {
    let began = humantime::format_rfc3339_seconds(occasion.began).to_string();
    let began = began.replace('T', " ").replace('Z', " UTC");
    let digits = match occasion.elapsed < Duration::from_secs(10) {
        true => 100,
        false => 1000,
    };
    let took = occasion.elapsed.as_millis() as u64 / digits * digits;
    let took = humantime::format_duration(Duration::from_millis(took));
    let mut facts = vec![
        ("Measured", escaped(&format!("{began}, took {took}"))),
        (
            "Again",
            format!("<code>{}</code>", escaped(&occasion.again(report.seed))),
        ),
        ("Version", escaped(&occasion.version)),
        ("Seed", report.seed.to_string()),
        ("Machine", escaped(&report.host.line())),
    ];
    // The build is in the machine's line.
    let more = report.host.more.iter().filter(|it| it.0 != "build");
    facts.extend(more.filter_map(|(name, value)| Some((name.as_str(), escaped(&short(value)?)))));
    let facts = facts.iter().map(|(name, value)| {
        let name = escaped(name);
        format!("<dt>{name}</dt><dd>{value}</dd>")
    });
    format!("<dl class=\"facts\">{}</dl>", facts.collect::<String>())
}

/// A value that is a word, a number, or a list of these; none of what has parts of its own, which is in the
/// JSON.
fn short(value: &Value) -> Option<String> {
    match value {
        Value::Null | Value::Object(_) => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(all) => {
            let all: Option<Vec<String>> = all.iter().map(short).collect();
            all.map(|all| all.join(", "))
        }
        other => Some(other.to_string()),
    }
}

fn options(report: &Report) -> String {
    let mut table = Table::new("Options in force", &["option", "value"]);
    for (name, value) in &report.options {
        if let Some(value) = short(value) {
            table.row([Cell::words(name), Cell::words(&value)]);
        }
    }
    table.folded("options, given or not")
}

/// Every row of the report, as in `--json`.
fn rows(report: &Report) -> String {
    let head = [
        "subject", "case", "metric", "unit", "samples", "median", "smallest", "largest",
    ];
    let mut table = Table::new("All figures", &head);
    for row in &report.rows {
        let words = [&row.subject, &row.case, &row.metric, &row.unit].map(|it| Cell::words(it));
        let figures = [row.median, row.min, row.max].map(|it| Cell::figure(figure(it)));
        let samples = Cell::figure(row.n.to_string());
        table.row(words.into_iter().chain([samples]).chain(figures));
    }
    table.folded("rows")
}

#[cfg(test)]
mod tests;
