//! The searched configurations: small ones, each chosen for behaviour that no other one shows.

use quiescent_kernel::EarlyQs;

use crate::search::bounds::Bounds;

const K: Bounds = Bounds::SMALL;

/// Normal grace periods with this `early_qs`: searched in every test run.
pub fn normal(early_qs: EarlyQs) -> Vec<Bounds> {
    let k = Bounds { early_qs, ..K };
    vec![
        Bounds {
            name: "two CPUs, late reports",
            notes: 1,
            waits: 2,
            callers: 0b11,
            ..k
        },
        Bounds {
            name: "kthread moves",
            waits: 1,
            polls: 1,
            leaves: 1,
            callers: 0b11,
            timers: 2,
            ..k
        },
        Bounds {
            name: "no marker",
            sections: 0,
            waits: 3,
            direct_wakes_max: 0,
            ..k
        },
        Bounds {
            name: "hotplug, two leaves",
            cpus: 3,
            absent: 0b100,
            fanout: 2,
            waits: 1,
            arrivals: 1,
            departures: 1,
            timers: 2,
            ..k
        },
        Bounds {
            name: "four CPUs, two leaves",
            cpus: 4,
            readers: 0b1101,
            fanout: 2,
            waits: 1,
            timers: 2,
            ..k
        },
        Bounds {
            name: "three levels",
            cpus: 5,
            ghosts: 0b1110,
            fanout: 2,
            waits: 2,
            departures: 1,
            arrivals: 1,
            callers: 0b10001,
            timers: 2,
            ..k
        },
        Bounds {
            name: "no first wait, stray wake",
            first_fqs: 0,
            strays: 1,
            sections: 2,
            waits: 1,
            ..k
        },
    ]
}

/// Preempted readers.
pub fn preempted() -> Vec<Bounds> {
    let k = Bounds {
        early_qs: EarlyQs::Init,
        preempts: 1,
        timers: 2,
        ..K
    };
    vec![
        Bounds {
            name: "preempted, two CPUs",
            preempts: 2,
            timers: 1,
            ..k
        },
        Bounds {
            name: "preempted, two leaves, hotplug",
            cpus: 3,
            absent: 0b100,
            readers: 0b110,
            fanout: 2,
            arrivals: 1,
            departures: 1,
            timers: 1,
            ..k
        },
        Bounds {
            name: "preempted, deserted leaf",
            cpus: 3,
            absent: 0b100,
            readers: 0b100,
            fanout: 2,
            waits: 2,
            arrivals: 1,
            departures: 1,
            timers: 1,
            ..k
        },
        Bounds {
            name: "preempted, three levels",
            cpus: 5,
            ghosts: 0b1110,
            fanout: 2,
            callers: 0b10001,
            ..k
        },
    ]
}

/// Expedited grace periods, alone and beside preempted readers and a normal one.
pub fn expedited() -> Vec<Bounds> {
    let k = Bounds {
        early_qs: EarlyQs::Init,
        timers: 1,
        waits: 0,
        expedites: 1,
        ..K
    };
    vec![
        Bounds {
            name: "expedited, two CPUs, preempted",
            preempts: 2,
            ..k
        },
        Bounds {
            name: "expedited, funnel",
            cpus: 3,
            sections: 0,
            fanout: 2,
            expedites: 3,
            callers: 0b101,
            ..k
        },
        Bounds {
            name: "expedited, hotplug, preempted",
            cpus: 3,
            absent: 0b100,
            readers: 0b100,
            fanout: 2,
            preempts: 1,
            arrivals: 1,
            departures: 1,
            ..k
        },
        Bounds {
            name: "expedited, departure, refusal",
            arrivals: 1,
            departures: 1,
            refusals: 1,
            ..k
        },
        Bounds {
            name: "expedited and normal, preempted",
            readers: 0b10,
            waits: 1,
            preempts: 1,
            ..k
        },
        Bounds {
            name: "expedited and cookies",
            readers: 0b10,
            polls: 1,
            expedites: 2,
            ..k
        },
        Bounds {
            name: "expedited, three levels, preempted",
            cpus: 5,
            ghosts: 0b1110,
            fanout: 2,
            preempts: 1,
            callers: 0b10001,
            ..k
        },
    ]
}
