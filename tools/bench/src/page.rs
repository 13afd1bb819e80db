//! What was found as a page: one HTML file with charts that can be sent to somebody.
//!
//! All of them have the same head and look, which are `quiescent-page`'s, and are made from the structures that the text and the JSON are made from:
//!
//! | page | of | shows |
//! |---|---|---|
//! | [`render`] | `reproduce` | the targets, the library beside other libraries, this kernel's grace periods, the experiments on the machine model |
//! | [`measured`] | `bench` and its commands | each metric of the report: a chart with a panel for each case, a table with the ranges |
//! | [`torture`], [`machines`] | `torture`, `torture --sim` | the verdict, what was found and what happened last, histograms, who did how much |
//!
//! What an experiment looks like is decided by the shape of its comparisons (`model`) and not by its name, and what a command measures by its rows
//! (`families`), so a new one needs no change here; every row of a report is in the last table of its page, whether a chart shows it or not. A run that was
//! stopped has a page too, which says so at its head.

mod families;
mod frame;
mod head;
mod kernel;
mod library;
mod listings;
mod machines;
mod measured;
mod metrics;
mod model;
mod rows;
mod sentences;
mod targets;
mod torture;
pub mod whatif;

pub use machines::{Found, machines};
pub use measured::measured;
pub use torture::{About, torture};

use crate::reproduce::Reproduced;
use quiescent_page::Markup;
use quiescent_page::document;
use quiescent_page::report::{self, Head, Section};
use std::time::{Duration, SystemTime};

/// What every page of ours says made it, in front of the command's name; see [`is_ours`].
const PROGRAM: &str = "quiescent ";
const REPRODUCE: &str = "reproduce";
const BENCH: &str = "bench";
const TORTURE: &str = "torture";

/// What a report does not say about its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occasion {
    /// When it began.
    pub began: SystemTime,
    /// How long it took.
    pub elapsed: Duration,
    /// How it was asked for.
    pub command_line: String,
    /// The version of the program.
    pub version: String,
    /// Whether it was stopped before its end.
    pub stopped: bool,
}

impl Occasion {
    /// The command that does the same again: as it was asked for, with the seed if that was drawn.
    pub fn again(&self, seed: u64) -> String {
        let words = &self.command_line;
        match words.contains("--seed") {
            true => words.clone(),
            false => format!("{words} --seed {seed}"),
        }
    }
}

/// Whether a file is a page of ours, and may be written anew.
pub fn is_ours(text: &str) -> bool {
    document::made_by_any(text, PROGRAM)
}

/// A page of this command.
fn page(title: String, command: &str, head: Head, sections: Vec<Section>) -> String {
    let page = report::Report {
        title,
        generator: format!("{PROGRAM}{command}"),
        head,
        sections,
    };
    page.render()
}

/// The page of `reproduce`.
pub fn render(found: &Reproduced, occasion: &Occasion) -> String {
    let kernel = found.benchmark.as_ref().and_then(kernel::body);
    let sections = vec![
        Section::new("targets", "Targets", targets::body(&found.targets)),
        Section::new(
            "library",
            "The library beside other libraries",
            library::body(&found.report),
        ),
        Section::new(
            "kernel",
            "Grace periods: this kernel, this library, as published",
            kernel,
        ),
        Section::new(
            "model",
            "The machine model beside real machines",
            model::body(&found.modelled),
        ),
        Section::new("notes", "Notes", notes(&found.notes)),
        Section::new("rows", "All figures", rows::body(&found.report)),
    ];
    let head = head::reproduced(found, occasion);
    page(
        "quiescent: figures of one run".into(),
        REPRODUCE,
        head,
        sections,
    )
}

fn notes(notes: &[String]) -> Option<Markup> {
    (!notes.is_empty()).then(|| report::notes(notes))
}

#[cfg(test)]
mod tests;
