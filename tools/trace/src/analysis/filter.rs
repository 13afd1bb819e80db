//! Which part of a trace an analysis counts.
//!
//! What lies outside the window is still read: callbacks that were queued before it, and who was idle at its
//! start, are known inside. CPUs and threads select rows by what the analysis counts, not lines: each
//! analysis says which CPU and which thread that is.

use crate::CpuSet;

/// A thread of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Thread {
    /// By its id.
    Pid(u32),
    /// By its whole name.
    Name(String),
}

/// The request. An empty one selects everything.
///
/// ```
/// use quiescent_trace::{Filter, Thread};
///
/// let cpus = Some([1, 3].into_iter().collect());
/// let filter = Filter { cpus, threads: vec![Thread::Name("rcuog/0".into())], ..Filter::default() };
/// assert!(filter.cpu(3) && !filter.cpu(2));
/// assert!(filter.thread("rcuog/0", 16) && !filter.thread("rcuop/0", 17));
/// assert!(Filter::default().cpu(2) && Filter::default().thread("rcuop/0", 17));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// From this instant of the trace's clock, ns.
    pub from_ns: Option<u64>,
    /// Up to this instant, ns; it belongs to the window.
    pub to_ns: Option<u64>,
    /// These CPUs.
    pub cpus: Option<CpuSet>,
    /// These threads; empty: all.
    pub threads: Vec<Thread>,
}

impl Filter {
    /// Whether a CPU is selected.
    pub fn cpu(&self, cpu: u32) -> bool {
        self.cpus.as_ref().is_none_or(|cpus| cpus.contains(cpu))
    }

    /// Whether a thread is selected.
    pub fn thread(&self, name: &str, pid: u32) -> bool {
        self.threads.is_empty()
            || self.threads.iter().any(|thread| match thread {
                Thread::Pid(wanted) => *wanted == pid,
                Thread::Name(wanted) => wanted == name,
            })
    }

    /// Whether CPUs or threads were selected.
    pub fn selects(&self) -> bool {
        self.cpus.is_some() || !self.threads.is_empty()
    }
}
