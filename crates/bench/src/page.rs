//! `reproduce` as a page: one HTML file with charts that can be sent to somebody.
//!
//! It shows what the text shows, from the same structures: the targets, the library beside other libraries, this kernel's
//! grace periods, the experiments on the machine model with what they assume, the notes. What an experiment looks like is
//! decided by the shape of its comparisons (`model`) and not by its name, so a new one needs no change here; and every
//! row of the report is in the last table, whether a chart shows it or not. A run that was stopped has a page too, which
//! says so at its head.

mod frame;
mod head;
mod kernel;
mod library;
mod listings;
mod model;
mod rows;
mod sentences;
mod targets;
pub mod whatif;

use crate::reproduce::Reproduced;
use quiescent_page::document::{self, Document};
use quiescent_page::{Markup, html};
use std::time::{Duration, SystemTime};

/// What the page says made it; see [`is_ours`].
const GENERATOR: &str = "quiescent reproduce";

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

/// Whether a file is a page of ours, and may be written anew.
pub fn is_ours(text: &str) -> bool {
    document::made_by(text, GENERATOR) || document::made_by(text, whatif::GENERATOR)
}

/// A part of the page; nothing of a part that has nothing to show is on it.
struct Section {
    id: &'static str,
    title: &'static str,
    body: Option<Markup>,
}

/// The page.
pub fn render(found: &Reproduced, occasion: &Occasion) -> String {
    let sections = [
        Section {
            id: "targets",
            title: "Targets",
            body: targets::body(&found.targets),
        },
        Section {
            id: "library",
            title: "The library beside other libraries",
            body: library::body(&found.report),
        },
        Section {
            id: "kernel",
            title: "Grace periods: this kernel, this library, as published",
            body: found.benchmark.as_ref().and_then(kernel::body),
        },
        Section {
            id: "model",
            title: "The machine model beside real machines",
            body: model::body(&found.modelled),
        },
        Section {
            id: "notes",
            title: "Notes",
            body: notes(&found.notes),
        },
        Section {
            id: "rows",
            title: "All figures",
            body: rows::body(&found.report),
        },
    ];
    let shown = || sections.iter().filter(|it| it.body.is_some());
    let body = html! {
        header {
            (head::body(found, occasion))
            nav aria-label="Sections" { ul {
                @for it in shown() { li { a href={ "#" (it.id) } { (it.title) } } }
            } }
        }
        @for it in shown() {
            section id=(it.id) { h2 { (it.title) } (it.body.as_ref().unwrap_or(&html! {})) }
        }
    };
    Document::new("quiescent: figures of one run", GENERATOR).render(body)
}

fn notes(notes: &[String]) -> Option<Markup> {
    (!notes.is_empty()).then(|| list(notes))
}

/// Notes as a list; what is in backquotes is code.
fn list(notes: &[String]) -> Markup {
    html! {
        ul class="notes" {
            @for note in notes {
                li {
                    @for (index, part) in note.split('`').enumerate() {
                        @if index % 2 == 1 { code { (part) } } @else { (part) }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
