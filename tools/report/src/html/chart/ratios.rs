//! Ratios: one figure over another, a dot in each row, with the band in which it should be.
//!
//! The compared figures may have any unit, so one chart holds figures of many kinds. All panels share one
//! scale, so that distances from 1 are comparable.

use super::{Frame, LETTER, NARROWEST, Tone, labels, spoken, titled};
use crate::html::letters::shortened;
use crate::html::scale::Scale;
use crate::html::table::Table;
use crate::text::number::{figure, percent, ratio};
use maud::{Markup, html};

const START: f64 = 0.45;
const END: f64 = 0.84;
const LINE: usize = 19;
const FOOT: usize = 38;

/// A chart of ratios.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ratios {
    /// The title.
    pub title: String,
    /// A further sentence.
    pub about: String,
    /// The two figures, shown at the axis.
    pub axis: String,
    /// The meaning of the colours.
    pub legend: Vec<(Tone, String)>,
    /// Panels: a name and its rows.
    pub panels: Vec<(String, Vec<Ratio>)>,
}

/// A ratio.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ratio {
    /// Its name.
    pub name: String,
    /// Its colour.
    pub tone: Tone,
    /// The ratio.
    pub value: f64,
    /// The allowed distance from 1.
    pub allowed: f64,
}

impl Ratios {
    fn all(&self) -> impl Iterator<Item = &Ratio> {
        self.panels.iter().flat_map(|it| &it.1)
    }

    /// The markup.
    pub fn render(&self) -> Markup {
        let shown: Vec<&Ratio> = self.all().filter(|it| it.value.is_finite()).collect();
        let figures = shown
            .iter()
            .flat_map(|it| [it.value, 1.0 - it.allowed, 1.0 + it.allowed]);
        let scale = match shown.is_empty() {
            true => None,
            false => Scale::around(figures),
        };
        let drawings = scale.map(|scale| {
            html! {
                div class="panels" {
                    @for (name, ratios) in &self.panels {
                        div {
                            @if !name.is_empty() { h4 { (name) } }
                            (self.draw(&scale, name, ratios))
                        }
                    }
                }
            }
        });
        let frame = Frame {
            title: &self.title,
            about: &self.about,
            legend: &self.legend,
            left_out: self.all().count() - shown.len(),
        };
        frame.around(drawings, &self.figures())
    }

    fn figures(&self) -> Table {
        let mut table = Table::new(&self.title, &["", "", &self.axis, "allowed"], 2);
        for (name, ratios) in &self.panels {
            for it in ratios {
                let allowed = format!("{} %", figure(100.0 * it.allowed));
                table.row([name.clone(), it.name.clone(), ratio(it.value, 4), allowed]);
            }
        }
        table
    }

    fn draw(&self, scale: &Scale, name: &str, ratios: &[Ratio]) -> Markup {
        let body = ratios.len() * LINE + 4;
        let share = |figure: f64| START + (END - START) * scale.at(figure);
        let x = |figure: f64| percent(share(figure));
        html! {
            svg class="plot" role="img" height=(body + FOOT) {
                (spoken(&titled(&self.title, name), &self.about))
                @for (it, top) in ratios.iter().zip((0..).step_by(LINE)) {
                    (band(scale, it, top))
                }
                @for (at, label) in labels(&scale.ticks(), share) {
                    line class="grid" x1=(x(at)) x2=(x(at)) y1="0" y2=(body) {}
                    @if let Some(label) = label {
                        text class="axis" x=(x(at)) y=(body + 13) text-anchor="middle" { (label) }
                    }
                }
                line class="base" x1=(x(1.0)) x2=(x(1.0)) y1="0" y2=(body) {}
                text class="axis" x=(percent(START)) y=(body + 29) { (self.axis) }
                @for (it, top) in ratios.iter().zip((0..).step_by(LINE)) {
                    // The table has the whole name.
                    text x="0" y=(top + 14) { (shortened(&it.name, START * NARROWEST, LETTER)) }
                    text x=(percent(END + 0.03)) y=(top + 14) { (ratio(it.value, 3)) }
                    @if it.value.is_finite() {
                        circle class=(it.tone.class()) cx=(x(it.value)) cy=(top + LINE / 2 + 1) r="4.5" {}
                    }
                }
            }
        }
    }
}

fn band(scale: &Scale, it: &Ratio, top: usize) -> Markup {
    let (low, high) = (scale.at(1.0 - it.allowed), scale.at(1.0 + it.allowed));
    let across = END - START;
    html! {
        rect class="band" x=(percent(START + across * low)) width=(percent(across * (high - low))) y=(top + 2)
            height=(LINE - 2) {}
    }
}
