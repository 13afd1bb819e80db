//! A map that is measured, and what a process is asked about it.

use super::{Family, Hasher, Numbers, Strings, kept, slow, work};
use crate::measure::once::{Ask, Said};
use std::hash::RandomState;

/// A library's map.
#[derive(Debug, Clone, Copy)]
pub struct Mapping {
    /// The library.
    pub name: &'static str,
    /// Answers a question about it.
    pub measure: fn(&Ask) -> Said,
}

impl Mapping {
    pub(crate) const fn of<F: Family>(name: &'static str) -> Self {
        Mapping {
            name,
            measure: measure::<F>,
        }
    }
}

/// Each mix in a map of numbers; of strings.
pub const MIXES: [&str; 2] = ["mixes u64", "mixes strings"];
/// An empty map of numbers that gets so many.
pub const GROWTH: &str = "growth";
/// The slowest reads while it grows.
pub const SLOW: &str = "slow reads";
/// Memory of so many.
pub const FULL: &str = "full";
/// Memory after most were removed.
pub const EMPTIED: &str = "emptied";

fn measure<F: Family>(ask: &Ask) -> Said {
    // foldhash is the one that costs least; the standard one is what each peer has by default.
    match ask.of("std_hasher") {
        0 => with_hasher::<F, foldhash::fast::RandomState>(ask),
        _ => with_hasher::<F, RandomState>(ask),
    }
}

fn with_hasher<F: Family, S: Hasher>(ask: &Ask) -> Said {
    let (entries, threads) = (ask.of("entries"), ask.of("threads"));
    match &*ask.case {
        it if it == MIXES[0] => work::mixes::<F, Numbers, S>(entries, threads, ask.of("turns")),
        it if it == MIXES[1] => work::mixes::<F, Strings, S>(entries, threads, ask.of("turns")),
        GROWTH => work::growth::<F, Numbers, S>(entries, threads),
        SLOW => slow::reads::<F, Numbers, S>(entries),
        FULL => kept::bytes::<F, Numbers, S>(entries, None),
        EMPTIED => kept::bytes::<F, Numbers, S>(entries, Some(ask.ms("rest_ms"))),
        other => Err(format!("no cell with `{other}`")),
    }
}
