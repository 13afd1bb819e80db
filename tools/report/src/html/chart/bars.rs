//! Horizontal bars, in panels that share one scale.
//!
//! The name of a bar is to the left of it, or above it where one name of the chart is too long for that, in
//! several lines if necessary. The figure is to the right of the bar, and where one bar is the measure, so is
//! the ratio to that bar. Several bars of one row (a real figure and the model's) have one name. A thin line
//! shows the range of the samples where there is one.

use super::{Frame, LETTER, NARROWEST, Tone, axis_label, labels, spoken, titled};
use crate::html::letters::{shortened, width, wrapped};
use crate::html::scale::Scale;
use crate::html::table::Table;
use crate::text::number::{figure, percent};
use maud::{Markup, html};

/// Names up to this many letters stand beside their bars, if they are no wider than this.
const BESIDE: usize = 17;
const BESIDE_WIDTH: f64 = INDENT * NARROWEST + 3.0;
/// The largest number of lines of a name. The table has the whole name.
const NAME_LINES: usize = 3;
/// The left end of bars with names beside them.
const INDENT: f64 = 0.37;
/// The right end of the longest bar: its figure needs the rest.
const END: f64 = 0.83;
/// The same for bars with a ratio beside their figure.
const END_WITH_TIMES: f64 = 0.62;
/// The same where something is said beside a figure.
const END_WITH_NOTE: f64 = 0.5;
/// Height of a bar and of a line of text, in pixels.
const BAR: usize = 14;
const LINE: usize = 17;
const GAP: usize = 7;
/// Height of the ticks' labels and the axis label.
const FOOT: usize = 38;

/// A chart of bars.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bars {
    /// The title.
    pub title: String,
    /// A further sentence, such as which direction is better.
    pub about: String,
    /// The unit, shown at the axis.
    pub unit: String,
    /// Linear whatever the range: where lengths are compared, and a tiny figure may be invisible.
    pub linear: bool,
    /// The meaning of the colours, where names do not give it.
    pub legend: Vec<(Tone, String)>,
    /// The panels.
    pub panels: Vec<Panel>,
}

/// One drawing: rows of bars.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Panel {
    /// Its name; empty when there is only one.
    pub name: String,
    /// Its rows, from the top.
    pub rows: Vec<Row>,
    /// What is said beside the figures of rows, by their names.
    pub notes: Vec<(String, String)>,
}

/// A name and its bars.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Row {
    /// The name.
    pub name: String,
    /// One bar or several.
    pub bars: Vec<Bar>,
}

/// A figure.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Bar {
    /// Its subject.
    pub tone: Tone,
    /// The figure.
    pub value: f64,
    /// Smallest and largest sample.
    pub range: Option<(f64, f64)>,
}

impl Panel {
    /// A panel.
    pub fn new(name: &str, rows: Vec<Row>) -> Self {
        Panel {
            name: name.into(),
            rows,
            notes: Vec::new(),
        }
    }

    /// What is said beside the figure of a row.
    fn note(&self, row: &Row) -> &str {
        let note = self.notes.iter().find(|(name, _)| *name == row.name);
        note.map_or("", |(_, note)| note)
    }
}

impl Row {
    /// A row of one bar.
    pub fn one(name: &str, tone: Tone, value: f64) -> Self {
        Row {
            name: name.into(),
            bars: vec![Bar {
                tone,
                value,
                range: None,
            }],
        }
    }
}

impl Bar {
    /// Does it have a length?
    fn shown(&self) -> bool {
        self.value.is_finite() && self.value >= 0.0
    }

    /// The ratio of its figure to another bar's, as `×1.25`. `~×1.25`, if the ranges of the two overlap:
    /// another run may show the opposite. `None` where one of the two has no length.
    ///
    /// ```
    /// use quiescent_report::html::chart::Bar;
    /// let bar = |value, range| Bar { value, range, ..Bar::default() };
    /// let ours = bar(2.0, Some((1.75, 2.25)));
    /// assert_eq!(bar(5.0, None).times(&ours).as_deref(), Some("×2.50"));
    /// assert_eq!(bar(2.5, Some((2.0, 3.0))).times(&ours).as_deref(), Some("~×1.25"));
    /// assert_eq!(bar(5.0, None).times(&bar(0.0, None)), None);
    /// ```
    pub fn times(&self, other: &Bar) -> Option<String> {
        if !(self.shown() && other.shown() && self.value > 0.0 && other.value > 0.0) {
            return None;
        }
        let ends = |bar: &Bar| bar.spread().unwrap_or((bar.value, bar.value));
        let ((low, high), (least, most)) = (ends(self), ends(other));
        let noise = if low <= most && least <= high {
            "~"
        } else {
            ""
        };
        Some(format!("{noise}×{}", figure(self.value / other.value)))
    }

