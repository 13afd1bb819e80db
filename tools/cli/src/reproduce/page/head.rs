//! The head of the page: title, time, machine, and the result in a few numbers.

use crate::reproduce::{Reproduced, sentences};
use quiescent_report::Occasion;
use quiescent_report::html::html;
use quiescent_report::html::layout::{Count, Head, News};
use quiescent_report::pages::head::{alarm, facts};

/// The head of `reproduce`.
pub(super) fn reproduced(found: &Reproduced, occasion: &Occasion) -> Head {
    let lead = html! {
        @for sentence in sentences::sentences(found) { (sentence) " " }
        "Peers were measured in turn, within this run; no figure is compared with one from another run, \
         except where it is called published."
    };
    Head {
        title: "quiescent: figures of one run".into(),
        lead: Some(lead),
        alarm: alarm(occasion),
        counts: counts(found),
        facts: facts(&found.report, occasion),
    }
}

/// The numbers in the head; unmet targets and wrong figures are always shown.
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
    let judged = |wanted| all().filter(move |it| it.holds() == wanted).count();
    let says = found.modelled.shown().filter_map(|it| it.holds());
    let (kept, broken): (Vec<bool>, Vec<bool>) = says.partition(|it| *it);
    counts.extend([
        Count::of(
            News::Good,
            judged(Some(true)),
            "model figures within their bound",
        ),
        Count::of(News::Bad, judged(Some(false)), "model figures outside it"),
        Count::of(
            News::None,
            judged(None),
            "fitted model figures, which are no predictions",
        ),
    ]);
    if !(kept.is_empty() && broken.is_empty()) {
        counts.extend([
            Count::of(News::Good, kept.len(), "statements that the model confirms"),
            Count::of(News::Bad, broken.len(), "statements that it contradicts"),
        ]);
    }
    counts
}
