//! The synchronize benchmark: a bar for each column of the text, and the runs as a table; the model's
//! prediction for this kernel beside the measurement, if the benchmark's rows have it.

use crate::reproduce::benchmark::{Benchmark, Column, all_runs};
use quiescent_report::OURS;
use quiescent_report::html::chart::{Bar, Bars, Panel, Row, Tone};
use quiescent_report::html::table::Table;
use quiescent_report::html::{Markup, html};
use quiescent_report::text::number::figure;

pub(super) fn body(benchmark: &Benchmark) -> Option<Markup> {
    if benchmark.columns.is_empty() {
        return None;
    }
    let about =
        "mean over all runs; the line is from the smallest to the largest call; shorter is faster";
    let bars = Bars {
        title: format!("A grace period: {} calls a run", benchmark.calls),
        about: about.into(),
        unit: "ms".into(),
        linear: false,
        legend: Vec::new(),
        panels: vec![Panel::new(
            "",
            benchmark.columns.iter().filter_map(row).collect(),
        )],
    };
    Some(html! {
        p { "These are different guarantees, so the figures are not comparable:" }
        ul class="notes" {
            @for column in &benchmark.columns { li { strong { (column.head) } ": " (column.what) } }
        }
        (bars.render())
        (runs(&benchmark.columns).folded("Each run"))
        @if let Some(chart) = predictions(&benchmark.rows) { (chart) }
    })
}

/// The metric of all of a kernel's calls, and of a prediction for them.
const TOGETHER: &str = "latency_us_pooled_mean";

/// This kernel's calls and the model's predictions for each possible configuration; nothing without a
/// prediction.
fn predictions(rows: &[quiescent_report::Row]) -> Option<Markup> {
    let of = |whose: &'static str, tone| {
        let wanted =
            move |row: &&quiescent_report::Row| row.metric == TOGETHER && row.subject == whose;
        rows.iter().filter(wanted).map(move |row| {
            let case = row.case.split_once(", ").map_or("all calls", |it| it.1);
            Row::one(&format!("{whose}: {case}"), tone, row.median / 1e3)
        })
    };
    let predicted: Vec<Row> = of("model", Tone::Model).collect();
    if predicted.is_empty() {
        return None;
    }
    let bars = Bars {
        title: "This kernel, and what the machine model predicts for it".into(),
        about:
            "means; the kernel's configuration is not always known, so the prediction is a range"
                .into(),
        unit: "ms".into(),
        linear: true,
        legend: Vec::new(),
        panels: vec![Panel::new(
            "",
            of("kernel", Tone::Real).chain(predicted).collect(),
        )],
    };
    Some(bars.render())
}

fn row(column: &Column) -> Option<Row> {
    let all = all_runs(&column.runs)?;
    let tone = match column.head.as_str() {
        head if head.starts_with(OURS) => Tone::Ours,
        head if head.starts_with("published") => Tone::Peer,
        _ => Tone::Real,
    };
    let bar = Bar {
        tone,
        value: all.mean_ms,
        range: Some((all.min_ms, all.max_ms)),
    };
    Some(Row {
        name: column.head.clone(),
        bars: vec![bar],
    })
}

fn runs(columns: &[Column]) -> Table {
    let head = ["", "run", "mean, ms", "smallest", "largest"];
    let mut table = Table::new("Each run of the synchronize benchmark", &head, 1);
    for column in columns {
        for (index, run) in column.runs.iter().enumerate() {
            let figures = [run.mean_ms, run.min_ms, run.max_ms].map(figure);
            let words = [column.head.clone(), (index + 1).to_string()];
            table.row(words.into_iter().chain(figures));
        }
    }
    table
}
