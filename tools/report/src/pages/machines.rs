//! The page of `torture --sim`: machines of the model, the finding on one of them, and the parts of the
//! engine that they have reached.

use super::measured::options;
use super::torture::number;
use super::{head, rows};
use crate::html::chart::{self, Bars, Panel, Tone};
use crate::html::layout::{Count, Head, News, Section, notes, verbatim};
use crate::html::table::Table;
use crate::html::{Markup, html};
use crate::{Occasion, Report, Row};
use serde_json::Value;

/// The finding on a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// In a line: the finding, its time, its seed.
    pub line: String,
    /// Details.
    pub words: Vec<String>,
    /// The machine, as a file that can be run again.
    pub case: String,
    /// The command that does that.
    pub again: String,
}

/// Options that are shown elsewhere on the page.
const PLACED: [&str; 3] = ["finding", "stopped", NEVER];
const NEVER: &str = "trace_points_never_reached";

/// The page of a campaign of machines.
pub fn machines(report: &Report, found: Option<&Found>, occasion: &Occasion) -> String {
    let title = format!("quiescent {}", report.command);
    let head = Head {
        title: title.clone(),
        lead: Some(html! {
            "The engine on random machines of the model, with faults: late, starved and lost wake-ups, late \
             and lost interrupts, CPUs that stand still, skewed clocks. While they last no grace period may \
             end too early; after them everything has to end."
        }),
        alarm: match found {
            None => head::alarm(occasion),
            Some(_) => Some(("Found".into(), "an error; see below.".into())),
        },
        counts: counts(report),
        facts: head::facts(report, occasion),
    };
    let sections = vec![
        Section::new("found", "What was found", found.map(finding)),
        Section::new("done", "What was done", done(report)),
        Section::new("reached", "What of the engine was reached", reached(report)),
        Section::new("options", "Options in force", options(report, &PLACED)),
        Section::new("rows", "All figures", rows::body(report)),
    ];
    super::page(title, super::TORTURE, head, sections)
}

fn count(report: &Report, metric: &str) -> usize {
    let row = report.rows.iter().find(|it| it.metric == metric);
    row.map_or(0, |it| it.median as usize)
}

fn never(report: &Report) -> Vec<String> {
    let never = report.options.get(NEVER).and_then(Value::as_array);
    let words = never.into_iter().flatten().filter_map(Value::as_str);
    words.map(str::to_owned).collect()
}

fn counts(report: &Report) -> Vec<Count> {
    let of = |metric: &str| count(report, metric);
    let points = of("trace_points");
    let reached = format!("{points} of {}", points + never(report).len());
    vec![
        match of("errors") {
            0 => Count::text(News::Good, "nothing", "was found"),
            errors => Count::of(News::Bad, errors, "machines with an error"),
        },
        Count::of(News::None, of("machines"), "machines"),
        Count::of(News::None, of("faults"), "faults"),
        Count::of(
            News::None,
            of("spanned"),
            "grace periods that began with a reader inside",
        ),
        Count::text(
            News::None,
            reached,
            "trace points of the engine were reached",
        ),
    ]
}

fn finding(found: &Found) -> Markup {
    html! {
        ul class="found" { li { (found.line) } }
        (notes(&found.words))
        p { "Again: " code { (found.again) } }
        details {
            summary { "The smallest machine that shows it" }
            (verbatim("The machine", &found.case))
        }
    }
}

/// The counts of actions, the largest first.
fn done(report: &Report) -> Option<Markup> {
    let named = ["machines", "errors", "distinct_states", "trace_points"];
    let mut counted: Vec<&Row> = report
        .rows
        .iter()
        .filter(|it| !named.contains(&it.metric.as_str()))
        .collect();
    counted.sort_by(|a, b| b.median.total_cmp(&a.median));
    let name = |it: &Row| it.metric.replace('_', " ");
    let mut table = Table::new("What was done", &["what", "times"], 1);
    counted
        .iter()
        .for_each(|it| table.row([name(it), number(it.median)]));
    let rows = counted
        .iter()
        .map(|it| chart::Row::one(&name(it), Tone::Ours, it.median));
    let bars = Bars {
        title: "On all machines together".into(),
        about: "\"looked at\" are grace periods that the oracle has judged, \"spanned\" those of them that \
                began with a reader inside"
            .into(),
        unit: "times".into(),
        panels: vec![Panel::new("", rows.collect())],
        ..Bars::default()
    };
    (!counted.is_empty()).then(|| bars.render_beside(Tone::Peer, &table))
}

fn reached(report: &Report) -> Option<Markup> {
    let (points, states, never) = (
        count(report, "trace_points"),
        count(report, "distinct_states"),
        never(report),
    );
    (points > 0).then(|| {
        html! {
            p {
                (points) " of " (points + never.len()) " trace points, in " (states) " distinct states. \
                 Points and states are counted on one machine of ten, which takes half as long again; on the \
                 one of a replay."
            }
            @if !never.is_empty() {
                p { "Never reached:" }
                (notes(&never))
            }
        }
    })
}
