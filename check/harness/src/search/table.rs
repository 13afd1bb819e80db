//! The searched configurations: each is chosen for behaviour that no other one shows.

use quiescent_kernel::EarlyQs;

use crate::search::bounds::{Bounds, Broken};

/// A configuration: its name, and the numbers in which it differs from the others of its table.
type Row = (&'static str, &'static str);

const NORMAL: &[Row] = &[
    ("two CPUs, late reports", "notes 1 waits 2 callers 0b11"),
    ("kthread moves", "polls 1 leaves 1 callers 0b11 timers 2"),
    ("no marker", "sections 0 waits 3 direct_wakes_max 0"),
    (
        "hotplug, two leaves",
        "cpus 3 absent 0b100 fanout 2 arrivals 1 departures 1 timers 2",
    ),
    (
        "four CPUs, two leaves",
        "cpus 4 readers 0b1101 fanout 2 timers 2",
    ),
    (
        "three levels",
        "cpus 5 ghosts 0b1110 fanout 2 waits 2 departures 1 arrivals 1 callers 0b10001 timers 2",
    ),
    (
        "no first wait, stray wake",
        "first_fqs 0 strays 1 sections 2",
    ),
];

const PREEMPTED: &[Row] = &[
    ("preempted, two CPUs", "preempts 2 timers 1"),
    (
        "preempted, two leaves, hotplug",
        "cpus 3 absent 0b100 readers 0b110 fanout 2 arrivals 1 departures 1 timers 1",
    ),
    (
        "preempted, deserted leaf",
        "cpus 3 absent 0b100 readers 0b100 fanout 2 waits 2 arrivals 1 departures 1 timers 1",
    ),
    (
        "preempted, three levels",
        "cpus 5 ghosts 0b1110 fanout 2 callers 0b10001",
    ),
];

const EXPEDITED: &[Row] = &[
    ("expedited, two CPUs, preempted", "preempts 2"),
    (
        "expedited, funnel",
        "cpus 3 sections 0 fanout 2 expedites 3 callers 0b101",
    ),
    (
        "expedited, hotplug, preempted",
        "cpus 3 absent 0b100 readers 0b100 fanout 2 preempts 1 arrivals 1 departures 1",
    ),
    (
        "expedited, departure, refusal",
        "arrivals 1 departures 1 refusals 1",
    ),
    (
        "expedited and normal, preempted",
        "readers 0b10 waits 1 preempts 1",
    ),
    ("expedited and cookies", "readers 0b10 polls 1 expedites 2"),
    (
        "expedited, three levels, preempted",
        "cpus 5 ghosts 0b1110 fanout 2 preempts 1 callers 0b10001",
    ),
];

const DEEP_EXPEDITED: &[Row] = &[
    (
        "expedited, funnel, four CPUs",
        "cpus 4 readers 0b0010 expedites 3 callers 0b1101",
    ),
    (
        "expedited, churn, preempted",
        "cpus 3 absent 0b100 readers 0b110 preempts 2 expedites 1 refusals 1 arrivals 1 departures 1",
    ),
    (
        "expedited and normal, all of it",
        "fanout 64 waits 1 nests 1 preempts 2 expedites 1 timers 2",
    ),
];

const DEEP_NORMAL: &[Row] = &[
    (
        "all of it on two CPUs",
        "nests 1 notes 1 polls 1 leaves 1 callers 0b11 timers 2",
    ),
    (
        "three levels, kthread moves",
        "cpus 5 ghosts 0b1110 fanout 2 waits 2 departures 1 arrivals 1 leaves 1 callers 0b10001 timers 2",
    ),
];

/// Machines too large for a complete search: several levels, many arrivals and departures.
const CHURN: &str = "cpus 9 absent 0b101100000 sections 20 nests 20 preempts 20 expedites 20 refusals 3
    waits 20 polls 20 leaves 10 arrivals 20 departures 20 notes 20 timers 200 strays 5 callers 0b11111";

/// The configurations of a table: `all` are the numbers that they share.
fn rows(early_qs: EarlyQs, all: &str, table: &[Row]) -> Vec<Bounds> {
    let base = Bounds {
        early_qs,
        ..Bounds::SMALL
    }
    .but(all);
    let row = |&(name, numbers): &Row| Bounds {
        name,
        ..base.but(numbers)
    };
    table.iter().map(row).collect()
}

/// Normal grace periods with this `early_qs`: searched in every test run.
pub fn normal(early_qs: EarlyQs) -> Vec<Bounds> {
    rows(early_qs, "", NORMAL)
}

/// Preempted readers.
pub fn preempted() -> Vec<Bounds> {
    rows(EarlyQs::Init, "preempts 1 timers 2", PREEMPTED)
}

/// Expedited grace periods, alone and beside preempted readers and a normal one.
pub fn expedited() -> Vec<Bounds> {
    rows(EarlyQs::Init, "timers 1 waits 0 expedites 1", EXPEDITED)
}

/// Searches that take minutes, and some gigabytes of memory.
pub fn deep() -> Vec<Bounds> {
    let mut all = rows(EarlyQs::Init, "waits 0 fanout 2", DEEP_EXPEDITED);
    for early_qs in [EarlyQs::Off, EarlyQs::Scan, EarlyQs::Init] {
        all.extend(rows(early_qs, "", DEEP_NORMAL));
    }
    all
}

/// For random walks.
pub fn walks() -> Vec<Bounds> {
    let with = |early_qs, fanout| rows(early_qs, CHURN, &[("large", fanout)]);
    [
        with(EarlyQs::Off, "fanout 2"),
        with(EarlyQs::Scan, "fanout 3"),
        with(EarlyQs::Init, "fanout 4"),
    ]
    .concat()
}

/// Hosts with a planted defect, each with the rule that finds it.
pub fn broken() -> Vec<(Bounds, &'static str)> {
    let table = [
        (
            Broken::SilentDeparture,
            EarlyQs::Off,
            "departures 1 timers 4",
            "e:",
        ),
        (Broken::OwnQuiescent, EarlyQs::Init, "", "a:"),
        (Broken::OwnQuiescent, EarlyQs::Scan, "", "a:"),
        (
            Broken::StaleNote,
            EarlyQs::Off,
            "notes 1 waits 2 callers 0b11",
            "a:",
        ),
        (Broken::DeafThread, EarlyQs::Off, "", "b:"),
        (Broken::UnreportedReader, EarlyQs::Off, "preempts 1", "a:"),
        (
            Broken::UnreportedReader,
            EarlyQs::Off,
            "preempts 1 waits 0 expedites 1",
            "a:",
        ),
        (
            Broken::LostInterrupt,
            EarlyQs::Off,
            "preempts 1 waits 0 expedites 1",
            "b:",
        ),
    ];
    let host = |(broken, early_qs, numbers, rule)| {
        let bounds = Bounds {
            name: "broken",
            early_qs,
            broken,
            ..Bounds::SMALL
        };
        (bounds.but(numbers), rule)
    };
    table.map(host).to_vec()
}
