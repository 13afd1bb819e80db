//! The result in a few sentences, for the first screen and the head of the page.
//!
//! Each is made of figures of this run, and left out if one of them was not measured.

use super::Reproduced;
use quiescent_report::OURS;
use quiescent_report::text::number::short;
use quiescent_sim::experiments::{Comparison, Source};

/// A cost that is compared with that of peers.
struct Cost {
    says: &'static str,
    case: &'static str,
    metric: &'static str,
    unit: &'static str,
    peers: &'static [&'static str],
    /// What less of it is, and more.
    words: [&'static str; 2],
}

const COSTS: [Cost; 4] = [
    Cost {
        says: "A read costs",
        case: "load",
        metric: "cpu_ns",
        unit: "ns",
        peers: &["crossbeam-epoch", "seize", "arc-swap"],
        words: ["faster", "slower"],
    },
    Cost {
        says: "A block with a destructor, malloc to free, costs",
        case: "drop 1t",
        metric: "cpu_ns",
        unit: "ns",
        peers: &["crossbeam-epoch", "seize", "ck"],
        words: ["faster", "slower"],
    },
    Cost {
        says: "A grace period beside a sleeping thread takes",
        case: "other asleep",
        metric: "latency_us",
        unit: "us",
        peers: &["liburcu-memb", "ck"],
        words: ["shorter", "longer"],
    },
    Cost {
        says: "Ten blocks retired a second cause",
        case: "retire 10/s",
        metric: "wakeups_per_s",
        unit: "wake-ups/s",
        peers: &["liburcu-memb", "kovan"],
        words: ["fewer", "more"],
    },
];

/// Costs that differ by less than this factor are the same.
const SAME: f64 = 1.05;

/// The sentences.
pub fn sentences(found: &Reproduced) -> Vec<String> {
    let costs = COSTS.iter().filter_map(|it| cost(found, it));
    costs.chain(kernel(found)).chain(model(found)).collect()
}

/// `A read costs 5.90 ns. Better: 2.00x faster than seize (11.8). WORSE: 3.93x slower than arc-swap (1.50).`
fn cost(found: &Reproduced, it: &Cost) -> Option<String> {
    let median = |subject: &str| found.report.median(subject, it.case, it.metric);
    let ours = median(OURS).filter(|it| *it > 0.0)?;
    let mut said = format!("{} {} {}.", it.says, short(ours), it.unit);
    let peers = it
        .peers
        .iter()
        .filter_map(|peer| Some((*peer, median(peer)?)));
    let peers: Vec<(&str, f64)> = peers.collect();
    let is_better = |theirs: f64| theirs > ours * SAME;
    let is_worse = |theirs: f64| ours > theirs * SAME;
    let ratio = |theirs: f64| theirs.max(ours) / theirs.min(ours);
    let mut part = |head: &str, word: &str, of: &dyn Fn(f64) -> bool| {
        let those = peers.iter().filter(|peer| of(peer.1));
        let those: Vec<String> = those
            .map(|(peer, theirs)| match ratio(*theirs) {
                ratio if ratio.is_finite() && !word.is_empty() => {
                    format!("{}x {word} than {peer} ({})", short(ratio), short(*theirs))
                }
                _ => format!("{peer} ({})", short(*theirs)),
            })
            .collect();
        if !those.is_empty() {
            said += &format!(" {head} {}.", those.join(", "));
        }
    };
    part("Better:", it.words[0], &is_better);
    part("The same:", "", &|theirs| {
        !is_better(theirs) && !is_worse(theirs)
    });
    part("WORSE:", it.words[1], &is_worse);
    Some(said)
}

/// This kernel's grace period.
fn kernel(found: &Reproduced) -> Option<String> {
    let case = "early-qs-v2 MEMBARRIER_CMD_GLOBAL";
    let us = found.report.median("kernel", case, "latency_us")?;
    Some(format!(
        "This kernel's own grace period takes {} ms.",
        short(us / 1e3)
    ))
}

/// The model's figures: of kernels that no rule was inferred from where there are some, and published ones.
fn model(found: &Reproduced) -> Vec<String> {
    let of = |source| {
        let all = found.modelled.comparisons();
        let judged = all.filter(|it| it.source == source);
        let judged: Vec<bool> = judged.filter_map(Comparison::holds).collect();
        (judged.iter().filter(|it| **it).count(), judged.len())
    };
    let sentences = [
        (Source::Unseen, "figures of kernels that it has not seen"),
        (
            Source::Published,
            "published figures, without given ones and fits that come out",
        ),
    ];
    let said = sentences.map(|(source, which)| (of(source), which));
    let said = said.into_iter().filter(|it| it.0.1 > 0);
    said.map(|((near, all), which)| format!("The machine model meets {near} of {all} {which}."))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiescent_report::{Report, Row};
    use quiescent_sim::experiments::Modelled;

    #[test]
    fn a_loss_is_written_as_a_loss() {
        let mut report = Report::new("reproduce", 1);
        for (subject, case, metric, value) in [
            (OURS, "load", "cpu_ns", 5.9),
            ("crossbeam-epoch", "load", "cpu_ns", 11.8),
            ("seize", "load", "cpu_ns", 6.0),
            ("arc-swap", "load", "cpu_ns", 1.5),
            (OURS, "retire 10/s", "wakeups_per_s", 2.0),
            ("kovan", "retire 10/s", "wakeups_per_s", 0.0),
        ] {
            report
                .rows
                .extend(Row::single(subject, case, metric, "x", value));
        }
        let found = Reproduced {
            report,
            tables: Vec::new(),
            modelled: Modelled::default(),
            targets: Vec::new(),
            notes: Vec::new(),
            busy: None,
        };
        assert_eq!(
            sentences(&found),
            [
                "A read costs 5.90 ns. Better: 2.00x faster than crossbeam-epoch (11.8). The same: seize \
                 (6.00). WORSE: 3.93x slower than arc-swap (1.50).",
                "Ten blocks retired a second cause 2.00 wake-ups/s. WORSE: kovan (0).",
            ]
        );
    }
}
