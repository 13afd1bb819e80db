//! The figures of any report by families: a metric and its percentiles, with a chart and a table each.
//!
//! No command is known here. A family is a metric with its unit; its chart has a panel for each case and in
//! it a bar for each subject, in the report's order, so that a subject is always at the same place; each bar
//! has its ratio to this project's figure. Where only one subject was measured the cases are the bars. The
//! table has each figure with the range of its samples, which is the noise: a ratio between figures whose
//! ranges overlap is marked with `~`, in the chart and in the table.

use super::metrics::{self, Better, Words, stem, which};
use super::{bar, panels_by_case};
use crate::html::chart::{self, Bars, Panel, Tone};
use crate::html::table::{Cell, Table};
use crate::html::{Markup, html};
use crate::rows::{MEBIBYTE, MILLION};
use crate::text::number::figure;
use crate::{OURS, Report, Row};

/// From this share of the figure on, the range counts as noise.
const NOISY: f64 = 0.5;

/// A metric with its unit, and the rows of its family.
pub(super) struct Family<'a> {
    stem: &'a str,
    unit: &'a str,
    /// The rows of the metric that a chart shows: the first.
    main: Vec<&'a Row>,
    /// The other metrics, each with its rows.
    others: Vec<(&'a str, Vec<&'a Row>)>,
}

/// The families of a report, in the order in which they appear.
pub(super) fn families(report: &Report) -> Vec<Family<'_>> {
    let mut all: Vec<Family<'_>> = Vec::new();
    for row in report.rows.iter().filter(|it| !is_target(it)) {
        let of = stem(&row.metric);
        let index = all
            .iter()
            .position(|it| it.stem == of && it.unit == row.unit);
        let index = index.unwrap_or_else(|| {
            all.push(Family {
                stem: of,
                unit: &row.unit,
                main: Vec::new(),
                others: Vec::new(),
            });
            all.len() - 1
        });
        all[index].add(row);
    }
    all
}

/// Does the row hold the ratio to a target, and not a figure?
pub(super) fn is_target(row: &Row) -> bool {
    row.metric == "ratio" && row.unit == "of the bound"
}

/// The width of the range of the samples, as a share of the figure; `None` for one sample, or for 0.
pub(super) fn noise(row: &Row) -> Option<f64> {
    (row.n > 1 && row.median > 0.0).then(|| (row.max - row.min) / row.median)
}

/// The unit as it is shown, and the number of the rows' units in it.
struct Shown {
    unit: String,
    scale: f64,
}

fn shown(unit: &str, most: f64) -> Shown {
    let (unit, scale) = match unit {
        "bytes" if most >= MEBIBYTE => ("MiB".into(), MEBIBYTE),
        rate if rate.ends_with("/s") && most >= MILLION => (format!("million {rate}"), MILLION),
        other => (other.to_string(), 1.0),
    };
    Shown { unit, scale }
}

/// Cases that belong to another one, such as a thread's part of it: in the table only.
fn is_detail(case: &str) -> bool {
    case.contains(", thread ")
}

impl<'a> Family<'a> {
    fn add(&mut self, row: &'a Row) {
        let is_main = self.main.first().is_none_or(|it| it.metric == row.metric);
        if is_main {
            self.main.push(row);
            return;
        }
        match self.others.iter_mut().find(|it| it.0 == row.metric) {
            Some((_, rows)) => rows.push(row),
            None => self.others.push((&row.metric, vec![row])),
        }
    }

    /// Heading, chart and table.
    pub(super) fn render(&self) -> Markup {
        let words = metrics::words(self.stem);
        let most = self.main.iter().fold(0.0, |most: f64, it| most.max(it.max));
        let shown = shown(self.unit, most);
        let title = match words.title.to_lowercase().contains(&shown.unit) {
            true => words.title.clone(),
            false => format!("{}, {}", words.title, shown.unit),
        };
        let table = self.table(&title, &shown);
        let drawn: Vec<&Row> = self
            .main
            .iter()
            .copied()
            .filter(|it| !is_detail(&it.case))
            .collect();
        // One bar compares nothing, nor do bars without a length.
        if drawn.len() < 2 || drawn.iter().all(|it| it.median == 0.0) {
            return html! { h3 { (title) } p class="soft" { (words.about) } (table.render()) };
        }
        let bars = Bars {
            title: title.clone(),
            about: self.about(&words),
            unit: shown.unit.clone(),
            // As in `reproduce`: on a logarithmic scale a tiny figure would take most of the axis.
            linear: self.unit == "ns/pair",
            legend: Vec::new(),
            panels: panels(&drawn, shown.scale),
        };
        html! { h3.unseen { (title) } (bars.render_beside(Tone::Ours, &table)) }
    }

