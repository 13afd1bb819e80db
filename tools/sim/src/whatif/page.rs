//! The page of `whatif`: the table, the doubts, and charts of wake-ups by thread and lengths of grace
//! periods.

use quiescent_report::html::chart::{Axis, Bar, Bars, Panel, Point, Points, Row, Series, Tone};
use quiescent_report::html::layout::{self, Count, Fact, Head, News, Section, prose};
use quiescent_report::html::table::{Cell, Table};
use quiescent_report::html::{Markup, html};
use quiescent_report::pages::{head, page, rows};
use quiescent_report::{Occasion, Report};

use super::show::{HEAD, cells};
use super::{Answer, Line};

const WHATIF: &str = "whatif";

/// The three columns, and their colours.
const COLUMNS: [(&str, Tone); 3] = [
    ("recorded", Tone::Real),
    ("model as recorded", Tone::Model),
    ("model with change", Tone::Changed),
];

/// The page; `report` is the same as rows.
pub fn render(answer: &Answer, report: &Report, occasion: &Occasion) -> String {
    let head = Head {
        title: "quiescent: what if".into(),
        lead: Some(html! { (answer.about()) "." }),
        alarm: alarm(answer, occasion),
        counts: counts(answer),
        facts: facts(answer, report, occasion),
    };
    let charts = html! { (rates(answer)) (gps(answer)) };
    let sections = vec![
        Section::new("figures", "Figures", Some(figures(answer))),
        Section::new("charts", "Charts", Some(charts)),
        Section::new("rows", "All figures", rows::body(report)),
    ];
    page("quiescent: what if".into(), WHATIF, head, sections)
}

fn alarm(answer: &Answer, occasion: &Occasion) -> Option<(String, String)> {
    let more = "more than 15 % off in what decides. Do not trust the change.";
    let misfits = answer.misfits().next().is_some();
    let alarm = misfits.then(|| ("The model does not fit this trace".into(), more.into()));
    let ran_out = answer.ran_out.as_ref();
    let ran_out = ran_out.and_then(|_| {
        Some((
            "A thread ran out of trace".into(),
            answer.doubts.first()?.clone(),
        ))
    });
    head::alarm(occasion).or(ran_out).or(alarm)
}

fn counts(answer: &Answer) -> Vec<Count> {
    let deciding = answer.lines.iter().filter(|it| it.decides);
    let misfits = answer.misfits().count();
    let fits = deciding.count() - misfits;
    vec![
        Count::of(News::Good, fits, "deciding figures fit"),
        Count::of(News::Bad, misfits, "deciding figures do not"),
    ]
}

fn facts(answer: &Answer, report: &Report, occasion: &Occasion) -> Vec<Fact> {
    let mut facts = head::facts(report, occasion);
    let was = answer.settings().into_iter();
    let was = was.map(|(key, value, from)| format!("{key}={value} ({from})"));
    facts.push(Fact::text(
        "As recorded",
        was.collect::<Vec<_>>().join(", "),
    ));
    let change = answer.differences().into_iter();
    let change = change.map(|(key, before, after)| format!("{key}={after} (was {before})"));
    facts.push(Fact::text("Change", change.collect::<Vec<_>>().join(", ")));
    facts
}

fn figures(answer: &Answer) -> Markup {
    let legend = "Ratio: the model as recorded over what was recorded; the first three lines decide whether \
     the model fits. Range: the least and \
                  the most of the model with the change, wherever a scheduler has RCU's threads run, on all \
                  machines that fit, and as a factor of what was recorded. `?`: the range has figures on \
                  both sides, so the direction is not known. `~`: all of it is within what two \
                  records of one machine differ by (5 %; more for few events). Fitted: chosen because it \
                  fits.";
    html! {
        (table(answer))
        p class="soft" { (prose(legend)) }
        (layout::notes(&answer.doubts))
    }
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
        let bar = |index: usize| {
            Some(Bar {
                tone: COLUMNS[index].1,
                value: figures[index].filter(|it| it.is_finite())?,
                range: line.spread.filter(|_| index == 2),
            })
        };
        Row {
            name: line
                .metric
                .trim_end_matches("_per_s")
                .replace("_per_s ", " "),
            bars: (0..3).filter_map(bar).collect(),
        }
    };
    let rows = answer.lines.iter().filter(|it| it.unit == "1/s").map(row);
    let bars = Bars {
        title: "How often, before and after".into(),
        about: "a line across a bar: the least and the most, wherever a scheduler has RCU's threads run and \
         on all machines that fit".into(),
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
