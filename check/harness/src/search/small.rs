//! The searched configurations: small ones, each chosen for behaviour that no other one shows.

use quiescent_engine::EarlyQs;

use crate::search::bounds::Bounds;

const T: Bounds = Bounds::THREADS;
const K: Bounds = Bounds::KERNEL;

/// The thread flavour: searched in every test run.
pub fn threads() -> Vec<Bounds> {
    let (scan, init) = (EarlyQs::Scan, EarlyQs::Init);
    vec![
        Bounds {
            name: "two wait for each other",
            sections: 2,
            nests: 1,
            waits: 2,
            callers: 0b11,
            leaves: 1,
            ..T
        },
        Bounds {
            name: "wait and poll",
            sections: 2,
            waits: 1,
            polls: 1,
            helps: 1,
            callers: 0b11,
            leaves: 1,
            ..T
        },
        // One waiter leaves while a fence is due, a poller continues without it, another waiter sleeps.
        Bounds {
            name: "wait, poll, wait",
            readers: 0b10,
            waits: 2,
            helps: 1,
            leaves: 1,
            callers: 0b101,
            ..T
        },
        Bounds {
            name: "poll in a section, scan",
            waits: 1,
            polls: 1,
            helps: 2,
            callers: 0b11,
            early_qs: scan,
            ..T
        },
        Bounds {
            name: "poll in a section, init",
            waits: 1,
            polls: 1,
            helps: 2,
            callers: 0b11,
            early_qs: init,
            ..T
        },
        Bounds {
            name: "third arrives, tree grows",
            cpus: 3,
            absent: 0b100,
            waits: 2,
            arrivals: 1,
            departures: 1,
            callers: 0b11,
            ..T
        },
        Bounds {
            name: "outsider waits, two leaves",
            cpus: 3,
            absent: 0b100,
            fanout: 2,
            waits: 1,
            arrivals: 2,
            departures: 1,
            callers: 0b1001,
            ..T
        },
        Bounds {
            name: "no thread registered yet",
            cpus: 2,
            absent: 0b11,
            waits: 1,
            polls: 1,
            arrivals: 2,
            departures: 1,
            callers: 0b101,
            ..T
        },
        Bounds {
            name: "four in two leaves",
            cpus: 4,
            absent: 0b1000,
            fanout: 2,
            waits: 1,
            departures: 1,
            arrivals: 1,
            ..T
        },
        Bounds {
            name: "three levels",
            cpus: 5,
            ghosts: 0b1110,
            fanout: 2,
            waits: 2,
            departures: 1,
            arrivals: 1,
            leaves: 1,
            callers: 0b10001,
            ..T
        },
        Bounds {
            name: "a driver stops, two takeovers",
            readers: 0b10,
            waits: 2,
            takeovers: 2,
            callers: 0b101,
            ..T
        },
        Bounds {
            name: "a driver stops, a poller takes over",
            readers: 0b10,
            waits: 1,
            polls: 1,
            helps: 1,
            takeovers: 1,
            leaves: 1,
            callers: 0b101,
            ..T
        },
        Bounds {
            name: "a driver stops, the tree grows",
            cpus: 3,
            absent: 0b100,
            readers: 0b010,
            waits: 2,
            takeovers: 1,
            arrivals: 1,
            callers: 0b11,
            ..T
        },
    ]
}

/// The kernel flavour with this `early_qs`: searched in every test run.
pub fn kernel(early_qs: EarlyQs) -> Vec<Bounds> {
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
