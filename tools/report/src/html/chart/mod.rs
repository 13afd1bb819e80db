//! Charts: a figure with its title, its drawing, and the same figures as a table behind a line that opens it.
//!
//! A drawing is an SVG without a `viewBox`: across everything is in per cent of its width, down everything is
//! in pixels. So it is as wide as there is room, and its text is of the same size everywhere. Colour comes
//! from the style sheet by [`Tone`], never from an attribute, and nothing is said by colour alone.
//! `role="img"`, `<title>` and `<desc>` say to a screen reader what there is; figures of single marks are in
//! the table.

mod bars;
mod lanes;
mod points;
mod ratios;

pub use bars::{Bar, Bars, Panel, Row};
pub use lanes::{Lane, LanePanel, Lanes, Paint, Stretch};
pub use points::{Axis, Guide, Point, Points, Series};
pub use ratios::{Ratio, Ratios};

use crate::html::letters::width;
use crate::html::table::Table;
use crate::text::number::tick;
use maud::{Markup, html};

/// Whose figure a mark is: its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    /// This project's.
    Ours,
    /// Another subject's.
    #[default]
    Peer,
    /// A real machine's.
    Real,
    /// The model's.
    Model,
    /// The model's, with a parameter fitted to it.
    Fitted,
    /// The model's, after a change.
    Changed,
    /// Too far off.
    Missed,
}

impl Tone {
    /// Its class in the style sheet.
    pub fn class(self) -> &'static str {
        match self {
            Tone::Ours => "ours",
            Tone::Peer => "peer",
            Tone::Real => "real",
            Tone::Model => "model",
            Tone::Fitted => "fitted",
            Tone::Changed => "changed",
            Tone::Missed => "missed",
        }
    }
}

/// The narrowest drawing there is, in pixels, and how high its letters are.
const NARROWEST: f64 = 300.0;
const LETTER: f64 = 12.0;

/// Ticks with their labels; a label that would touch the one before it, in the narrowest drawing, is left
/// out, and its line stays. `share` is where a tick is, across.
fn labels(ticks: &[f64], share: impl Fn(f64) -> f64) -> Vec<(f64, Option<String>)> {
    let mut free = f64::NEG_INFINITY;
    let labelled = ticks.iter().map(|&at| {
        let label = tick(at);
        let (middle, half) = (share(at) * NARROWEST, width(&label, LETTER - 1.0) / 2.0);
        // One at the very beginning is put to the right of its line.
        let (from, to) = match share(at) < 0.02 {
            true => (middle, middle + 2.0 * half),
            false => (middle - half, middle + half),
        };
        let fits = from >= free;
        if fits {
            free = to + 5.0;
        }
        (at, fits.then_some(label))
    });
    labelled.collect()
}

/// What goes around the drawings of a chart.
struct Frame<'a> {
    title: &'a str,
    about: &'a str,
    legend: &'a [(Tone, String)],
    /// Marks without a place: figures that are not finite, or negative where only lengths are shown.
    left_out: usize,
}

impl Frame<'_> {
    /// The figure; without drawings it says that there is nothing to show.
    fn around(&self, drawings: Option<Markup>, figures: &Table) -> Markup {
        html! {
            figure class="chart" {
                figcaption {
                    b { (self.title) }
                    @if !self.about.is_empty() { span class="more" { (self.about) } }
                }
                @if !self.legend.is_empty() {
                    ul class="legend" {
                        @for (tone, name) in self.legend { li { i class=(tone.class()) {} (name) } }
                    }
                }
                @match drawings {
                    Some(drawings) => { (drawings) },
                    None => { p class="empty" { "Nothing was measured." } },
                }
                @if self.left_out > 0 {
                    p class="empty" { (self.left_out) " figures have no place here; they are in the table." }
                }
                @if !figures.is_empty() { (figures.folded("The figures as a table")) }
            }
        }
    }
}

/// The opening of a drawing for those who do not see it.
fn spoken(title: &str, about: &str) -> Markup {
    html! { title { (title) } desc { (about) } }
}

/// A title with what a panel shows of it.
fn titled(title: &str, panel: &str) -> String {
    match panel {
        "" => title.into(),
        panel => format!("{title}: {panel}"),
    }
}

/// The label of an axis, with what kind of scale it has.
fn axis_label(text: &str, log: bool) -> String {
    match log {
        true => format!("{text}, logarithmic"),
        false => text.into(),
    }
}

#[cfg(test)]
mod tests;
