//! Larger searches than those of every test run, random walks, and hosts with planted defects.

use quiescent_engine::EarlyQs;

use crate::search::bounds::{Bounds, Broken};

const T: Bounds = Bounds::THREADS;
const K: Bounds = Bounds::KERNEL;

/// Searches that take minutes, and some gigabytes of memory.
pub fn deep() -> Vec<Bounds> {
    let mut all = vec![
        Bounds {
            name: "four, two requests",
            cpus: 4,
            fanout: 2,
            waits: 2,
            callers: 0b11,
            ..T
        },
        Bounds {
            name: "three, churn",
            cpus: 3,
            absent: 0b100,
            sections: 2,
            waits: 2,
            arrivals: 2,
            departures: 2,
            callers: 0b11,
            ..T
        },
        Bounds {
            name: "three levels, churn",
            cpus: 5,
            ghosts: 0b1110,
            fanout: 2,
            sections: 2,
            waits: 2,
            departures: 1,
            arrivals: 1,
            leaves: 1,
            callers: 0b10001,
            ..T
        },
        Bounds {
            name: "pollers come and go",
            sections: 2,
            waits: 1,
            polls: 2,
            helps: 2,
            leaves: 2,
            callers: 0b111,
            ..T
        },
    ];
    let expedited = Bounds {
        early_qs: EarlyQs::Init,
        waits: 0,
        fanout: 2,
        ..K
    };
    all.extend([
        Bounds {
            name: "expedited, funnel, four CPUs",
            cpus: 4,
            readers: 0b0010,
            expedites: 3,
            callers: 0b1101,
            ..expedited
        },
        Bounds {
            name: "expedited, churn, preempted",
            cpus: 3,
            absent: 0b100,
            readers: 0b110,
            preempts: 2,
            expedites: 1,
            refusals: 1,
            arrivals: 1,
            departures: 1,
            ..expedited
        },
        Bounds {
            name: "expedited and normal, all of it",
            fanout: 64,
            waits: 1,
            nests: 1,
            preempts: 2,
            expedites: 1,
            timers: 2,
            ..expedited
        },
    ]);
    for early_qs in [EarlyQs::Off, EarlyQs::Scan, EarlyQs::Init] {
        let k = Bounds { early_qs, ..K };
        all.extend([
            Bounds {
                name: "all of it on two CPUs",
                nests: 1,
                notes: 1,
                waits: 1,
                polls: 1,
                leaves: 1,
                callers: 0b11,
                timers: 2,
                ..k
            },
            Bounds {
                name: "three levels, kthread moves",
                cpus: 5,
                ghosts: 0b1110,
                fanout: 2,
                waits: 2,
                departures: 1,
                arrivals: 1,
                leaves: 1,
                callers: 0b10001,
                timers: 2,
                ..k
            },
        ]);
    }
    all
}

/// Machines too large for a complete search: several levels, many arrivals and departures.
pub fn walks() -> Vec<Bounds> {
    let churn = Bounds {
        name: "large",
        cpus: 9,
        absent: 0b1_0110_0000,
        sections: 20,
        nests: 20,
        waits: 20,
        polls: 20,
        helps: 20,
        leaves: 10,
        takeovers: 10,
        arrivals: 20,
        departures: 20,
        notes: 20,
        timers: 200,
        strays: 5,
        callers: 0b10_0001_1111,
        ..T
    };
    let kernel = Bounds {
        flavour: K.flavour,
        preempts: 20,
        expedites: 20,
        refusals: 3,
        first_fqs: 3,
        callers: 0b11111,
        ..churn
    };
    vec![
        churn,
        Bounds { fanout: 2, ..churn },
        Bounds {
            fanout: 3,
            early_qs: EarlyQs::Init,
            ..churn
        },
        Bounds {
            fanout: 2,
            direct_wakes_max: 5,
            ..kernel
        },
        Bounds {
            fanout: 3,
            early_qs: EarlyQs::Scan,
            direct_wakes_max: 5,
            ..kernel
        },
        Bounds {
            fanout: 4,
            early_qs: EarlyQs::Init,
            direct_wakes_max: 5,
            ..kernel
        },
    ]
}

/// Hosts with a planted defect, each with the rule that finds it.
pub fn broken() -> Vec<(Bounds, &'static str)> {
    let poller = Bounds {
        waits: 1,
        polls: 1,
        helps: 2,
        callers: 0b11,
        ..T
    };
    let hotplug = Bounds {
        waits: 1,
        departures: 1,
        timers: 4,
        ..K
    };
    let preempted = Bounds {
        waits: 1,
        preempts: 1,
        ..K
    };
    let expedited = Bounds {
        waits: 0,
        expedites: 1,
        ..preempted
    };
    let stops = Bounds {
        readers: 0b10,
        waits: 2,
        takeovers: 1,
        callers: 0b101,
        ..T
    };
    let with = |broken, bounds| Bounds {
        broken,
        name: "broken",
        ..bounds
    };
    vec![
        (with(Broken::SilentDeparture, hotplug), "e:"),
        (with(Broken::NoWake, Bounds { waits: 1, ..T }), "b:"),
        (
            with(
                Broken::OwnQuiescent,
                Bounds {
                    early_qs: EarlyQs::Init,
                    ..poller
                },
            ),
            "a:",
        ),
        (
            with(
                Broken::OwnQuiescent,
                Bounds {
                    early_qs: EarlyQs::Scan,
                    ..poller
                },
            ),
            "a:",
        ),
        (
            with(
                Broken::StaleNote,
                Bounds {
                    notes: 1,
                    waits: 2,
                    callers: 0b11,
                    ..K
                },
            ),
            "a:",
        ),
        (
            with(
                Broken::HiddenArrival,
                Bounds {
                    absent: 0b10,
                    arrivals: 1,
                    waits: 1,
                    ..T
                },
            ),
            "g:",
        ),
        (
            with(
                Broken::HiddenArrival,
                Bounds {
                    cpus: 3,
                    absent: 0b10,
                    arrivals: 1,
                    waits: 1,
                    ..T
                },
            ),
            "a:",
        ),
        (with(Broken::DeafThread, Bounds { waits: 1, ..K }), "b:"),
        (with(Broken::UnreportedReader, preempted), "a:"),
        (with(Broken::UnreportedReader, expedited), "a:"),
        (with(Broken::LostInterrupt, expedited), "b:"),
        (with(Broken::Oblivious, stops), "panic: step without"),
        (with(Broken::StaleFence, stops), "h:"),
    ]
}
