//! Charts: a figure with its title, its drawing, and the same figures as a folded table.
//!
//! A drawing is an SVG without a `viewBox`: horizontal places are per cent of its width, vertical ones are
//! pixels. So it fills the available width, and its text has the same size everywhere. Colour comes from the
//! style sheet by [`Tone`], never from an attribute, and colour is never the only sign. `role="img"`,
//! `<title>` and `<desc>` describe a drawing to a screen reader; the figures of single marks are in the
//! table.

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

/// The subject of a mark: its colour.
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

/// The width of the narrowest drawing, and the height of its letters, in pixels.
const NARROWEST: f64 = 300.0;
const LETTER: f64 = 12.0;

/// Ticks with their labels; a label that would touch the one before it, in the narrowest drawing, is left
/// out, and its line stays. `share` is the horizontal place of a tick.
fn labels(ticks: &[f64], share: impl Fn(f64) -> f64) -> Vec<(f64, Option<String>)> {
    let mut free = f64::NEG_INFINITY;
    let labelled = ticks.iter().map(|&at| {
        let label = tick(at);
        let (middle, half) = (share(at) * NARROWEST, width(&label, LETTER - 1.0) / 2.0);
        // The label of a tick at the left end is to the right of its line.
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

/// The parts of a chart around its drawings.
struct Frame<'a> {
    title: &'a str,
    about: &'a str,
    legend: &'a [(Tone, String)],
    /// The number of figures without a place: not finite, or negative where only lengths are shown.
    left_out: usize,
}

impl Frame<'_> {
    /// The figure; without drawings a line says that there is nothing to show.
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

/// The start of a drawing, with a description for screen readers.
fn spoken(title: &str, about: &str) -> Markup {
    html! { title { (title) } desc { (about) } }
}

/// A title with a description of the panel.
fn titled(title: &str, panel: &str) -> String {
    match panel {
        "" => title.into(),
        panel => format!("{title}: {panel}"),
    }
}

/// The label of an axis, with the kind of its scale.
fn axis_label(text: &str, log: bool) -> String {
    match log {
        true => format!("{text}, logarithmic"),
        false => text.into(),
    }
}

#[cfg(test)]
mod tests;
