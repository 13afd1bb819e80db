//! The page of `whatif`: the table, what makes it doubtful, wake-ups by thread and the lengths of grace periods as charts.

use super::list;
use crate::whatif::{Answer, HEAD, cells};
use quiescent_page::chart::{Axis, Bar, Bars, Panel, Point, Points, Row, Series, Tone};
use quiescent_page::document::Document;
use quiescent_page::table::{Cell, Table};
use quiescent_page::{Markup, html};
use quiescent_sim::whatif::Line;

/// What the page says made it.
pub(super) const GENERATOR: &str = "quiescent whatif";

/// The three columns, and their colours.
const COLUMNS: [(&str, Tone); 3] = [
    ("recorded", Tone::Real),
    ("model as recorded", Tone::Model),
    ("model with change", Tone::Ours),
];

/// The page.
pub fn render(answer: &Answer, command_line: &str) -> String {
    let fits = answer.misfits().next().is_none();
    let body = html! {
        header {
            h1 { "quiescent: what if" }
            p class="soft" { (answer.about()) "." }
            @if !fits {
                p class="alarm" role="note" {
                    strong { "The model does not fit this trace: " }
                    "more than 15 % off in what decides. Do not trust the change."
                }
            }
            dl class="facts" {
                dt { "Asked" } dd { code { (command_line) } }
                dt { "As recorded" } dd {
                    @for (key, value, from) in answer.settings() { code { (key) "=" (value) } " (" (from) ") " }
                }
                dt { "Change" } dd {
                    @for (key, before, after) in answer.differences() { code { (key) "=" (after) } " (was " (before) ") " }
                }
            }
        }
        section id="figures" {
            h2 { "Figures" }
            (table(answer))
            p class="soft" {
                "Ratio: the model as recorded over what was recorded; the first three lines decide whether the model fits. By placement: the least and \
                 the most of the model with the change, wherever a scheduler has the grace-period thread run. Fitted: chosen because it fits."
            }
            (list(&answer.doubts))
        }
        section id="charts" {
            h2 { "Charts" }
            (rates(answer))
            (gps(answer))
        }
    };
    Document::new("quiescent: what if", GENERATOR).render(body)
}

fn table(answer: &Answer) -> Markup {
    let mut table = Table::new("Recorded, modelled, changed", &HEAD, 1);
    for line in &answer.lines {
        let cells = cells(line);
        let misfits = line.decides && line.misfits();
        let cell = |(index, text): (usize, &String)| match index {
            3 if misfits => Cell::bad(text.as_str()),
            3 if line.decides && line.ratio().is_some() => Cell::good(text.as_str()),
            6 => Cell::faint(text.as_str()),
            _ => Cell::from(text.as_str()),
        };
        table.row(cells.iter().enumerate().map(cell).collect::<Vec<Cell>>());
    }
    table.render()
}

/// Wake-ups, grace periods, ticks and idle entries: three bars each.
fn rates(answer: &Answer) -> Markup {
    let row = |line: &Line| {
        let figures = [line.recorded, Some(line.modelled), Some(line.changed)];
        let ranges = [None, None, line.spread];
        let all = figures.into_iter().zip(ranges).zip(COLUMNS);
        let bar =
            |((value, range), (_, tone)): ((Option<f64>, Option<(f64, f64)>), (&str, Tone))| {
                let value = value?;
                Some(Bar { tone, value, range })
            };
        Row {
            name: line
                .metric
                .trim_end_matches("_per_s")
                .replace("_per_s ", " "),
            bars: all.filter_map(bar).collect(),
        }
    };
    let rows = answer.lines.iter().filter(|it| it.unit == "1/s").map(row);
    let bars = Bars {
        title: "How often, before and after".into(),
        about: "a line across a bar: the least and the most, wherever a scheduler has the grace-period thread run".into(),
        unit: "1/s".into(),
        linear: false,
        legend: COLUMNS.map(|(name, tone)| (tone, name.to_string())).to_vec(),
        panels: vec![Panel::new("", rows.collect())],
    };
    bars.render()
}

/// The lengths of grace periods, from the shortest to the longest.
fn gps(answer: &Answer) -> Markup {
    let series = |(all, (name, tone)): (&Vec<f64>, (&str, Tone))| {
        let at = |percent: usize| all.get((all.len() * percent / 100).min(all.len() - 1));
        let point = |percent: usize| {
            Some(Point {
                name: format!("{name}, {percent} %"),
                x: percent as f64,
                y: *at(percent)?,
            })
        };
        let steps = if all.is_empty() { 0 } else { 21 };
        Series {
            name: name.into(),
            tone,
            joined: true,
            points: (0..steps).filter_map(|step| point(5 * step)).collect(),
        }
    };
    let points = Points {
        title: "How long grace periods take".into(),
        about: "so many per cent of them take at most so long".into(),
        x: Axis::new("share of grace periods", "%"),
        y: Axis::new("length", "ms"),
        guide: None,
        series: answer.gps.iter().zip(COLUMNS).map(series).collect(),
    };
    points.render()
}
