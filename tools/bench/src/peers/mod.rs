//! The libraries that are measured: one file each, with its read side and its way to reclaim later.
//!
//! A file gives the subjects of its library: [`Subject`]s that read and wait, [`Deferring`]s that reclaim
//! later. Most have one of each, with the same name.

use crate::deferral::Deferring;
use crate::maps::measured::Mapping;
use crate::subjects::Subject;

#[cfg(feature = "peers")]
mod arc_swap;
#[cfg(feature = "peers")]
mod arcs;
#[cfg(have_ck)]
mod ck;
#[cfg(feature = "peers")]
mod crossbeam;
#[cfg(feature = "maps")]
mod dashmap;
mod domain;
#[cfg(feature = "peers")]
mod haphazard;
#[cfg(feature = "peers")]
mod hazarc;
#[cfg(feature = "peers")]
mod kovan;
#[cfg(have_liburcu)]
mod liburcu;
#[cfg(feature = "maps")]
mod papaya;
mod quiescent;
mod rcu_map;
#[cfg(feature = "maps")]
mod scc;
#[cfg(feature = "peers")]
mod sdd;
#[cfg(feature = "peers")]
mod seize;
#[cfg(feature = "maps")]
mod skiplist;
mod srcu;
mod std_locks;

#[cfg(target_os = "linux")]
pub(crate) use domain::NAME as DOMAIN;
pub(crate) use quiescent::by_function;
#[cfg(target_os = "linux")]
pub(crate) use quiescent::dropped;

/// The subjects of a library.
pub(crate) struct Peers {
    /// Those that read.
    pub(crate) reading: Vec<Subject>,
    /// Those that reclaim later.
    pub(crate) deferring: Vec<Deferring>,
}

/// Every subject of this build, quiescent's first.
pub(crate) fn all() -> Vec<Peers> {
    vec![
        quiescent::peers(),
        domain::peers(),
        srcu::peers(),
        #[cfg(have_liburcu)]
        liburcu::peers(),
        #[cfg(have_ck)]
        ck::peers(),
        #[cfg(feature = "peers")]
        crossbeam::peers(),
        #[cfg(feature = "peers")]
        seize::peers(),
        #[cfg(feature = "peers")]
        haphazard::peers(),
        #[cfg(feature = "peers")]
        sdd::peers(),
        #[cfg(feature = "peers")]
        kovan::peers(),
        #[cfg(feature = "peers")]
        arc_swap::peers(),
        #[cfg(feature = "peers")]
        hazarc::peers(),
        std_locks::peers(),
    ]
}

/// It is measured by `ci/peers-bench` only, on its own collector and on ours.
pub(crate) const SKIPLIST: &str = "crossbeam-skiplist";

/// Every map of this build, quiescent's first.
pub(crate) fn maps() -> Vec<Mapping> {
    vec![
        Mapping::of::<rcu_map::Rcu>(quiescent_report::OURS),
        #[cfg(feature = "maps")]
        Mapping::of::<papaya::Papaya>("papaya"),
        #[cfg(feature = "maps")]
        Mapping::of::<dashmap::Dashmap>("dashmap"),
        #[cfg(feature = "maps")]
        Mapping::of::<scc::Scc>("scc"),
        #[cfg(feature = "maps")]
        Mapping::of::<skiplist::Skiplist>(SKIPLIST),
    ]
}

/// Set by what a library runs last.
#[cfg(feature = "peers")]
type Last = std::sync::Arc<std::sync::atomic::AtomicBool>;

/// Queues what sets the flag, and does a step again and again until it is set. A bounded number of times,
/// since a thread that is not scheduled may hold things up for long.
#[cfg(feature = "peers")]
fn until_last(queue: impl FnOnce(Last), step: impl Fn()) {
    let last = Last::default();
    queue(last.clone());
    for _ in 0..10_000_000 {
        step();
        if last.load(std::sync::atomic::Ordering::Acquire) {
            return;
        }
        std::thread::yield_now();
    }
}

/// A library that could be measured, but is not in this build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Absent {
    /// The name in reports.
    pub name: &'static str,
    /// What makes it present.
    pub remedy: &'static str,
}

const INSTALL_C: &str = "apt-get install liburcu-dev libck-dev, then build again";
const BUILD_PEERS: &str = "build with the feature `peers`";

/// Those that are not in this build, with the remedy.
pub fn absent() -> Vec<Absent> {
    let rust = [
        "crossbeam-epoch",
        "seize",
        "papaya-seize",
        "haphazard",
        "sdd",
        "kovan",
        "arc-swap",
        "arc-swap-cache",
        "arc-swap-full",
        "hazarc",
        "hazarc-cache",
        "papaya",
        "dashmap",
        "scc",
    ];
    let c = [
        "liburcu-memb",
        "liburcu-memb-call",
        "liburcu-qsbr",
        "liburcu-defer",
        "ck",
    ];
    let c_remedy = match cfg!(feature = "peers") {
        true => INSTALL_C,
        false => BUILD_PEERS,
    };
    let (all, maps) = (all(), maps());
    let present = |name: &str| {
        let maps = maps.iter().any(|it| it.name == name);
        maps || all.iter().any(|it| {
            it.reading.iter().any(|it| it.name == name)
                || it.deferring.iter().any(|it| it.name == name)
        })
    };
    let rust = rust.map(|name| (name, BUILD_PEERS)).into_iter();
    rust.chain(c.map(|name| (name, c_remedy)))
        .filter(|(name, _)| !present(name))
        .map(|(name, remedy)| Absent { name, remedy })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_peer_is_present_or_absent_with_a_remedy() {
        for name in [
            "crossbeam-epoch",
            "seize",
            "sdd",
            "arc-swap-full",
            "liburcu-qsbr",
            "liburcu-defer",
            "ck",
        ] {
            let there =
                crate::subjects::named(name).is_some() || crate::deferral::named(name).is_some();
            let absent = absent().into_iter().find(|absent| absent.name == name);
            assert!(there != absent.is_some(), "{name}");
            assert!(absent.is_none_or(|absent| !absent.remedy.is_empty()));
        }
    }
}
