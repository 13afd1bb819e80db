//! One reading of a source.

mod kernel;
mod process;

pub use kernel::Kernel;
pub use process::Process;

use std::io;
use std::time::Instant;

use quiescent_live::telemetry::{self, What};

/// The kind of source, which decides words and counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A program with this library.
    Process,
    /// A simulated kernel.
    Machine,
    /// The running kernel.
    Kernel,
}

impl Subject {
    /// In one word.
    pub const fn word(self) -> &'static str {
        match self {
            Subject::Process => "process",
            Subject::Machine => "machine",
            Subject::Kernel => "kernel",
        }
    }
}

/// RCU's soft interrupts: a counter of every kernel. By CPU it is `softirqs.cpu0`.
pub const SOFTIRQS: &str = "softirqs";

/// A callback function, and its counts; `None`: this source does not have the figure. Counts only grow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its domain.
    pub domain: String,
    /// Its name.
    pub name: String,
    /// What kind of thing it is.
    pub what: What,
    /// Times it was queued.
    pub queued: Option<u64>,
    /// Times it was queued lazily.
    pub lazily: Option<u64>,
    /// Times it was executed.
    pub executed: u64,
    /// Sum of the delays of those executed, an upper bound, ns.
    pub waited_ns: Option<u64>,
    /// Bytes of those queued and not executed.
    pub held_bytes: Option<u64>,
    /// Times it ended the laziness of others.
    pub broke: Option<u64>,
}

impl Function {
    /// Queued and not executed.
    pub fn held(&self) -> Option<u64> {
        Some(self.queued?.saturating_sub(self.executed))
    }
}

impl From<telemetry::Function> for Function {
    fn from(it: telemetry::Function) -> Function {
        Function {
            held_bytes: Some(it.held_bytes()),
            lazily: Some(match it.lazy {
                true => it.queued.saturating_sub(it.hurried),
                false => 0,
            }),
            waited_ns: Some(u64::try_from(it.waited_at_most.as_nanos()).unwrap_or(u64::MAX)),
            broke: Some(it.hurried.saturating_add(it.prompt)),
            domain: it.domain,
            name: it.name,
            what: it.what,
            queued: Some(it.queued),
            executed: it.executed,
        }
    }
}

/// A thread, and how much it has run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// The kernel's number.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Times it has gone to sleep by itself, each of which ended with a wake-up.
    pub sleeps: u64,
    /// Processor time, ns.
    pub cpu_ns: u64,
}

/// A holdout of a grace period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holdout {
    /// A thread in a section.
    Thread {
        /// The kernel's number of it; 0: those without a slot.
        id: u32,
        /// Its name; none if no such thread is found: it has ended inside its section, or its process has
        /// other thread numbers than this one (a name space).
        name: Option<String>,
        /// Nesting depth of its sections.
        nesting: u32,
    },
    /// A CPU that has not passed through a quiescent state.
    Cpu {
        /// Its number.
        cpu: u32,
        /// What runs on it; none: it idles.
        runs: Option<String>,
    },
    /// A task that was switched out in a section.
    Preempted {
        /// Its name.
        name: String,
    },
}

/// One reading of a source. All counts only grow.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The kind of source.
    pub subject: Subject,
    /// When.
    pub at: Instant,
    /// What was queued and executed, by domain and function.
    pub functions: Vec<Function>,
    /// Counters by name: of a process those of `quiescent::stats::Statistics`. What a source does not count
    /// is not shown.
    pub counters: Vec<(String, u64)>,
    /// Threads.
    pub threads: Vec<Thread>,
    /// Threads there are beside these.
    pub more_threads: usize,
    /// The holdouts.
    pub holdouts: Vec<Holdout>,
}

/// Where samples come from.
pub trait Source {
    /// What it is, in a few words, and how exact.
    fn about(&self) -> String;

    /// Reads a sample.
    ///
    /// # Errors
    /// The source does not exist, or has ended. The text has the remedy.
    fn read(&mut self) -> io::Result<Sample>;
}
