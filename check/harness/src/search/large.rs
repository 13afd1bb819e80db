//! Larger searches than those of every test run, random walks, and hosts with planted defects.

use quiescent_kernel::EarlyQs;

use crate::search::bounds::{Bounds, Broken};

const K: Bounds = Bounds::SMALL;

/// Searches that take minutes, and some gigabytes of memory.
pub fn deep() -> Vec<Bounds> {
    let expedited = Bounds {
        early_qs: EarlyQs::Init,
        waits: 0,
        fanout: 2,
        ..K
    };
    let mut all = vec![
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
    ];
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
        preempts: 20,
        expedites: 20,
        refusals: 3,
        waits: 20,
        polls: 20,
        leaves: 10,
        arrivals: 20,
        departures: 20,
        notes: 20,
        timers: 200,
        strays: 5,
        callers: 0b11111,
        ..K
    };
    let with = |fanout, early_qs| Bounds {
        fanout,
        early_qs,
        ..churn
    };
    vec![
        with(2, EarlyQs::Off),
        with(3, EarlyQs::Scan),
        with(4, EarlyQs::Init),
    ]
}

/// Hosts with a planted defect, each with the rule that finds it.
pub fn broken() -> Vec<(Bounds, &'static str)> {
    let early = |early_qs| Bounds { early_qs, ..K };
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
    let with = |broken, bounds| Bounds {
        broken,
        name: "broken",
        ..bounds
    };
    vec![
        (with(Broken::SilentDeparture, hotplug), "e:"),
        (with(Broken::OwnQuiescent, early(EarlyQs::Init)), "a:"),
        (with(Broken::OwnQuiescent, early(EarlyQs::Scan)), "a:"),
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
        (with(Broken::DeafThread, Bounds { waits: 1, ..K }), "b:"),
        (with(Broken::UnreportedReader, preempted), "a:"),
        (with(Broken::UnreportedReader, expedited), "a:"),
        (with(Broken::LostInterrupt, expedited), "b:"),
    ]
}
