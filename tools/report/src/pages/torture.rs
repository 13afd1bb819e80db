//! The page of `torture`: the verdict, the findings and the last events, the ages that readers saw, the
//! durations of grace periods, the counts of each role.
//!
//! It is made from the report. There a case is a scenario's name and a count, with a value for each run of
//! that scenario; without a scenario's name it is a sum over all runs. Charts show the sums.

use super::measured::options;
use super::{head, rows};
use crate::html::chart::{self, Bars, Panel, Tone};
use crate::html::layout::{Count, Head, News, Section, notes, prose, verbatim};
use crate::html::table::{Cell, Table};
use crate::html::{Markup, html};
use crate::text::number::figure;
use crate::{Occasion, Report, Row};
use serde_json::Value;

/// A scenario's description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// Its name.
    pub name: String,
    /// A sentence.
    pub about: String,
    /// The parts that it stresses.
    pub stresses: Vec<String>,
}

/// Options that are shown elsewhere on the page.
const PLACED: [&str; 3] = ["runs", "scenarios", "stopped"];

/// The page of a campaign of threads.
pub fn torture(report: &Report, scenarios: &[About], occasion: &Occasion) -> String {
    let found = runs(report)
        .filter(|it| !it.list("findings").is_empty())
        .count();
    let title = "quiescent torture";
    let head = Head {
        title: title.into(),
        lead: Some(html! {
            "The library, used by threads in every way at once, in scenarios of a process each. Oracles look \
             at every section of a reader and at everything that was queued; a run that finds something is \
             the last one."
        }),
        alarm: match found {
            0 => head::alarm(occasion),
            _ => Some((
                "Found".into(),
                "the last run has found an error; see below.".into(),
            )),
        },
        counts: counts(report),
        facts: head::facts(report, occasion),
    };
    let sums = Sums::of(report);
    let sections = vec![
        Section::new(
            "found",
            "What was found",
            (found > 0).then(|| findings(report)),
        ),
        Section::new("runs", "Runs", run_table(report)),
        Section::new("ages", "What readers saw", sums.sections()),
        Section::new("waits", "Durations of grace periods", sums.waits()),
        Section::new("actors", "Actions of each role", sums.actors()),
        Section::new("kinds", "Ways to wait and to dispose", sums.kinds()),
        Section::new("scenarios", "The scenarios", about(scenarios)),
        Section::new("options", "Options in force", options(report, &PLACED)),
        Section::new("rows", "All figures", rows::body(report)),
    ];
    super::page(title.into(), super::TORTURE, head, sections)
}

/// A run, from the report.
struct Run<'a>(&'a Value);

impl<'a> Run<'a> {
    fn text(&self, name: &str) -> &'a str {
        self.0.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    fn number(&self, name: &str) -> String {
        let number = self.0.get(name).and_then(Value::as_f64);
        number.map_or("-".into(), |it| format!("{}", (it * 10.0).round() / 10.0))
    }

    fn list(&self, name: &str) -> Vec<String> {
        let list = self.0.get(name).and_then(Value::as_array);
        let words = list.into_iter().flatten().filter_map(Value::as_str);
        words.map(str::to_owned).collect()
    }
}

fn runs(report: &Report) -> impl Iterator<Item = Run<'_>> {
    let runs = report.options.get("runs").and_then(Value::as_array);
    runs.into_iter().flatten().map(Run)
}

fn counts(report: &Report) -> Vec<Count> {
    let all = |metric: &str| {
        let row = report
            .rows
            .iter()
            .find(|it| it.case == "all" && it.metric == metric);
        row.map_or(0, |it| it.median as usize)
    };
    let found = all("errors");
    vec![
        match found {
            0 => Count::text(News::Good, "nothing", "was found"),
            _ => Count::of(News::Bad, found, "findings"),
        },
        Count::of(News::None, all("runs"), "runs"),
        Count::of(News::None, all("grace_periods"), "grace periods"),
        Count::of(News::None, all("reads"), "sections of readers"),
        Count::of(News::None, all("ops"), "disposals"),
    ]
}

