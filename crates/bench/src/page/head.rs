//! The head of the page: what this is, when and where it was measured, and how it went, in a few numbers.

use super::Occasion;
use crate::reproduce::Reproduced;
use quiescent_page::{Markup, html};
use quiescent_sim::experiments::Basis;
use serde_json::Value;
use std::time::Duration;

pub(super) fn body(found: &Reproduced, occasion: &Occasion) -> Markup {
    html! {
        h1 { "quiescent: figures of one run" }
        p class="soft" {
            "What "
            code { "quiescent reproduce" }
            " found: the library beside others on this machine, this machine's kernel, and the machine model beside real \
             kernels and published figures. Peers were measured in turn, within this run; no figure is compared with one \
             from another run, except where it is called published."
        }
        @if occasion.stopped {
            p class="alarm" role="note" { strong { "Incomplete: " } "the run was stopped. What is missing here was not measured." }
        }
        (counts(found))
        dl class="facts" {
            @for (name, value) in facts(found, occasion) { dt { (name) } dd { (value) } }
        }
    }
}

/// The numbers at a glance; what did not go well is shown even when it is little.
fn counts(found: &Reproduced) -> Markup {
    let met = |wanted| {
        let of = found.targets.iter().filter(|it| it.met() == wanted);
        of.count()
    };
    let all = || found.modelled.comparisons();
    let own = || all().filter(|it| it.basis != Basis::Fitted);
    let near = own().filter(|it| it.holds()).count();
    let fitted = all().count() - own().count();
    let says = found.modelled.shown().filter_map(|it| it.holds());
    let (kept, broken): (Vec<bool>, Vec<bool>) = says.partition(|it| *it);
    let count = |class: &str, number: usize, what: &str| {
        let class = if number > 0 { class } else { "" };
        html! { div class={ "count " (class) } { b { (number) } span { (what) } } }
    };
    html! {
        div class="counts" {
            (count("good", met(Some(true)), "targets met"))
            (count("bad", met(Some(false)), "targets not met"))
            @if met(None) > 0 { (count("", met(None), "targets not measured")) }
            @if !found.modelled.is_empty() {
                (count("good", near, "model figures within their bound"))
                (count("bad", own().count() - near, "model figures outside"))
                (count("", fitted, "model figures fitted, no predictions"))
                @if !(kept.is_empty() && broken.is_empty()) {
                    (count("good", kept.len(), "sentences that the model confirms"))
                    (count("bad", broken.len(), "sentences that it contradicts"))
                }
            }
        }
    }
}

fn facts(found: &Reproduced, occasion: &Occasion) -> Vec<(String, String)> {
    let report = &found.report;
    let began = humantime::format_rfc3339_seconds(occasion.began).to_string();
    let began = began.replace('T', " ").replace('Z', " UTC");
    let took = humantime::format_duration(Duration::from_secs(occasion.elapsed.as_secs()));
    let mut facts = vec![
        ("Measured".to_string(), format!("{began}, took {took}")),
        ("Command".into(), occasion.command_line.clone()),
        ("Version".into(), occasion.version.clone()),
        ("Seed".into(), report.seed.to_string()),
        ("Machine".into(), report.host.line()),
    ];
    for (name, value) in &report.host.more {
        let said = match value {
            // In the machine's line.
            _ if name == "build" => continue,
            // What is not in this build is in the notes, with its remedy.
            Value::Object(_) | Value::Array(_) => continue,
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        facts.push((name.clone(), said));
    }
    facts
}
