//! The experiments on the machine model: for each a chart, the verdicts, the assumptions.
//!
//! The chart follows from the shape of the comparisons:
//!
//! | shape | chart |
//! |---|---|
//! | cases that differ in one number (`NAME key=3`, `NAME key=32`) | lines over that number |
//! | one metric, up to twelve cases | two bars a case |
//! | one metric, more cases | the model's figure over the real one, and their ratio over the real figure |
//! | several metrics | the ratio of each, a panel a case |
//!
//! Fitted figures have a colour of their own and are never counted as predictions.

mod frame;
mod listings;
mod sentences;

use self::sentences::sentences;
use super::{subject, verdict};
use crate::experiments::{Basis, Comparison, Modelled, Outcome, Part, Shown, States};
use quiescent_report::html::chart::{
    Axis, Bar, Bars, Guide, Panel, Point, Points, Ratio, Ratios, Row, Series, Tone,
};
use quiescent_report::html::table::{Cell, Table};
use quiescent_report::html::{Markup, html, layout};
use quiescent_report::text::number::{figure, ratio};

/// Most cases that are shown as bars.
const FEW: usize = 12;
/// Most rows of a table that is not folded away.
const OPEN: usize = 12;
/// Most notes that are not.
const OPEN_NOTES: usize = 8;

/// All of them; nothing if there is none.
pub fn body(modelled: &Modelled) -> Option<Markup> {
    if modelled.is_empty() {
        return None;
    }
    Some(html! {
        p {
            "The model runs the library's engine as a kernel's RCU on a simulated machine, in virtual time: \
             these figures are the same on every machine. "
            strong { "Predicted" } " figures had nothing set by them; for " strong { "assumed" } " ones \
                something had to be \
             supposed that the publication leaves open; " strong { "fitted" } " ones had a parameter set so \
             that they come out, and are no predictions."
        }
        @for it in modelled.parts() { (experiment(it)) }
    })
}

fn experiment(part: &Part) -> Markup {
    let Part {
        name,
        what,
        outcome,
    } = part;
    let all = &outcome.comparisons;
    let table = verdicts(name, all);
    html! {
        h3 { (name) }
        p { @if !what.is_empty() { (what) ". " } (tally(outcome)) }
        @for chart in charts(name, all) { (chart) }
        @for chart in idle_states(name, &outcome.states) { (chart) }
        (frame::chart(name, &outcome.frames))
        @if table.len() > OPEN {
            (table.folded(&format!("Verdicts: all {} figures", table.len())))
        } @else if !table.is_empty() || outcome.shown.is_empty() {
            (table.render())
        }
        @if !outcome.shown.is_empty() { (sentences(name, &outcome.shown).render()) }
        (listings::body(&outcome.listings))
        (notes(&outcome.notes))
    }
}

/// What was assumed and what else there is to know; folded away where it is long.
fn notes(notes: &[String]) -> Markup {
    let list = layout::notes(notes);
    match notes.len() {
        0 => html! {},
        few if few <= OPEN_NOTES => list,
        many => html! { details { summary { (many) " notes" } (list) } },
    }
}

/// How many figures are near enough, the fitted ones apart, and how many sentences are true.
fn tally(outcome: &Outcome) -> String {
    let all = &outcome.comparisons;
    let (fitted, own): (Vec<&Comparison>, Vec<&Comparison>) =
        all.iter().partition(|it| it.basis == Basis::Fitted);
    let near = own.iter().filter(|it| it.is_near()).count();
    let mut said = Vec::new();
    if !own.is_empty() {
        said.push(format!("{near} of {} figures", own.len()));
    }
    let claims: Vec<bool> = outcome.shown.iter().filter_map(Shown::holds).collect();
    if !claims.is_empty() {
        let true_ones = claims.iter().filter(|it| **it).count();
        said.push(format!("{true_ones} of {} sentences", claims.len()));
    }
    let mut all = match said.is_empty() {
        true => String::new(),
        false => format!("Within their bound: {}.", said.join(", ")),
    };
    if !fitted.is_empty() {
        all += &format!(" Fitted: {}, without a verdict.", fitted.len());
    }
    match all.trim_start() {
        "" => "No figures.".into(),
        all => all.into(),
    }
}

fn charts(name: &str, all: &[Comparison]) -> Vec<Markup> {
    let Some(first) = all.first() else {
        return Vec::new();
    };
    let same = |it: &Comparison| it.metric == first.metric && it.unit == first.unit;
    if !all.iter().all(same) {
        return vec![ratios(name, all)];
    }
    if let Some(lines) = over_a_number(name, all) {
        return vec![lines];
    }
    match all.len() <= FEW {
        true => vec![bars(name, all)],
        false => scattered(name, all),
    }
}