    /// The samples' range, if there is more than one.
    fn spread(&self) -> Option<(f64, f64)> {
        let (low, high) = self.range?;
        (low.is_finite() && high.is_finite() && 0.0 <= low && low < high).then_some((low, high))
    }
}

/// The measures that all panels of a chart share.
struct Layout<'a> {
    scale: Scale,
    beside: bool,
    /// The tone of the bar to which the others are compared.
    measure: Option<Tone>,
    /// Is every figure a count?
    whole: bool,
    /// Are some bars this project's and others not?
    mixed: bool,
    /// Is something said beside a figure?
    noted: bool,
    unit: &'a str,
    title: &'a str,
    about: &'a str,
}

impl Bars {
    fn all(&self) -> impl Iterator<Item = &Bar> {
        let rows = self.panels.iter().flat_map(|panel| &panel.rows);
        rows.flat_map(|row| &row.bars)
    }

    /// Is every figure a whole number, as counts are?
    fn is_whole(&self) -> bool {
        let ends = |bar: &Bar| {
            let (low, high) = bar.range.unwrap_or_default();
            [bar.value, low, high]
        };
        self.all()
            .flat_map(ends)
            .all(|it| it.fract() == 0.0 && it.abs() < 1e15)
    }

    fn scale(&self) -> Option<Scale> {
        let shown = || self.all().filter(|bar| bar.shown());
        let values = shown().map(|bar| bar.value);
        let scale = match self.linear {
            true => Scale::linear(values),
            false => Scale::from_zero(values),
        }?;
        let ranges = shown().filter_map(Bar::spread);
        Some(ranges.fold(scale, |scale, (_, high)| scale.up_to(high)))
    }

    /// The markup.
    pub fn render(&self) -> Markup {
        self.drawn(None, &self.figures())
    }

    /// As [`Bars::render`], with the ratio of each other bar to the bar of this tone in its panel
    /// ([`Bar::times`]), and with this table in place of the plain one.
    pub fn render_beside(&self, whose: Tone, figures: &Table) -> Markup {
        self.drawn(Some(whose), figures)
    }

    fn drawn(&self, measure: Option<Tone>, figures: &Table) -> Markup {
        let rows = || self.panels.iter().flat_map(|panel| &panel.rows);
        let beside = rows().all(|row| row.bars.len() == 1 && stands_beside(&row.name));
        let drawings = self.scale().map(|scale| {
            let layout = Layout {
                scale,
                beside,
                measure,
                whole: self.is_whole(),
                mixed: self
                    .all()
                    .any(|bar| !matches!(bar.tone, Tone::Ours | Tone::Missed)),
                noted: self.panels.iter().any(|panel| !panel.notes.is_empty()),
                unit: &self.unit,
                title: &self.title,
                about: &self.about,
            };
            html! {
                div class="panels" {
                    @for panel in &self.panels {
                        div {
                            @if !panel.name.is_empty() { h4 { (panel.name) } }
                            (layout.draw(panel))
                        }
                    }
                }
            }
        });
        let frame = Frame {
            title: &self.title,
            about: &self.about,
            legend: &self.legend,
            left_out: self.all().filter(|bar| !bar.shown()).count(),
        };
        frame.around(drawings, figures)
    }

    /// The figures as a table.
    fn figures(&self) -> Table {
        let head = ["", "", &self.unit, "smallest", "largest"];
        let mut table = Table::new(&self.title, &head, 2);
        for panel in &self.panels {
            for row in &panel.rows {
                for bar in &row.bars {
                    let whose = self.legend.iter().find(|it| it.0 == bar.tone);
                    let name = titled(&row.name, whose.map_or("", |it| &it.1));
                    let name = titled(&name, panel.note(row));
                    let (low, high) = bar.range.unwrap_or((bar.value, bar.value));
                    let cells = [bar.value, low, high].map(|it| said(it, self.is_whole()));
                    table.row([panel.name.clone(), name].into_iter().chain(cells));
                }
            }
        }
        table
    }
}

/// A figure, or a count in full.
fn said(value: f64, whole: bool) -> String {
    match whole {
        // The sum of no figures is negative zero.
        true => format!("{:.0}", value + 0.0),
        false => figure(value),
    }
}

/// Is there room for the names on the left?
fn stands_beside(name: &str) -> bool {
    name.chars().count() <= BESIDE && width(name, LETTER) <= BESIDE_WIDTH
}

