//! Who queues what, how long it waits, and who keeps waking whom: counted on request, and readable from outside.
//!
//! [`start`], or the environment variable `QUIESCENT_TELEMETRY=1`, makes a *page* of shared memory and counts into it from then on: for each
//! domain and callback function what was queued and executed, how long it waited and how often it broke laziness; and the
//! process's counters. [`snapshot`] reads it here, [`Source::of`] from another process: that is what `quiescent top` does. Nobody is woken
//! for it, and a process that is stopped can be looked at as well.
//!
//! ```
//! use quiescent::telemetry;
//!
//! telemetry::start()?;
//! quiescent::defer(|| println!("all readers of before are gone"));
//! quiescent::barrier();
//! let snapshot = telemetry::snapshot().expect("started");
//! let function = snapshot.functions.iter().find(|it| it.executed == 1).expect("counted");
//! assert!(function.name.contains("closure") && function.domain == "process");
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # What it costs
//! Nothing on the read side, on or off. Off, nothing in `retire` and `defer`; where they come for the queue's lock (once a batch) one load. On, nothing
//! is counted in the call either: a batch is counted when its owner comes for the lock, and the entries are still there. `QUIESCENT_TELEMETRY=1
//! ci/instructions` prints what that comes to: between three and four instructions for each `retire` and the freeing of an older object. The page is 150 KiB, whatever is queued.
//!
//! # How exact it is
//! Every entry is counted once when it is queued and once when it is executed, none is sampled. But what a thread has queued since
//! it last came for the lock (a batch at most, or what a quiet thread has left until its flush time) is not counted yet. How long
//! something waited is known to a batch: [`Function::waited_at_least`] and [`Function::waited_at_most`] are the two ends, each but for a tick of the kernel's clock (10 ms at most). What was queued before the start is not
//! counted, nor its end. There are rows for 511 functions; the others are counted together, as "(others)".
//!
//! Memory without a destructor is queued as what it is, a block of some size, so that is its name; a type's name would cost room in
//! each entry. Bytes are those of the blocks and entries, without what [`with_owned_bytes`](crate::Retired::with_owned_bytes) added.
//!
//! # The page
//! A `memfd` named `quiescent-telemetry` (never one of the first three descriptors), sealed against being made smaller or written by others. It has no name in any file system: the way to it is
//! `/proc/PID/fd`, which the kernel opens to the same user (and to who may trace the process) only. Its layout says its own version and where everything is, and is
//! written down in [`Source`]. In the child of a fork it is another page, which starts with nothing. (Where the library
//! is told to leave forks alone, or does not hear of one, as of `_Fork`, a child that goes on using it counts into its parent's.) A program with more rights than its user ignores the variable.

use std::io;
use std::time::Duration;

mod marks;
mod page;
mod publish;
mod source;
mod told;

pub use source::Source;

pub(crate) use page::{Names, SRCUS, UNNAMED, begin_again, leave, names, place_of};
pub(crate) use publish::{publish, publish_if_on};
pub(crate) use told::Told;

/// Counts from now on; does nothing if it does so already. There is no end to it but the process's.
///
/// # Errors
/// There is no descriptor, or no memory, for the page. Nothing is counted then.
pub fn start() -> io::Result<()> {
    page::start()
}

/// Should it start with the process?
pub(crate) fn is_demanded() -> bool {
    // SAFETY: reads a value that the kernel passed to the process.
    let with_more_rights = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    std::env::var_os("QUIESCENT_TELEMETRY")
        .filter(|_| !with_more_rights)
        .is_some_and(|value| !value.is_empty() && value != "0" && value != "off")
}

/// What this process has counted until now; `None` where nothing is counted. Brings the counters up to date first.
pub fn snapshot() -> Option<Snapshot> {
    publish();
    Source::own()?.read().ok()
}

