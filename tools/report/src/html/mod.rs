//! Self-contained HTML pages with SVG charts.
//!
//! A page is one file: it loads nothing, needs no script, and contains its one style sheet. It works on wide
//! and narrow screens, with light and dark settings (`prefers-color-scheme`), on paper, and with a screen
//! reader.
//!
//! | module | job |
//! |---|---|
//! | [`document`] | the file around the body: head, style sheet, generator mark |
//! | [`layout`] | the head that every command's page has; sections and the links to them |
//! | [`table`] | a table that scrolls inside itself where the screen is narrow |
//! | [`chart`] | bars, points, ratios and lanes of time as SVG, with titles, axes and figures as a table |
//! | [`scale`] | from figures to places: linear or logarithmic; ticks |
//! | [`terminal`] | a terminal's screen as an SVG picture |
//!
//! Invariants: the templates escape every text. Horizontal positions are *shares of the width* and vertical
//! ones are pixels, so a chart fills any width and its letters keep their size. A chart does not draw figures
//! that are not finite: it shows their number.
//!
//! ```
//! use quiescent_report::html::chart::{Bars, Panel, Row, Tone};
//! use quiescent_report::html::document::Document;
//!
//! let rows = vec![Row::one("ours", Tone::Ours, 1.4), Row::one("<theirs>", Tone::Peer, 17.9)];
//! let panels = vec![Panel::new("", rows)];
//! let bars = Bars { title: "A pair".into(), unit: "ns".into(), panels, ..Bars::default() };
//! let page = Document::new("Report", "example").render(bars.render());
//! assert!(page.contains("&lt;theirs&gt;") && page.contains("<svg"));
//! ```

pub mod chart;
pub mod document;
pub mod layout;
mod letters;
pub mod scale;
pub mod table;
pub mod terminal;

pub use maud::{Markup, PreEscaped, html};
