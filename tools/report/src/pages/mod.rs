//! Whole pages of HTML, made from the same report as the text and the JSON.
//!
//! Pages, what each is of, and what it shows:
//!
//! * [`measured`]: `bench` and its commands; a chart and a table for each metric
//! * [`torture`], [`machines`]: `torture`, `torture --sim`; verdict, findings, last events, histograms,
//!   counts
//!
//! Other crates make their own pages from the same parts: [`head`], [`rows`], [`targets`], and [`page`]
//! around them. The rows of a report decide what its page shows (`families`), so a new command needs no
//! change here. The last table of every page has every row, whether a chart shows it or not. A run that was
//! stopped has a page, too, and its head says so.

mod families;
pub mod head;
mod machines;
mod measured;
mod metrics;
pub mod rows;
pub mod targets;
mod torture;

pub use machines::{Found, machines};
pub use measured::measured;
pub use torture::{About, torture};

use crate::html::chart::{self, Bar, Panel, Tone};
use crate::html::document;
use crate::html::layout::{Head, Page, Section};
use crate::{OURS, Row};

/// Every page names this program and the command that made it; see [`is_ours`].
const PROGRAM: &str = "quiescent ";
const BENCH: &str = "bench";
const TORTURE: &str = "torture";

/// Is the file a page of this program, which may be overwritten?
pub fn is_ours(text: &str) -> bool {
    document::made_by(text, PROGRAM)
}

/// A page of this command.
pub fn page(title: String, command: &str, head: Head, sections: Vec<Section>) -> String {
    let page = Page {
        title,
        generator: format!("{PROGRAM}{command}"),
        head,
        sections,
    };
    page.render()
}

/// The bar of a row in units of `scale`: the median, with the range where there are several samples.
pub fn bar(row: &Row, scale: f64) -> Bar {
    Bar {
        tone: match row.subject == OURS {
            true => Tone::Ours,
            false => Tone::Peer,
        },
        value: row.median / scale,
        range: (row.n > 1).then_some((row.min / scale, row.max / scale)),
    }
}

/// A panel for each case, a bar in it for each subject, in the order of the rows.
pub fn panels_by_case<'a>(rows: impl Iterator<Item = &'a Row>, scale: f64) -> Vec<Panel> {
    let mut panels: Vec<Panel> = Vec::new();
    for it in rows {
        let row = chart::Row {
            name: it.subject.clone(),
            bars: vec![bar(it, scale)],
        };
        match panels.iter_mut().find(|panel| panel.name == it.case) {
            Some(panel) => panel.rows.push(row),
            None => panels.push(Panel::new(&it.case, vec![row])),
        }
    }
    panels
}
