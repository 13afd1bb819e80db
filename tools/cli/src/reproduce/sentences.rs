//! The result in a few sentences, for the first screen and the head of the page.
//!
//! Each is made of figures of this run, and left out if one of them was not measured.

use super::Reproduced;
use quiescent_report::OURS;
use quiescent_report::text::number::short;
use quiescent_sim::experiments::Source;

/// A cost: what is said, case, metric, unit, and the peers it is compared with.
type Cost = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
);

const COSTS: [Cost; 4] = [
    (
        "A read costs",
        "load",
        "cpu_ns",
        "ns",
        &["crossbeam-epoch", "seize", "arc-swap"],
    ),
    (
        "A block with a destructor, malloc to free, costs",
        "drop 1t",
        "cpu_ns",
        "ns",
        &["crossbeam-epoch", "seize", "ck"],
    ),
    (
        "A grace period beside a sleeping thread takes",
        "other asleep",
        "latency_us",
        "us",
        &["liburcu-memb", "ck"],
    ),
    (
        "Ten blocks retired a second cause",
        "retire 10/s",
        "wakeups_per_s",
        "wake-ups/s",
        &["liburcu-memb", "kovan"],
    ),
];

/// The sentences.
pub fn sentences(found: &Reproduced) -> Vec<String> {
    let costs = COSTS.iter().filter_map(|it| cost(found, it));
    costs.chain(kernel(found)).chain(model(found)).collect()
}

/// `A read costs 0.7 ns; crossbeam-epoch 8.60x, seize 4.00x.`
fn cost(found: &Reproduced, (says, case, metric, unit, peers): &Cost) -> Option<String> {
    let median = |subject: &str| found.report.median(subject, case, metric);
    let ours = median(OURS).filter(|it| *it > 0.0)?;
    let its = |peer: &&str| Some(format!("{peer} {}x", short(median(peer)? / ours)));
    let peers: Vec<String> = peers.iter().filter_map(its).collect();
    let beside = if peers.is_empty() { "" } else { "; " };
    let peers = peers.join(", ");
    Some(format!("{says} {} {unit}{beside}{peers}.", short(ours)))
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
        let judged = all.filter(move |it| it.source == source && it.holds().is_some());
        let judged: Vec<bool> = judged.map(|it| it.holds() == Some(true)).collect();
        (judged.iter().filter(|it| **it).count(), judged.len())
    };
    let sentences = [
        (Source::Unseen, "measured on kernels that it has not seen"),
        (Source::Published, "published, and neither fitted nor given"),
    ];
    let said = sentences.map(|(source, which)| (of(source), which));
    let said = said.into_iter().filter(|it| it.0.1 > 0);
    said.map(|((near, all), which)| {
        format!("The machine model meets {near} of {all} figures that were {which}.")
    })
    .collect()
}
