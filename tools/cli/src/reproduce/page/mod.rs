//! The page of `reproduce`: the targets, the library beside other libraries, this kernel's grace periods, the
//! experiments on the machine model.
//!
//! The page is made from the same structures as the text and the JSON, and its last table has every row.

mod head;
mod kernel;
mod library;

use super::Reproduced;
use quiescent_report::Occasion;
use quiescent_report::html::Markup;
use quiescent_report::html::layout::{self, Section};
use quiescent_report::pages::{page, rows, targets};
use quiescent_sim::experiments::show;

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
            show::page::body(&found.modelled),
        ),
        Section::new("notes", "Notes", notes(&found.notes)),
        Section::new("rows", "All figures", rows::body(&found.report)),
    ];
    let head = head::reproduced(found, occasion);
    page(
        "quiescent: figures of one run".into(),
        "reproduce",
        head,
        sections,
    )
}

fn notes(notes: &[String]) -> Option<Markup> {
    (!notes.is_empty()).then(|| layout::notes(notes))
}

#[cfg(test)]
mod tests;
