//! Who is measured.
//!
//! A subject is a table of plain functions, each a whole loop, so that what is measured is compiled with the
//! library's read side inlined: Rust libraries through the generic loops of `loops.rs`, C libraries through
//! the same loops in `shims/loops.h`. The cases:
//!
//! * `empty`: enter and leave a read-side critical section
//! * `nested`: the same inside a section that is held throughout
//! * `load`: enter, load a protected pointer, read the value, leave
//! * `repin`: a section held throughout: [`READS_PER_REPIN`] protected reads, then one "I hold nothing now"
//!   (qsbr: `quiescent_state`; quiescent: `Guard::repin`; others: their own form, else unlock and lock). Cost
//!   is given per read, with the same unprotected reads subtracted
//!
//! * `across an await`: a task enters, is pending once, reads the value, leaves: only where a section may be
//!   held meanwhile
//!
//! Names that begin with `quiescent-` are of our other kinds of readers; those that end in `-turns` read in
//! two domains by turns.
//!
//! Peculiarities, to be fair to each: haphazard takes a fresh hazard slot in `empty` and `load` (its
//! `repin` keeps one); arc-swap and hazarc have no section, `empty` is `load()` and drop, or a look into a
//! `Cache` (which may be old until the next look, and keeps the last value); ck keeps its record pointer in a
//! register.

use crate::measure::freed::Line;
use crate::peers;
use quiescent_report::OURS;
use quiescent_report::Report;
use serde_json::{Map, Value};
use std::sync::atomic::{AtomicU32, AtomicU64};

mod bare;
#[cfg(have_c)]
mod c_peer;
pub(crate) mod held;
pub(crate) mod loops;
pub(crate) mod pairs;
pub mod pool;
#[cfg(test)]
mod tests;

pub use bare::bare;
#[cfg(have_c)]
pub(crate) use c_peer::c_peer;
pub use held::{BATCH, Handed};
pub use peers::{Absent, absent};

/// Protected reads between two "I hold nothing now" in the case `repin`.
pub const READS_PER_REPIN: u64 = 64;

/// The cases of the read side, in the order they are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReadCase {
    /// Enter and leave.
    Empty,
    /// Enter and leave inside a section.
    Nested,
    /// Enter, read a protected value, leave.
    Load,
    /// Protected reads in one long section with a quiescent state every [`READS_PER_REPIN`].
    Repin,
    /// A section of a task that is pending once in it.
    Awaited,
}

impl ReadCase {
    /// All of them, in order.
    pub const ALL: [ReadCase; 5] = [
        ReadCase::Empty,
        ReadCase::Nested,
        ReadCase::Load,
        ReadCase::Repin,
        ReadCase::Awaited,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            ReadCase::Empty => "empty",
            ReadCase::Nested => "nested",
            ReadCase::Load => "load",
            ReadCase::Repin => "repin",
            ReadCase::Awaited => "across an await",
        }
    }

    /// The case of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|case| case.name() == name)
    }
}

/// The language a subject's loops are compiled from: each has its own bare loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Language {
    /// Loops of this crate.
    Rust,
    /// Loops of `shims/loops.h`.
    C,
}

/// The loop of each case of one subject, where there is one: in the order of [`ReadCase::ALL`]. It runs the
/// given number of turns on the calling thread (`repin`: of reads).
#[derive(Debug, Clone, Copy)]
pub struct Loops(pub(crate) [Option<fn(u64)>; 5]);

impl Loops {
    /// The loop of a case, where there is one.
    pub fn of(&self, case: ReadCase) -> Option<fn(u64)> {
        self.0[case as usize]
    }
}

/// A subject's own counters, for the rule that nothing runs without need.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Grace periods ended.
    pub grace_periods: u64,
    /// Scans over the readers.
    pub scans: u64,
    /// Groups of threads that they looked at.
    pub leaves: u64,
    /// Steps of grace periods.
    pub steps: u64,
    /// Process-wide fences that were used, all causes.
    pub fences: u64,
    /// Those that were issued, each of which interrupts the CPUs that run the process's threads.
    pub fences_issued: u64,
}

