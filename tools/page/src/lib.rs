//! Self-contained HTML pages with SVG charts, for the reports of the `quiescent` command.
//!
//! A page is one file that can be sent to somebody: it loads nothing, needs no script, and has its one style sheet in
//! itself. It is read on a desk and on a phone, by day and by night (`prefers-color-scheme`), by eye and by screen reader.
//!
//! | module | job |
//! |---|---|
//! | [`document`] | the file around the body: head, style sheet, who made it |
//! | [`report`] | the same beginning for every command: what was run, where, how it went; sections and the links to them |
//! | [`table`] | a table that scrolls inside itself where the screen is narrow |
//! | [`chart`] | bars, points, ratios and lanes of time as SVG, each with its title, its axes and its figures as a table |
//! | [`scale`] | from figures to places: linear or logarithmic, and where the ticks are |
//! | [`number`] | figures for people |
//! | [`terminal`] | a screen of letters as a picture |
//!
//! Three rules hold throughout. Text is escaped where it is put in, by the templates. A place across is a *share of
//! the width* and a place down is pixels: a chart fills whatever width there is, and its letters stay as large as the page's.
//! And no figure that is not finite reaches a chart; it is counted, and the chart says how many it left out.
//!
//! ```
//! use quiescent_page::chart::{Bars, Panel, Row, Tone};
//! use quiescent_page::document::Document;
//!
//! let rows = vec![Row::one("ours", Tone::Ours, 1.4), Row::one("<theirs>", Tone::Peer, 17.9)];
//! let bars = Bars { title: "A pair".into(), unit: "ns".into(), panels: vec![Panel::new("", rows)], ..Bars::default() };
//! let page = Document::new("Report", "example").render(bars.render());
//! assert!(page.contains("&lt;theirs&gt;") && page.contains("<svg"));
//! ```

pub mod chart;
pub mod document;
mod letters;
pub mod number;
pub mod report;
pub mod scale;
pub mod table;
pub mod terminal;

pub use maud::{Markup, PreEscaped, html};
