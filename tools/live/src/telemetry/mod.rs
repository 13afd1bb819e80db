//! The telemetry of a program that uses the library: a page of shared memory, which this reads.

mod memory_file;
mod source;

use std::time::Duration;

pub use source::Source;

/// The contents of a page at one moment. Each number is exact; they were read one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// The process's number.
    pub pid: u32,
    /// Forks between the first process and this one.
    pub forks: u32,
    /// How long it has been counting, by `CLOCK_MONOTONIC`.
    pub counted_for: Duration,
    /// How long ago the counters were updated: this happens at the end of a grace period, and before a driver
    /// or the worker sleeps. The functions are always up to date.
    pub counters_age: Duration,
    /// The process's counters by their names in `quiescent::stats::Statistics`, those inside
    /// another struct as `flushes.hurry`.
    pub counters: Vec<(String, u64)>,
    /// What was queued, by domain and function, sorted by name. Indistinguishable functions are one.
    pub functions: Vec<Function>,
    /// The readers that blocked the process's grace period at its driver's last scan: the kernel's number of
    /// the thread (0: those without a slot), and how many sections it had open.
    pub holdouts: Vec<(u32, u32)>,
}

impl Snapshot {
    /// The value of a counter; 0 if there is none of this name.
    pub fn counter(&self, name: &str) -> u64 {
        let found = self.counters.iter().find(|it| it.0 == name);
        found.map_or(0, |it| it.1)
    }
}

/// The kind of a queued item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum What {
    /// A block of memory, freed without running code.
    Memory,
    /// A closure, or a value with a destructor.
    Code,
    /// An intrusive callback (`intrusive::defer`).
    Head,
}

/// The counts of a callback function of a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Function {
    /// `process`; the name (`Domain::set_name`) of a domain, or of several; `(unnamed)`, all domains
    /// without one; `srcu N`.
    pub domain: String,
    /// The type of the closure or of the value that is dropped; `block of N bytes`; `head at ADDRESS`, which
    /// a debugger can resolve.
    pub name: String,
    /// The kind of the item.
    pub what: What,
    /// Whether it is queued lazily, unless in a hurry.
    pub lazy: bool,
    /// Times it was queued.
    pub queued: u64,
    /// Times it was executed, or its memory freed.
    pub executed: u64,
    /// Bytes of the items queued, as the budget counts them: weights are included.
    pub queued_bytes: u64,
    /// Bytes of the items executed.
    pub executed_bytes: u64,
    /// Bytes of one item, without those that it owns.
    pub bytes_each: u64,
    /// Times it ended laziness by a hurry.
    pub hurried: u64,
    /// Times it ended laziness as the first prompt item.
    pub prompt: u64,
    /// Batches that were executed together.
    pub batches: u64,
    /// Lower bound on the sum of the waiting times of the executed items.
    pub waited_at_least: Duration,
    /// Upper bound on that sum.
    pub waited_at_most: Duration,
    /// Upper bound on the longest waiting time.
    pub longest: Duration,
}

impl Function {
    /// Items that are queued and not executed yet.
    pub fn held(&self) -> u64 {
        self.queued.saturating_sub(self.executed)
    }

    /// Their bytes, as the budget counts them.
    pub fn held_bytes(&self) -> u64 {
        self.queued_bytes.saturating_sub(self.executed_bytes)
    }

    /// Whether both are the same function of the same domain, as far as is known. No two functions of one
    /// snapshot are, so this finds a function in another snapshot.
    fn is_alike(&self, other: &Function) -> bool {
        let key = |it: &Function| (it.what, it.lazy, it.bytes_each);
        key(self) == key(other) && self.domain == other.domain && self.name == other.name
    }

    fn add(&mut self, other: &Function) {
        for (sum, more) in [
            (&mut self.queued, other.queued),
            (&mut self.executed, other.executed),
            (&mut self.queued_bytes, other.queued_bytes),
            (&mut self.executed_bytes, other.executed_bytes),
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

    /// Upper bound on the average waiting time.
    pub fn delay(&self) -> Duration {
        let ns = self.waited_at_most.as_nanos() / u128::from(self.executed.max(1));
        Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}
