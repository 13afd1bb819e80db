//! Points in a plane, joined or not: a figure over another.
//!
//! A guide shows where points should be: within a share of the diagonal (real figures horizontally, the
//! model's vertically), or of a level. Both axes of a chart with a diagonal have the same scale.

use super::{Frame, Tone, axis_label, labels, spoken};
use crate::html::scale::Scale;
use crate::html::table::Table;
use crate::text::number::{figure, percent, tick};
use maud::{Markup, html};

/// The left and right end of the plane.
const LEFT: f64 = 0.14;
const RIGHT: f64 = 0.98;
/// Its top, and its height, in pixels.
const TOP: usize = 24;
const HEIGHT: usize = 260;
/// The height of the part below it.
const FOOT: usize = 38;
/// The number of rows beyond which a table is cut.
const STEPS: usize = 24;

/// A chart of points.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Points {
    /// The title.
    pub title: String,
    /// A further sentence.
    pub about: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Where points should be.
    pub guide: Option<Guide>,
    /// The points.
    pub series: Vec<Series>,
}

/// The quantity of an axis.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Axis {
    /// Its name.
    pub name: String,
    /// The unit; empty for a ratio or a count.
    pub unit: String,
}

/// Where points should be: within this share of a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Guide {
    /// Of the diagonal.
    Diagonal(f64),
    /// Of 1.
    One(f64),
}

/// Points of one kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    /// The subject.
    pub name: String,
    /// Their colour.
    pub tone: Tone,
    /// Do lines join them?
    pub joined: bool,
    /// The points.
    pub points: Vec<Point>,
}

/// A point.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Point {
    /// Its name, in the table.
    pub name: String,
    /// The horizontal figure.
    pub x: f64,
    /// The vertical figure.
    pub y: f64,
}

impl Axis {
    /// An axis.
    pub fn new(name: &str, unit: &str) -> Self {
        Axis {
            name: name.into(),
            unit: unit.into(),
        }
    }

    fn label(&self) -> String {
        match self.unit.as_str() {
            "" => self.name.clone(),
            unit => format!("{}, {unit}", self.name),
        }
    }
}

impl Point {
    fn shown(&self) -> bool {
        self.x.is_finite() && self.y.is_finite()
    }
}

/// The two scales of a chart.
struct Plane<'a> {
    x: Scale,
    y: Scale,
    chart: &'a Points,
}

impl Points {
    fn all(&self) -> impl Iterator<Item = &Point> {
        self.series.iter().flat_map(|it| &it.points)
    }

    fn plane(&self) -> Option<Plane<'_>> {
        let shown = || self.all().filter(|it| it.shown());
        let (xs, ys) = (|| shown().map(|it| it.x), || shown().map(|it| it.y));
        let (x, y) = match self.guide {
            Some(Guide::Diagonal(_)) => {
                let both = Scale::around(xs().chain(ys()))?;
                (both, both)
            }
            // The whole band, and a margin.
            Some(Guide::One(share)) => {
                let band = [1.0 - 1.2 * share, 1.0 + 1.2 * share];
                (Scale::around(xs())?, Scale::around(ys().chain(band))?)
            }
            None if ys().all(|y| y >= 0.0) => (Scale::around(xs())?, Scale::from_zero(ys())?),
            None => (Scale::around(xs())?, Scale::around(ys())?),
        };
        Some(Plane { x, y, chart: self })
    }

    /// The markup.
    pub fn render(&self) -> Markup {
        let empty = self.all().all(|it| !it.shown());
        let plane = if empty { None } else { self.plane() };
        let drawing = plane.map(|plane| plane.draw());
        let several = self.series.len() > 1;
        let legend: Vec<(Tone, String)> = match several {
            true => self
                .series
                .iter()
                .map(|it| (it.tone, it.name.clone()))
                .collect(),
            false => Vec::new(),
        };
        let frame = Frame {
            title: &self.title,
            about: &self.about,
            legend: &legend,
            left_out: self.all().filter(|it| !it.shown()).count(),
        };
        frame.around(drawing, &self.figures())
    }

    fn figures(&self) -> Table {
        let (x, y) = (self.x.label(), self.y.label());
        let mut table = Table::new(&self.title, &["", "", &x, &y], 2);
        for series in &self.series {
            for point in &series.points {
                let words = [series.name.clone(), point.name.clone()];
                table.row(words.into_iter().chain([point.x, point.y].map(figure)));
            }
        }
        table
    }
}