impl Counters {
    /// What was counted between `before` and this.
    pub fn since(self, before: Counters) -> Counters {
        Counters {
            grace_periods: self.grace_periods - before.grace_periods,
            scans: self.scans - before.scans,
            leaves: self.leaves - before.leaves,
            steps: self.steps - before.steps,
            fences: self.fences - before.fences,
            fences_issued: self.fences_issued - before.fences_issued,
        }
    }
}

/// How a subject waits for a grace period.
#[derive(Debug, Clone, Copy)]
pub struct Waiting {
    /// Before the calling thread goes on after a blocking wait.
    pub online: fn(),
    /// Before the calling thread blocks.
    pub offline: fn(),
    /// Waits for a grace period; called outside any section.
    pub sync: fn(),
    /// Reads in a loop until the control stops it, with a heartbeat after every section.
    pub reader: fn(&ReaderControl),
    /// The subject's own counters, where it has some.
    pub counters: Option<fn() -> Counters>,
}

/// One library.
#[derive(Debug, Clone, Copy)]
pub struct Subject {
    /// The name in reports.
    pub name: &'static str,
    /// Which bare loop is subtracted.
    pub language: Language,
    /// Registers the calling thread, where the library wants that. Once a thread, before anything else.
    pub attach: fn(),
    /// Undoes `attach`.
    pub detach: fn(),
    /// The read side.
    pub loops: Loops,
    /// The waiting side; `None` for libraries that have no grace period to wait for.
    pub waiting: Option<Waiting>,
    /// Batches of [`BATCH`] sections that one thread begins and another ends, where they may.
    pub handed: Option<Handed>,
}

impl Subject {
    /// Registers the calling thread; with a first section, for libraries that register at the first read.
    pub fn register(&self) {
        (self.attach)();
        self.loops.of(ReadCase::Empty).inspect(|empty| empty(1));
    }
}

/// Every subject of this build, ours first.
pub fn all() -> Vec<Subject> {
    peers::all().into_iter().flat_map(|it| it.reading).collect()
}

/// Ours alone, or all.
pub fn selected(compare: bool) -> Vec<Subject> {
    let mut subjects = all();
    subjects.retain(|subject| compare || subject.name.starts_with(OURS));
    subjects
}

/// The subject of this name.
pub fn named(name: &str) -> Option<Subject> {
    all().into_iter().find(|subject| subject.name == name)
}

/// That subject and its grace periods, for a process that was asked to wait for them.
///
/// # Errors
/// A text with the remedy.
pub fn that_waits(name: &str) -> Result<(Subject, Waiting), String> {
    let absent = || format!("`{name}` is not in this build; see `host.absent_peers`");
    let subject = named(name).ok_or_else(absent)?;
    let none = || format!("{name} has no grace period to wait for");
    Ok((subject, subject.waiting.ok_or_else(none)?))
}

/// Tells a report about our fence mode (`host.fence_mode`) and, when peers were asked for, which of them are
/// not there and why (`host.absent_peers`).
pub fn note(report: &mut Report, compare: bool) {
    let mode = quiescent::statistics().fence_mode.to_string();
    report.host.more.insert("fence_mode".into(), mode.into());
    let named = absent().into_iter();
    let named: Map<String, Value> = named.map(|it| (it.name.into(), it.remedy.into())).collect();
    if compare && !named.is_empty() {
        report.host.more.insert("absent_peers".into(), named.into());
    }
}

/// What a looping reader and the thread that started it share. The same layout as `qb_reader_control` in
/// `shims/loops.h`.
#[derive(Debug, Default)]
#[repr(C)]
pub struct ReaderControl {
    /// Set to 1 to make the reader return.
    pub stop: Line<AtomicU32>,
    /// [`crate::measure::clock::stamp`] after the reader's latest section.
    pub heartbeat: Line<AtomicU64>,
}

/// For libraries that register threads by themselves, or not at all.
fn nothing() {}