/// The details of the runs with findings.
fn findings(report: &Report) -> Markup {
    html! {
        @for run in runs(report).filter(|it| !it.list("findings").is_empty()) {
            h3 { (run.text("scenario")) ", seed " (run.number("seed")) }
            ul class="found" { @for it in run.list("findings") { li { (it) } } }
            @if !run.text("notes").is_empty() {
                (notes(&run.text("notes").lines().map(String::from).collect::<Vec<_>>()))
            }
            @if !run.text("again").is_empty() {
                p {
                    "The same choices again (the interleaving is the machine's): "
                    code { (run.text("again")) }
                }
            }
            @let events = run.list("events");
            @if !events.is_empty() {
                p class="soft" {
                    "The last events, until the first finding: seconds since the start, thread, event."
                }
                (verbatim("The last events", &events.join("\n")))
            }
        }
    }
}

fn run_table(report: &Report) -> Option<Markup> {
    let head = ["scenario", "verdict", "fence", "seed", "seconds"];
    let mut table = Table::new("Runs", &head, 3);
    let mut lines = String::new();
    for run in runs(report) {
        let verdict = match run.list("findings").len() {
            0 => Cell::good("ok"),
            _ => Cell::bad("FOUND"),
        };
        let (name, fence) = (run.text("scenario"), run.text("fence"));
        let numbers = [run.number("seed"), run.number("seconds")];
        let words = [Cell::from(name), verdict, fence.into()];
        table.row(words.into_iter().chain(numbers.map(Cell::from)));
        lines += &format!("{name:<8}{}\n", run.text("line"));
    }
    (!table.is_empty()).then(|| {
        html! {
            (table.render())
            details { summary { "Each run in a line" } (verbatim("The runs", lines.trim_end())) }
        }
    })
}

fn about(scenarios: &[About]) -> Option<Markup> {
    (!scenarios.is_empty()).then(|| {
        html! {
            @for it in scenarios {
                details {
                    summary { strong { (it.name) } " " (prose(&it.about)) }
                    (notes(&it.stresses))
                }
            }
        }
    })
}

/// Rows that are sums over all runs.
struct Sums<'a>(Vec<&'a Row>);

impl<'a> Sums<'a> {
    fn of(report: &'a Report) -> Self {
        let names = report.options.get("scenarios").and_then(Value::as_array);
        let names: Vec<&str> = names
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let of_scenario = |case: &str| {
            let rest = |name: &&str| {
                case.strip_prefix(*name)
                    .is_some_and(|rest| rest.starts_with(' '))
            };
            names.iter().any(rest)
        };
        let sums = report.rows.iter().filter(|it| !of_scenario(&it.case));
        Sums(sums.collect())
    }

    fn value(&self, case: &str, metric: &str) -> Option<f64> {
        let row = self
            .0
            .iter()
            .find(|it| it.case == case && it.metric == metric);
        row.map(|it| it.median)
    }

    fn total(&self, metric: &str) -> f64 {
        let rows = self.0.iter().filter(|it| it.metric == metric);
        rows.map(|it| it.median).sum()
    }

    /// Ages, and the number of grace periods that ended during a section.
    fn sections(&self) -> Option<Markup> {
        let names = [
            ("age_0", "0: published"),
            ("age_1", "1: unpublished"),
            ("age_2_up", "2 or more"),
        ];
        let ages: Vec<chart::Row> = names
            .into_iter()
            .map(|(metric, name)| {
                let tone = if metric == "age_2_up" {
                    Tone::Missed
                } else {
                    Tone::Ours
                };
                chart::Row::one(name, tone, self.total(metric))
            })
            .collect();
        let spans = self.0.iter().filter(|it| it.metric == "sections");
        let spans: Vec<chart::Row> = spans
            .map(|it| chart::Row::one(&it.case, Tone::Ours, it.median))
            .collect();
        if self.total("age_0") + self.total("age_1") + self.total("age_2_up") == 0.0 {
            return None;
        }
        let about = "how old an element was when the section that had found it ended: one more for each \
                     grace period since it was unpublished; above 1, a grace period has ended that had to \
                     wait for the section";
        Some(html! {
            (bars("Pipe ages", about, "sections", vec![Panel::new("", ages)]))
            @if !spans.is_empty() {
                (bars("Grace periods that ended during a section",
                      "for information: the library's counter lags, so more than one is no proof of anything",
                      "sections",
                      vec![Panel::new("", spans)]))
            }
        })
    }