impl Plane<'_> {
    fn across(&self, figure: f64) -> String {
        percent(LEFT + (RIGHT - LEFT) * self.x.at(figure))
    }

    fn up(&self, figure: f64) -> String {
        let down = (1.0 - self.y.at(figure)) * HEIGHT as f64;
        format!("{:.1}", TOP as f64 + down)
    }

    fn draw(&self) -> Markup {
        html! {
            svg class="plot" role="img" height=(TOP + HEIGHT + FOOT) {
                (spoken(&self.chart.title, &self.chart.about))
                (self.band())
                (self.axes())
                @for series in &self.chart.series { (self.series(series)) }
            }
        }
    }

    fn axes(&self) -> Markup {
        let (x, y) = (self.chart.x.label(), self.chart.y.label());
        let bottom = TOP + HEIGHT;
        let (left, right) = (percent(LEFT), percent(RIGHT));
        html! {
            text class="axis" x="0" y="11" { (axis_label(&y, self.y.is_log())) }
            @for at in self.y.ticks() {
                @let y = self.up(at);
                line class="grid" x1=(left) x2=(right) y1=(y) y2=(y) {}
                text class="axis" x=(percent(LEFT - 0.015)) y=(y) dy="4" text-anchor="end" { (tick(at)) }
            }
            @for (at, label) in labels(&self.x.ticks(), |at| LEFT + (RIGHT - LEFT) * self.x.at(at)) {
                @let x = self.across(at);
                line class="grid" x1=(x) x2=(x) y1=(TOP) y2=(bottom) {}
                @if let Some(label) = label {
                    text class="axis" x=(x) y=(bottom + 14) text-anchor="middle" { (label) }
                }
            }
            line class="base" x1=(left) x2=(right) y1=(bottom) y2=(bottom) {}
            text class="axis" x=(right) y=(bottom + 31) text-anchor="end" {
                (axis_label(&x, self.x.is_log()))
            }
        }
    }

    /// The area that the guide allows, in a drawing that is stretched over the plane.
    fn band(&self) -> Markup {
        let Some(guide) = self.chart.guide else {
            return html! {};
        };
        let corners = match guide {
            Guide::Diagonal(share) => self.diagonal(share),
            Guide::One(share) => {
                let (low, high) = (self.y.at(1.0 - share), self.y.at(1.0 + share));
                vec![(0.0, low), (0.0, high), (1.0, high), (1.0, low)]
            }
        };
        let corners: Vec<String> = corners
            .iter()
            .map(|(x, y)| format!("{:.4},{:.4}", x, 1.0 - y))
            .collect();
        html! {
            svg x=(percent(LEFT)) y=(TOP) width=(percent(RIGHT - LEFT)) height=(HEIGHT) viewBox="0 0 1 1"
                preserveAspectRatio="none" {
                polygon class="band" points=(corners.join(" ")) {}
            }
        }
    }

    /// The corners of the band around the diagonal: its upper edge there, its lower edge back.
    fn diagonal(&self, share: f64) -> Vec<(f64, f64)> {
        let (low, high) = self.x.ends();
        let steps = (0..=STEPS).map(|step| step as f64 / STEPS as f64);
        let xs: Vec<f64> = steps
            .map(|part| match self.x.is_log() {
                true => low * (high / low).powf(part),
                false => low + (high - low) * part,
            })
            .collect();
        let edge = |factor: f64| {
            let corner = move |x: &f64| (self.x.at(*x), self.y.at(x * factor));
            xs.iter().map(corner).collect::<Vec<_>>()
        };
        let mut corners = edge(1.0 + share);
        corners.extend(edge(1.0 - share).into_iter().rev());
        corners
    }

    fn series(&self, series: &Series) -> Markup {
        let shown: Vec<&Point> = series.points.iter().filter(|it| it.shown()).collect();
        let class = series.tone.class();
        html! {
            @if series.joined {
                @for pair in shown.windows(2) {
                    line class={ "join " (class) } x1=(self.across(pair[0].x)) y1=(self.up(pair[0].y))
                        x2=(self.across(pair[1].x)) y2=(self.up(pair[1].y)) {}
                }
            }
            @for point in shown {
                circle class=(class) cx=(self.across(point.x)) cy=(self.up(point.y)) r="4" {}
            }
        }
    }
}
