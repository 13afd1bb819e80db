//! A round of `bench retire`: what is taken off its figures is of the same round.

use crate::cases::plan::Heard;
use crate::deferral::swap::BARE;
use crate::targets::fits;
use quiescent_report::rows::Figure;

/// Cases from the first malloc to the last free.
const WHOLE: [&str; 7] = [
    "all-in *",
    "drop *",
    "defer *",
    "string *",
    "config *",
    "inside *",
    "outside *",
];
/// CPU time above that of `malloc-free`.
pub(super) const ABOVE_BARE: &str = "above_malloc_free_ns";
/// Peak memory above that of `empty`.
pub(super) const ABOVE_EMPTY: &str = "above_empty_bytes";
/// CPU time of retiring inside a section over that of retiring after it.
pub(super) const INSIDE_RATIO: &str = "inside_ratio";

/// The differences and ratios of a round.
pub(super) fn derived(said: &[Heard]) -> Vec<(&'static str, Figure)> {
    let of = |subject: &str, case: &str, metric: &str| {
        let mut all = said
            .iter()
            .filter(|it| it.0 == subject)
            .flat_map(|it| &it.1);
        all.find(|it| it.case == case && it.metric == metric)
            .map(|it| it.value)
    };
    let mut more = Vec::new();
    for (subject, figure) in said
        .iter()
        .flat_map(|it| it.1.iter().map(|figure| (it.0, figure)))
    {
        let (case, value) = (figure.case.as_str(), figure.value);
        let mut add = |metric, unit, value: Option<f64>| {
            let figure = value.map(|value| Figure::new(case, metric, unit, value));
            more.extend(figure.map(|figure| (subject, figure)));
        };
        if figure.metric == "cpu_ns" {
            let whole = WHOLE.iter().any(|pattern| fits(pattern, case));
            if whole && subject != BARE {
                let above = of(BARE, case, "cpu_ns").map(|bare| (value - bare).max(0.0));
                add(ABOVE_BARE, "ns/object", above);
            }
            if let Some(what) = case.strip_prefix("inside ") {
                let outside = of(subject, &format!("outside {what}"), "cpu_ns");
                add(
                    INSIDE_RATIO,
                    "times",
                    outside.map(|outside| value / outside),
                );
            }
        }
        if let Some(producers) = case
            .strip_prefix("all-in ")
            .filter(|_| figure.metric == "peak_rss_bytes")
        {
            let empty = of(subject, &format!("empty {producers}"), "peak_rss_bytes");
            add(
                ABOVE_EMPTY,
                "bytes",
                empty.map(|empty| (value - empty).max(0.0)),
            );
        }
    }
    more
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_within_a_round() {
        let figure = |case: &str, metric: &str, value| Figure::new(case, metric, "", value);
        let of_round = |ours, bare| {
            derived(&[
                (
                    "ck",
                    vec![
                        figure("all-in 1t", "cpu_ns", ours),
                        figure("all-in 1t", "peak_rss_bytes", 9.0),
                    ],
                ),
                (BARE, vec![figure("all-in 1t", "cpu_ns", bare)]),
                ("ck", vec![figure("empty 1t", "peak_rss_bytes", 8.0)]),
                ("ck", vec![figure("inside drop 1t", "cpu_ns", 6.0)]),
                ("ck", vec![figure("outside drop 1t", "cpu_ns", 3.0)]),
            ])
        };
        for (ours, bare, above) in [(25.0, 20.0, 5.0), (19.0, 21.0, 0.0)] {
            let found = of_round(ours, bare);
            let found: Vec<_> = found
                .iter()
                .map(|it| (it.0, &*it.1.metric, it.1.value))
                .collect();
            assert_eq!(
                found,
                [
                    ("ck", ABOVE_BARE, above),
                    ("ck", ABOVE_EMPTY, 1.0),
                    ("ck", INSIDE_RATIO, 2.0)
                ]
            );
        }
    }
}