    fn waits(&self) -> Option<Markup> {
        let rows = self.0.iter().filter(|it| it.metric == "histogram");
        let mut waits: Vec<(f64, f64)> = rows
            .filter_map(|it| Some((lower_end(&it.case)?, it.median)))
            .collect();
        waits.sort_by(|a, b| a.0.total_cmp(&b.0));
        let rows = waits
            .iter()
            .map(|(from, count)| chart::Row::one(&time(*from), Tone::Ours, *count));
        let about =
            "how long callers waited, from each time to its double; of all ways to wait together";
        (!waits.is_empty()).then(|| {
            bars(
                "A histogram",
                about,
                "waits",
                vec![Panel::new("", rows.collect())],
            )
        })
    }

    /// The actions of each role.
    fn actors(&self) -> Option<Markup> {
        let did = self
            .0
            .iter()
            .filter(|it| it.unit == "times" && ["ops", "reads"].contains(&it.metric.as_str()));
        let mut rows: Vec<(&str, f64)> = did
            .filter(|it| it.case != "all")
            .map(|it| (it.case.as_str(), it.median))
            .collect();
        rows.sort_by(|a, b| b.1.total_cmp(&a.1));
        let bar = |(name, count): &(&str, f64)| chart::Row::one(name, Tone::Ours, *count);
        let panel = Panel::new("", rows.iter().map(bar).collect());
        let about =
            "sections of readers, handlers and callbacks; actions of all others; over all runs";
        (!rows.is_empty()).then(|| bars("Actors", about, "times", vec![panel]))
    }

    /// Each way to dispose of an element.
    fn kinds(&self) -> Option<Markup> {
        let head = ["way", "done", "not yet", "age 0", "age 1", "2 or more"];
        let mut table = Table::new("Ways to wait and to dispose", &head, 1);
        let kinds = self
            .0
            .iter()
            .filter(|it| it.metric == "ops" && it.unit == "disposals" && it.case != "all");
        for it in kinds {
            let count = |metric: &str| self.value(&it.case, metric).unwrap_or(0.0);
            let old = count("age_2_up");
            table.row([
                Cell::from(it.case.clone()),
                number(it.median).into(),
                number(count("backlog")).into(),
                number(count("age_0")).into(),
                number(count("age_1")).into(),
                if old > 0.0 {
                    Cell::bad(number(old))
                } else {
                    number(old).into()
                },
            ]);
        }
        (!table.is_empty()).then(|| {
            html! {
                p class="soft" { "Over all runs. Latencies of each, by scenario, are among all figures." }
                (table.render())
            }
        })
    }
}

/// A count with all its digits.
pub(super) fn number(count: f64) -> String {
    format!("{count:.0}")
}

fn bars(title: &str, about: &str, unit: &str, panels: Vec<Panel>) -> Markup {
    let bars = Bars {
        title: title.into(),
        about: about.into(),
        unit: unit.into(),
        panels,
        ..Bars::default()
    };
    bars.render()
}

/// `waited 0.512 us and more`: 0.512.
fn lower_end(case: &str) -> Option<f64> {
    let rest = case.strip_prefix("waited ")?;
    rest.split(' ').next()?.parse().ok()
}

/// A time in microseconds, shown in a suitable unit.
fn time(us: f64) -> String {
    match us {
        us if us >= 1e6 => format!("{} s", figure(us / 1e6)),
        us if us >= 1e3 => format!("{} ms", figure(us / 1e3)),
        us => format!("{} us", figure(us)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_in_order_and_have_units() {
        assert_eq!(lower_end("waited 0.512 us and more"), Some(0.512));
        assert_eq!(lower_end("reader"), None);
        assert_eq!(
            [time(0.512), time(16.384), time(16384.0), time(2e6)],
            ["0.512 us", "16.4 us", "16.4 ms", "2.00 s"]
        );
    }
}