impl Layout<'_> {
    fn end(&self) -> f64 {
        match self.measure {
            _ if self.noted => END_WITH_NOTE,
            Some(_) => END_WITH_TIMES,
            None => END,
        }
    }

    /// The lines of a row's name, where they are above its bars.
    fn name(&self, row: &Row) -> Vec<String> {
        wrapped(&row.name, NARROWEST, LETTER, NAME_LINES)
    }

    fn start(&self) -> f64 {
        if self.beside { INDENT } else { 0.0 }
    }

    /// The horizontal place of a figure.
    fn x(&self, figure: f64) -> f64 {
        self.start() + (self.end() - self.start()) * self.scale.at(figure)
    }

    /// The height of a row.
    fn height(&self, row: &Row) -> usize {
        let name = if self.beside { 0 } else { self.name(row).len() };
        name * LINE + row.bars.len() * (BAR + 2) + GAP
    }

    fn draw(&self, panel: &Panel) -> Markup {
        let body: usize = panel.rows.iter().map(|row| self.height(row)).sum();
        let tops = panel.rows.iter().scan(2, |top, row| {
            let here = *top;
            *top += self.height(row);
            Some(here)
        });
        html! {
            svg class="plot" role="img" height=(body + FOOT) {
                (spoken(&titled(self.title, &panel.name), self.about))
                (self.axis(body))
                @let measure = self.measured(panel);
                @for (row, top) in panel.rows.iter().zip(tops) {
                    (self.row(row, panel.note(row), top, measure))
                }
                // Names above the bars begin where this line would be.
                @if self.beside {
                    line class="base" x1=(percent(INDENT)) x2=(percent(INDENT)) y1="0" y2=(body) {}
                }
            }
        }
    }

    fn axis(&self, body: usize) -> Markup {
        let room = NARROWEST * (1.0 - self.start());
        let label = shortened(
            &axis_label(self.unit, self.scale.is_log()),
            room,
            LETTER - 1.0,
        );
        html! {
            @for (at, label) in labels(&self.scale.ticks(), |at| self.x(at)) {
                @let x = percent(self.x(at));
                line class="grid" x1=(x) x2=(x) y1="0" y2=(body) {}
                @let anchor = if self.x(at) < 0.02 { "start" } else { "middle" };
                @if let Some(label) = label {
                    text class="axis" x=(x) y=(body + 13) text-anchor=(anchor) { (label) }
                }
            }
            text class="axis" x=(percent(self.start())) y=(body + 29) { (label) }
        }
    }

    /// The bar of a panel to which the others are compared.
    fn measured<'a>(&self, panel: &'a Panel) -> Option<&'a Bar> {
        let bars = || panel.rows.iter().flat_map(|row| &row.bars);
        self.measure
            .and_then(|tone| bars().find(|bar| bar.tone == tone))
    }

    fn row(&self, row: &Row, note: &str, top: usize, measure: Option<&Bar>) -> Markup {
        let name = match self.beside {
            true => vec![row.name.clone()],
            false => self.name(row),
        };
        let first = if self.beside {
            top
        } else {
            top + name.len() * LINE
        };
        let ours = self.mixed && row.bars.len() == 1 && row.bars[0].tone == Tone::Ours;
        let class = if ours { "ours name" } else { "name" };
        html! {
            @for (line, y) in name.iter().zip((top + 11..).step_by(LINE)) {
                text class=(class) x="0" y=(y) { (line) }
            }
            @for (at, (bar, y)) in row.bars.iter().zip((first..).step_by(BAR + 2)).enumerate() {
                @let note = if at + 1 == row.bars.len() { note } else { "" };
                (self.bar(bar, note, y, measure))
            }
        }
    }

    fn bar(&self, bar: &Bar, note: &str, top: usize, measure: Option<&Bar>) -> Markup {
        let note = html! { @if !note.is_empty() { tspan class="times" dx="6" { (note) } } };
        if !bar.shown() {
            let x = percent(self.start() + 0.01);
            return html! { text class="axis" x=(x) y=(top + 11) { "-" (note) } };
        }
        let (start, end) = (self.start(), self.x(bar.value));
        let beyond = bar.spread().map_or(end, |(_, high)| self.x(high).max(end));
        let middle = top + BAR / 2;
        let others = measure.filter(|it| !std::ptr::eq(*it, bar));
        let times = others.and_then(|it| bar.times(it));
        html! {
            rect class=(bar.tone.class()) x=(percent(start)) y=(top)
                width=(percent(end - start)) height=(BAR) rx="2" {}
            @if let Some((low, high)) = bar.spread() {
                line class="range" x1=(percent(self.x(low))) x2=(percent(self.x(high)))
                    y1=(middle) y2=(middle) {}
            }
            text x=(percent(beyond + 0.015)) y=(top + 11) {
                (said(bar.value, self.whole && bar.value < 1e7))
                @if let Some(times) = times { tspan class="times" dx="6" { (times) } }
                (note)
            }
        }
    }
}
