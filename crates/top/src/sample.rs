//! What can be read at one moment.

use std::io;
use std::time::Instant;

use quiescent::telemetry::Function;

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

/// A reader that a grace period waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holdout {
    /// The kernel's number of the thread; 0: those without a slot.
    pub thread: u32,
    /// Its name; none if no such thread is to be found: it has ended inside its section, or its process has other numbers for its threads than this one.
    pub name: Option<String>,
    /// Sections it has open, one inside the other.
    pub nesting: u32,
}

/// What a source said at one moment. All counts only grow.
#[derive(Clone, Debug)]
pub struct Sample {
    /// When.
    pub at: Instant,
    /// What was queued and executed, by domain and function.
    pub functions: Vec<Function>,
    /// Counters by name, those of [`quiescent::Statistics`].
    pub counters: Vec<(String, u64)>,
    /// Threads.
    pub threads: Vec<Thread>,
    /// Threads there are beside these.
    pub more_threads: usize,
    /// Who is in the way.
    pub holdouts: Vec<Holdout>,
}

impl Sample {
    /// A counter; 0 if there is none of this name.
    pub fn counter(&self, name: &str) -> u64 {
        let found = self.counters.iter().find(|it| it.0 == name);
        found.map_or(0, |it| it.1)
    }
}

/// Where samples come from.
pub trait Source {
    /// What it is, in a few words, and how exact.
    fn about(&self) -> String;

    /// What it says now.
    ///
    /// # Errors
    /// There is nothing to be read there, or no more. The text says what to do.
    fn read(&mut self) -> io::Result<Sample>;
}