/// Where the package was, case by case; and, after that, what it took.
fn idle_states(name: &str, all: &[States]) -> Vec<Markup> {
    if all.is_empty() {
        return Vec::new();
    }
    let bar = |tone, value, range| Bar { tone, value, range };
    let panel = |it: &States| {
        let rows = it.package.iter().map(|(state, share)| Row {
            name: state.clone(),
            bars: vec![bar(Tone::Model, *share, None)],
        });
        Panel::new(&it.case, rows.collect())
    };
    let residency = Bars {
        title: format!("{name}: where the package was"),
        about: "the model's package states, the deepest one last; in PC0 some CPU is awake".into(),
        unit: "% of the time".into(),
        linear: true,
        legend: Vec::new(),
        panels: all.iter().map(panel).collect(),
    };
    let mut charts = vec![residency.render()];
    let rows = all.iter().filter_map(|it| {
        let &(_, fitted, low, high) = it.power.as_ref()?;
        let tone = if fitted { Tone::Fitted } else { Tone::Model };
        Some(Row {
            name: it.case.clone(),
            bars: vec![bar(tone, (low + high) / 2.0, Some((low, high)))],
        })
    });
    let rows: Vec<Row> = rows.collect();
    if let Some((profile, ..)) = all.iter().find_map(|it| it.power.as_ref()) {
        let power = Bars {
            title: format!("{name}: power by the profile {profile}"),
            about:
                "a range: its middle, and a line from the least to the most that the profile allows"
                    .into(),
            unit: "W".into(),
            linear: true,
            legend: Vec::new(),
            panels: vec![Panel::new("", rows)],
        };
        charts.push(power.render());
    }
    charts
}

/// The colour of the model's figure.
fn tone(it: &Comparison) -> Tone {
    match it.holds() {
        Some(true) => Tone::Model,
        Some(false) => Tone::Missed,
        None => Tone::Fitted,
    }
}

/// What the colours of these mean.
fn legend(all: &[Comparison]) -> Vec<(Tone, String)> {
    [
        (Tone::Model, "model, within its bound"),
        (Tone::Fitted, "model, fitted"),
        (Tone::Missed, "model, outside its bound"),
    ]
    .into_iter()
    .filter(|(wanted, _)| all.iter().any(|it| tone(it) == *wanted))
    .map(|(tone, name)| (tone, name.into()))
    .collect()
}

/// What is compared, as words; the unit stands beside it and is left out.
fn words(it: &Comparison) -> String {
    let unit = if it.unit == "%" { "pct" } else { it.unit };
    let parts = it.metric.split('_').filter(|part| *part != unit);
    let words = parts.collect::<Vec<_>>().join(" ");
    words.replace(" per s", "/s")
}

/// The name of a case without the experiment's, which stands above it.
pub(super) fn short<'a>(name: &str, case: &'a str) -> &'a str {
    let rest = case.strip_prefix(name).map_or(case, str::trim_start);
    if rest.is_empty() { case } else { rest }
}

fn real_name(all: &[Comparison]) -> String {
    all.first()
        .map_or(String::new(), |it| format!("{}, real", subject(it.source)))
}

fn bars(name: &str, all: &[Comparison]) -> Markup {
    let bar = |tone, value| Bar {
        tone,
        value,
        range: None,
    };
    let row = |it: &Comparison| Row {
        name: short(name, &it.case).into(),
        bars: vec![bar(Tone::Real, it.real), bar(tone(it), it.model)],
    };
    let mut colours = vec![(Tone::Real, real_name(all))];
    colours.extend(legend(all));
    Bars {
        title: format!("{name}: {}", words(&all[0])),
        about: "the real figure, and the model's below it".into(),
        unit: all[0].unit.into(),
        linear: false,
        legend: colours,
        panels: vec![Panel::new("", all.iter().map(row).collect())],
    }
    .render()
}

/// `key` and the number, of a case that ends in `key=number`.
fn number(case: &str) -> Option<(&str, &str, f64)> {
    let (rest, last) = case.rsplit_once(' ').unwrap_or(("", case));
    let (key, value) = last.split_once('=')?;
    Some((rest, key, value.parse().ok()?))
}

/// Lines, where the cases differ in one number only.
fn over_a_number(name: &str, all: &[Comparison]) -> Option<Markup> {
    let (rest, key, _) = number(&all[0].case)?;
    let mut xs = Vec::new();
    for it in all {
        let (same, of, x) = number(&it.case)?;
        if same != rest || of != key || xs.contains(&x) {
            return None;
        }
        xs.push(x);
    }
    if xs.len() < 2 {
        return None;
    }
    let line = |name: String, tone, of: fn(&Comparison) -> f64| {
        let points = all.iter().zip(&xs).map(|(it, x)| Point {
            name: it.case.clone(),
            x: *x,
            y: of(it),
        });
        let mut points: Vec<Point> = points.collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Series {
            name,
            tone,
            joined: true,
            points,
        }
    };
    let colours = legend(all);
    let (model, model_name) = colours.last().cloned().unwrap_or_default();
    let chart = Points {
        title: format!("{name}: {} over {key}", words(&all[0])),
        about: "the real figures and the model's".into(),
        x: Axis::new(key, ""),
        y: Axis::new(&words(&all[0]), all[0].unit),
        guide: None,
        series: vec![
            line(real_name(all), Tone::Real, |it| it.real),
            line(model_name, model, |it| it.model),
        ],
    };
    Some(chart.render())
}

