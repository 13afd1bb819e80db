//! The result in a few sentences, for the first screen and the head of the page.
//!
//! Each is made of figures of this run, and left out if one of them was not measured.

use super::Reproduced;
use quiescent_report::OURS;
use quiescent_report::text::number::short;

/// A cost, and the peers it is compared with.
struct Cost {
    says: &'static str,
    case: &'static str,
    metric: &'static str,
    unit: &'static str,
    peers: &'static [(&'static str, &'static str)],
}

const COSTS: [Cost; 4] = [
    Cost {
        says: "A read costs",
        case: "load",
        metric: "cpu_ns",
        unit: "ns",
        peers: &[
            ("crossbeam-epoch", "crossbeam"),
            ("seize", "seize"),
            ("arc-swap", "arc-swap"),
        ],
    },
    Cost {
        says: "A block with a destructor, malloc to free, costs",
        case: "drop 1t",
        metric: "cpu_ns",
        unit: "ns",
        peers: &[
            ("crossbeam-epoch", "crossbeam"),
            ("seize", "seize"),
            ("ck", "ck"),
        ],
    },
    Cost {
        says: "A grace period beside a sleeping thread takes",
        case: "other asleep",
        metric: "latency_us",
        unit: "us",
        peers: &[("liburcu-memb", "liburcu-memb"), ("ck", "ck")],
    },
    Cost {
        says: "Ten blocks retired a second cause",
        case: "retire 10/s",
        metric: "wakeups_per_s",
        unit: "wake-ups/s",
        peers: &[("liburcu-memb", "liburcu-memb"), ("kovan", "kovan")],
    },
];

/// The sentences.
pub fn sentences(found: &Reproduced) -> Vec<String> {
    let costs = COSTS.iter().filter_map(|it| cost(found, it));
    costs.chain(kernel(found)).chain(model(found)).collect()
}

fn median(found: &Reproduced, subject: &str, case: &str, metric: &str) -> Option<f64> {
    Some(found.report.find(subject, case, metric)?.median)
}

/// `A read costs 0.7 ns: crossbeam 8.60x, seize 4.00x`.
fn cost(found: &Reproduced, it: &Cost) -> Option<String> {
    let ours = median(found, OURS, it.case, it.metric)?;
    let peers = it.peers.iter().filter_map(|(subject, name)| {
        let its = median(found, subject, it.case, it.metric)?;
        (ours > 0.0).then(|| format!("{name} {}x", short(its / ours)))
    });
    let peers: Vec<String> = peers.collect();
    let beside = match peers.is_empty() {
        true => String::new(),
        false => format!("; {}", peers.join(", ")),
    };
    Some(format!("{} {} {}{beside}.", it.says, short(ours), it.unit))
}

/// This kernel's grace period.
fn kernel(found: &Reproduced) -> Option<String> {
    let case = "early-qs-v2 MEMBARRIER_CMD_GLOBAL";
    let us = median(found, "kernel", case, "latency_us")?;
    Some(format!(
        "This kernel's own grace period takes {} ms.",
        short(us / 1e3)
    ))
}

/// The model's figures.
fn model(found: &Reproduced) -> Option<String> {
    let all = || found.modelled.comparisons();
    let judged = all().filter(|it| it.holds().is_some()).count();
    let near = all().filter(|it| it.holds() == Some(true)).count();
    let fitted = all().count() - judged;
    (judged > 0).then(|| {
        format!(
            "The machine model meets {near} of {judged} real figures; {fitted} more were fitted and do not \
             count."
        )
    })
}