/// What a page says at one moment. Each number is exact; they were read one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// Whose it is.
    pub pid: u32,
    /// Forks between the first process and this one.
    pub forks: u32,
    /// For how long it has been counting, by `CLOCK_MONOTONIC`.
    pub counted_for: Duration,
    /// How long ago the counters were brought up to date: at the end of a grace period, before a driver or the worker sleeps. Functions
    /// are always up to date.
    pub counters_age: Duration,
    /// The process's counters by their names in [`Statistics`](crate::stats::Statistics), those inside another struct as `flushes.hurry`.
    pub counters: Vec<(String, u64)>,
    /// What was queued, by domain and function, in the order of their names. Functions that are alike in all that can be told of them are one.
    pub functions: Vec<Function>,
    /// The readers in the way of the process's grace period when its driver last looked: the kernel's number of the thread (0: those without a slot), and
    /// how many sections it had open.
    pub holdouts: Vec<(u32, u32)>,
}

impl Snapshot {
    /// A counter; 0 if there is none of this name.
    pub fn counter(&self, name: &str) -> u64 {
        let found = self.counters.iter().find(|it| it.0 == name);
        found.map_or(0, |it| it.1)
    }
}

/// What kind of thing is queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum What {
    /// A block of memory, given back without running code.
    Memory,
    /// A closure, or a value with a destructor.
    Code,
    /// An intrusive callback ([`intrusive::defer`](crate::intrusive::defer)).
    Head,
}

/// A callback function of a domain, and what became of its callbacks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Function {
    /// `process`; the [name](crate::Domain::set_name) given to a domain, or to several; `(unnamed)`, all domains without one; `srcu N`.
    pub domain: String,
    /// The type of the closure or of the value that is dropped; `block of N bytes`; `head at ADDRESS`, which a debugger can tell.
    pub name: String,
    /// What kind of thing it is.
    pub what: What,
    /// It is queued lazily, unless in a hurry.
    pub lazy: bool,
    /// Times it was queued.
    pub queued: u64,
    /// Times it was executed, or its memory given back.
    pub executed: u64,
    /// Bytes of one, as the budget counts them, without what was added by [`with_owned_bytes`](crate::Retired::with_owned_bytes).
    pub bytes_each: u64,
    /// Times it broke laziness by a hurry: see [`breakers`](crate::stats::breakers).
    pub hurried: u64,
    /// Times it did so as the first prompt one.
    pub prompt: u64,
    /// Lots that were executed at once.
    pub batches: u64,
    /// How long those executed have waited, added up, at least.
    pub waited_at_least: Duration,
    /// And at most.
    pub waited_at_most: Duration,
    /// The longest of them, at most.
    pub longest: Duration,
}

impl Function {
    /// Queued and not executed yet.
    pub fn held(&self) -> u64 {
        self.queued.saturating_sub(self.executed)
    }

    /// Is it the same function of the same domain, as far as can be told? In one snapshot no two are; so it finds a function in another snapshot.
    fn is_alike(&self, other: &Function) -> bool {
        let key = |it: &Function| (it.what, it.lazy, it.bytes_each);
        key(self) == key(other) && self.domain == other.domain && self.name == other.name
    }

    fn add(&mut self, other: &Function) {
        for (sum, more) in [
            (&mut self.queued, other.queued),
            (&mut self.executed, other.executed),
            (&mut self.hurried, other.hurried),
            (&mut self.prompt, other.prompt),
            (&mut self.batches, other.batches),
        ] {
            *sum = sum.saturating_add(more);
        }
        self.waited_at_least = self.waited_at_least.saturating_add(other.waited_at_least);
        self.waited_at_most = self.waited_at_most.saturating_add(other.waited_at_most);
        self.longest = self.longest.max(other.longest);
    }

    /// How long one has waited on average, at most.
    pub fn delay(&self) -> Duration {
        let ns = self.waited_at_most.as_nanos() / u128::from(self.executed.max(1));
        Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}