/// The comparisons by colour, as points.
fn series(all: &[Comparison], up: fn(&Comparison) -> f64) -> Vec<Series> {
    let of = |(tone_of, name): (Tone, String)| {
        let points = all.iter().filter(|it| tone(it) == tone_of);
        let points = points.map(|it| Point {
            name: it.case.clone(),
            x: it.real,
            y: up(it),
        });
        Series {
            name,
            tone: tone_of,
            joined: false,
            points: points.collect(),
        }
    };
    legend(all).into_iter().map(of).collect()
}

/// The widest bound, as a share.
fn widest(all: &[Comparison]) -> f64 {
    all.iter().map(|it| it.allowed).fold(0.0, f64::max)
}

/// The model's figures over the real ones, and how far off they are.
fn scattered(name: &str, all: &[Comparison]) -> Vec<Markup> {
    let (metric, unit) = (words(&all[0]), all[0].unit);
    let share = widest(all);
    let chart = |title: &str, about, y, guide, up| {
        let chart = Points {
            title: format!("{name}: {title}"),
            about: format!("{about}; the band is ± {} %", figure(100.0 * share)),
            x: Axis::new(&format!("{metric}, {}", subject(all[0].source)), unit),
            y,
            guide: Some(guide),
            series: series(all, up),
        };
        chart.render()
    };
    let points = format!("{} points; on the diagonal the model is right", all.len());
    let off = "the model's figure over the real one; at 1 the model is right".to_owned();
    let y = Axis::new(&format!("{metric}, model"), unit);
    let title = "the model over the real machine";
    let over = Axis::new("model over real", "");
    vec![
        chart(title, points, y, Guide::Diagonal(share), |it| it.model),
        chart("how far off", off, over, Guide::One(share), |it| it.ratio()),
    ]
}

fn ratios(name: &str, all: &[Comparison]) -> Markup {
    let mut panels: Vec<(String, Vec<Ratio>)> = Vec::new();
    for it in all {
        let ratio = Ratio {
            name: words(it),
            tone: tone(it),
            value: it.ratio(),
            allowed: it.allowed,
        };
        match panels.iter_mut().find(|panel| panel.0 == it.case) {
            Some(panel) => panel.1.push(ratio),
            None => panels.push((it.case.clone(), vec![ratio])),
        }
    }
    Ratios {
        title: format!("{name}: how far off"),
        about:
            "the model's figure over the real one; at 1 the model is right; the band is what is \
         allowed"
                .into(),
        axis: "model over real".into(),
        legend: legend(all),
        panels,
    }
    .render()
}

/// A line a figure; what all have in common is in the title above.
fn verdicts(name: &str, all: &[Comparison]) -> Table {
    let several = all.iter().any(|it| it.metric != all[0].metric);
    let words_of = if several {
        &["case", "metric"][..]
    } else {
        &["case"]
    };
    let figures = ["real", "model", "ratio", "bound"];
    // The answer first: on a narrow screen the other columns are behind the edge.
    let head = [&["verdict"], words_of, &figures, &["basis"]].concat();
    let mut table = Table::new(&format!("Verdicts on {name}"), &head, words_of.len() + 1);
    for it in all {
        let said = verdict(it.holds());
        let with_unit = |value| format!("{} {}", figure(value), it.unit);
        let verdict = match it.holds() {
            Some(true) => Cell::good(said),
            Some(false) => Cell::bad(said),
            None => Cell::faint(said),
        };
        let mut cells = vec![verdict, Cell::from(short(name, &it.case))];
        if several {
            cells.push(words(it).into());
        }
        cells.extend([
            Cell::from(with_unit(it.real)),
            with_unit(it.model).into(),
            ratio(it.ratio(), 3).into(),
            format!("± {} %", figure(100.0 * it.allowed)).into(),
            it.basis.name().into(),
        ]);
        table.row(cells);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn residencies_are_drawn_before_watts_and_nothing_where_there_are_none() {
        let states = States {
            case: "rcu=lazy".into(),
            package: vec![("PC0".into(), 18.8), ("PC10".into(), 81.2)],
            power: Some(("two-states".into(), true, 0.375, 0.566)),
        };
        let charts = idle_states("lazy-power", &[states]);
        let [residency, power] = &charts[..] else {
            panic!("two charts");
        };
        let (residency, power) = (&residency.0, &power.0);
        assert!(residency.contains("PC10") && residency.contains("rcu=lazy"));
        assert!(power.contains("two-states") && power.contains("fitted"));
        assert!(idle_states("bridge", &[]).is_empty());
    }
}
