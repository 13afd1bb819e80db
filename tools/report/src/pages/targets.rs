//! The targets: those that were not met first, then all of them.

use crate::html::table::{Cell, Table};
use crate::html::{Markup, html};
use crate::text::number::figure;
use crate::verdict::{Sense, Target};

// The answer first: on a narrow screen the other columns are behind the edge.
const HEAD: [&str; 5] = ["met?", "target", "measured", "bound", "of bound"];

/// Those that were not met, and all of them folded; nothing without a target.
pub fn body(targets: &[Target]) -> Option<Markup> {
    if targets.is_empty() {
        return None;
    }
    let missed = table("Targets not met", targets, |it| it.met() == Some(false));
    let all = table("All targets", targets, |_| true);
    let line = format!("All {} targets", targets.len());
    Some(html! {
        p class="soft" {
            "A bound that names a peer is that peer's figure of this run. Times are medians on a shared \
             machine; a target not met is reported, and the command does not fail."
        }
        @if missed.is_empty() {
            p { "Of what was measured, every target is met." }
        } @else {
            h3 { "Not met" }
            (missed.render())
        }
        (all.folded(&line))
    })
}

fn table(name: &str, targets: &[Target], wanted: impl Fn(&Target) -> bool) -> Table {
    let mut table = Table::new(name, &HEAD, 2);
    for target in targets.iter().filter(|it| wanted(it)) {
        let or_dash = |value: Option<f64>| value.map_or("-".into(), figure);
        let measured = target
            .ours
            .map(|it| format!("{} {}", figure(it), target.unit));
        let side = match target.sense {
            Sense::AtMost => "≤",
            Sense::AtLeast => "≥",
        };
        let met = match target.met() {
            Some(true) => Cell::good("yes"),
            Some(false) => Cell::bad("NO"),
            None => Cell::faint("not measured"),
        };
        table.row([
            met,
            Cell::from(target.what.clone()),
            measured.unwrap_or("-".into()).into(),
            format!("{side} {}", or_dash(target.bound)).into(),
            or_dash(target.ratio()).into(),
        ]);
    }
    table
}