    /// The description of the bars.
    fn about(&self, words: &Words) -> String {
        let mut parts: Vec<String> = vec![words.about.into()];
        let metric = &self.main[0].metric;
        if metric != self.stem {
            parts.push(format!("shown is the {}", which(metric, self.stem)));
        }
        let most = self.main.iter().map(|it| it.n).max().unwrap_or(1);
        if most > 1 {
            parts.push(format!(
                "bars are medians of {most} rounds, thin lines their ranges"
            ));
        }
        if self.compares() {
            parts.push(format!(
                "× is how many times {OURS}, ~ where the ranges overlap"
            ));
        }
        parts.push(match words.better {
            Better::Less => "shorter is better".into(),
            Better::More => "longer is better".into(),
            Better::Neither => String::new(),
        });
        parts.retain(|it| !it.is_empty());
        parts.join("; ")
    }

    /// Does a case of quiescent have another subject?
    fn compares(&self) -> bool {
        let ours = self.main.iter().filter(|it| it.subject == OURS);
        let others = || self.main.iter().filter(|it| it.subject != OURS);
        ours.into_iter()
            .any(|it| others().any(|other| other.case == it.case))
    }

    fn table(&self, title: &str, shown: &Shown) -> Table {
        let ranges = self.main.iter().any(|it| it.n > 1);
        let compares = self.compares();
        let main = match (which(&self.main[0].metric, self.stem), ranges) {
            ("figure", true) => "median",
            (which, _) => which,
        };
        let mut head = vec!["case", "subject", main];
        if ranges {
            head.extend(["smallest", "largest", "range"]);
        }
        if compares {
            head.push("times ours");
        }
        head.extend(
            self.others
                .iter()
                .map(|(metric, _)| which(metric, self.stem)),
        );
        let mut table = Table::new(title, &head, 2);
        for row in by_case(&self.main) {
            let mut cells = vec![Cell::from(row.case.clone()), row.subject.clone().into()];
            let value = |of: f64| Cell::from(figure(of / shown.scale));
            cells.push(value(row.median));
            if ranges {
                cells.extend([value(row.min), value(row.max), range(row)]);
            }
            if compares {
                cells.push(self.times(row).unwrap_or_default().into());
            }
            for (_, rows) in &self.others {
                let same = rows
                    .iter()
                    .find(|it| it.case == row.case && it.subject == row.subject);
                cells.push(same.map_or(Cell::faint("-"), |it| value(it.median)));
            }
            table.row(cells);
        }
        table
    }

    /// The ratio to this project's figure; none for that figure itself.
    fn times(&self, row: &Row) -> Option<String> {
        let ours = |it: &&&Row| it.subject == OURS && it.case == row.case;
        let ours = self.main.iter().find(ours)?;
        let other = (row.subject != OURS).then(|| bar(row, 1.0));
        other?.times(&bar(ours, 1.0))
    }
}

/// Rows by case, and in the report's order within a case.
fn by_case<'a>(rows: &[&'a Row]) -> Vec<&'a Row> {
    let mut cases: Vec<&str> = Vec::new();
    for row in rows {
        if !cases.contains(&row.case.as_str()) {
            cases.push(&row.case);
        }
    }
    let of = |case: &&str| {
        rows.iter()
            .copied()
            .filter(|it| it.case == *case)
            .collect::<Vec<_>>()
    };
    cases.iter().flat_map(of).collect()
}

/// A panel for each case; for a single subject, one for all cases.
fn panels(rows: &[&Row], scale: f64) -> Vec<Panel> {
    let row = |name: &str, it: &Row| chart::Row {
        name: name.into(),
        bars: vec![bar(it, scale)],
    };
    let alone = rows.iter().all(|it| it.subject == rows[0].subject);
    if alone {
        let bars = rows.iter().map(|it| row(&it.case, it)).collect();
        return vec![Panel::new("", bars)];
    }
    panels_by_case(rows.iter().copied(), scale)
}

/// The width of a range, as a share of its figure.
fn range(row: &Row) -> Cell {
    match noise(row) {
        None => Cell::faint("-"),
        Some(share) if share >= NOISY => Cell::bad(format!("{:.0} %", 100.0 * share)),
        Some(share) => Cell::from(format!("{:.0} %", 100.0 * share)),
    }
}
