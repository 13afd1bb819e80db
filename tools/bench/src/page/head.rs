//! The head of a page: what this is, when and where it was measured, and how it went, in a few numbers.

use super::Occasion;
use crate::Report;
use crate::reproduce::Reproduced;
use quiescent_page::html;
use quiescent_page::report::{Count, Fact, Head, News};
use quiescent_sim::experiments::Basis;
use serde_json::Value;
use std::time::Duration;

/// That of `reproduce`.
pub(super) fn reproduced(found: &Reproduced, occasion: &Occasion) -> Head {
    let lead = html! {
        "What "
        code { "quiescent reproduce" }
        " found: the library beside others on this machine, this machine's kernel, and the machine model beside real \
         kernels and published figures. Peers were measured in turn, within this run; no figure is compared with one \
         from another run, except where it is called published."
    };
    Head {
        title: "quiescent: figures of one run".into(),
        lead: Some(lead),
        alarm: alarm(occasion),
        counts: counts(found),
        facts: facts(&found.report, occasion),
    }
}

/// What is said of a run that was stopped.
pub(super) fn alarm(occasion: &Occasion) -> Option<(String, String)> {
    let more = "the run was stopped. What is missing here was not measured.";
    occasion.stopped.then(|| ("Incomplete".into(), more.into()))
}

/// The numbers at a glance; what did not go well is shown even when it is little.
fn counts(found: &Reproduced) -> Vec<Count> {
    let met = |wanted| {
        let of = found.targets.iter().filter(|it| it.met() == wanted);
        of.count()
    };
    let mut counts = vec![
        Count::of(News::Good, met(Some(true)), "targets met"),
        Count::of(News::Bad, met(Some(false)), "targets not met"),
    ];
    if met(None) > 0 {
        counts.push(Count::of(News::None, met(None), "targets not measured"));
    }
    if found.modelled.is_empty() {
        return counts;
    }
    let all = || found.modelled.comparisons();
    let own = || all().filter(|it| it.basis != Basis::Fitted);
    let near = own().filter(|it| it.holds()).count();
    let fitted = all().count() - own().count();
    let says = found.modelled.shown().filter_map(|it| it.holds());
    let (kept, broken): (Vec<bool>, Vec<bool>) = says.partition(|it| *it);
    counts.extend([
        Count::of(News::Good, near, "model figures within their bound"),
        Count::of(News::Bad, own().count() - near, "model figures outside"),
        Count::of(News::None, fitted, "model figures fitted, no predictions"),
    ]);
    if !(kept.is_empty() && broken.is_empty()) {
        counts.extend([
            Count::of(News::Good, kept.len(), "sentences that the model confirms"),
            Count::of(News::Bad, broken.len(), "sentences that it contradicts"),
        ]);
    }
    counts
}

/// When, how and where; the machine and its kernel.
pub(super) fn facts(report: &Report, occasion: &Occasion) -> Vec<Fact> {
    let began = humantime::format_rfc3339_seconds(occasion.began).to_string();
    let began = began.replace('T', " ").replace('Z', " UTC");
    let took = match occasion.elapsed {
        short if short < Duration::from_secs(10) => {
            Duration::from_millis(short.as_millis() as u64 / 100 * 100)
        }
        long => Duration::from_secs(long.as_secs()),
    };
    let took = humantime::format_duration(took);
    let mut facts = vec![
        Fact::text("Measured", format!("{began}, took {took}")),
        Fact::code("Again", occasion.again(report.seed)),
        Fact::text("Version", occasion.version.as_str()),
        Fact::text("Seed", report.seed.to_string()),
        Fact::text("Machine", report.host.line()),
    ];
    for (name, value) in &report.host.more {
        let said = match value {
            // In the machine's line.
            _ if name == "build" => continue,
            // What is not in this build has a place of its own, with its remedy.
            Value::Object(_) | Value::Array(_) => continue,
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        facts.push(Fact::text(name.as_str(), said));
    }
    facts
}
