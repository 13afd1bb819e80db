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
//! `bench srcu` and `bench domain` have subjects of their own beside some of these: [`sleepers`],
//! [`domains`].
//!
//! Peculiarities, to be fair to each: haphazard takes a fresh hazard slot in `empty` and `load` (its
//! `repin` keeps one); arc-swap has no section, `empty` is `load()` and drop, or a look into a `Cache`; ck
//! keeps its record pointer in a register.

use crate::measure::freed::Line;
use quiescent_report::OURS;
use quiescent_report::Report;
use serde_json::Value;
use std::sync::atomic::{AtomicU32, AtomicU64};

#[cfg(feature = "peers")]
mod arc_swap;
mod bare;
#[cfg(have_c)]
mod c_peer;
#[cfg(have_ck)]
mod ck;
#[cfg(feature = "peers")]
mod crossbeam;
mod domain;
#[cfg(feature = "peers")]
mod haphazard;
pub mod held;
#[cfg(feature = "peers")]
mod kovan;
#[cfg(have_liburcu)]
mod liburcu;
pub(crate) mod loops;
pub(crate) mod pairs;
pub mod pool;
mod quiescent;
#[cfg(feature = "peers")]
mod sdd;
#[cfg(feature = "peers")]
mod seize;
mod srcu;
mod std_locks;
#[cfg(test)]
mod tests;

pub use bare::bare;

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
}

impl ReadCase {
    /// All of them, in order.
    pub const ALL: [ReadCase; 4] = [
        ReadCase::Empty,
        ReadCase::Nested,
        ReadCase::Load,
        ReadCase::Repin,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            ReadCase::Empty => "empty",
            ReadCase::Nested => "nested",
            ReadCase::Load => "load",
            ReadCase::Repin => "repin",
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

/// The loops of one subject; each runs the given number of turns on the calling thread (`repin`: of reads).
#[derive(Debug, Clone, Copy)]
pub struct Loops {
    /// [`ReadCase::Empty`].
    pub empty: fn(u64),
    /// [`ReadCase::Nested`].
    pub nested: fn(u64),
    /// [`ReadCase::Load`].
    pub load: fn(u64),
    /// [`ReadCase::Repin`].
    pub repin: fn(u64),
}

impl Loops {
    /// The loop of a case.
    pub fn of(&self, case: ReadCase) -> fn(u64) {
        match case {
            ReadCase::Empty => self.empty,
            ReadCase::Nested => self.nested,
            ReadCase::Load => self.load,
            ReadCase::Repin => self.repin,
        }
    }
}

/// A subject's own counters, for the rule that nothing runs without need.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
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
    /// Sleepers woken.
    pub wakeups: u64,
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
            wakeups: self.wakeups - before.wakeups,
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

/// Every subject of this build, quiescent's first.
pub fn all() -> Vec<Subject> {
    vec![
        quiescent::subject(),
        #[cfg(have_liburcu)]
        liburcu::memb(),
        #[cfg(have_liburcu)]
        liburcu::memb_call(),
        #[cfg(have_liburcu)]
        liburcu::qsbr(),
        #[cfg(have_ck)]
        ck::subject("ck"),
        #[cfg(feature = "peers")]
        crossbeam::subject(),
        #[cfg(feature = "peers")]
        seize::subject(),
        #[cfg(feature = "peers")]
        haphazard::subject(),
        #[cfg(feature = "peers")]
        sdd::subject(),
        #[cfg(feature = "peers")]
        kovan::subject(),
        #[cfg(feature = "peers")]
        arc_swap::subject(),
        #[cfg(feature = "peers")]
        arc_swap::cache(),
    ]
}

/// quiescent's alone, or all.
pub fn selected(compare: bool) -> Vec<Subject> {
    let mut subjects = all();
    if !compare {
        subjects.retain(|subject| subject.name == OURS);
    }
    subjects
}

/// The subject of this name, of those that are [`known`].
pub fn named(name: &str) -> Option<Subject> {
    known().into_iter().find(|subject| subject.name == name)
}

/// Everybody: [`all`], [`sleepers`], [`domains`].
pub fn known() -> Vec<Subject> {
    [all(), sleepers(), domains()].concat()
}

/// Subjects whose readers may sleep in a section, or hold what they read for as long as they like: those of
/// `bench srcu`, ours first.
pub fn sleepers() -> Vec<Subject> {
    vec![
        srcu::borrowed(),
        srcu::owned(),
        srcu::sent(),
        std_locks::rwlock(),
        #[cfg(feature = "peers")]
        arc_swap::full(),
    ]
}

/// The name of our readers that may sleep.
pub const SRCU: &str = "quiescent-srcu";
/// The same with guards that may be sent to other threads: for `ci/instructions`. (What outlives its function
/// or its thread in `bench srcu` has such guards under the other two names.)
pub const SRCU_SEND: &str = "quiescent-srcu-send";
/// The same with guards that keep the `Srcu` alive.
pub const SRCU_OWNED: &str = "quiescent-srcu-owned";

/// Subjects that read in a part of the process only: those of `bench domain`, ours first. A name that ends in
/// `-turns` is of one that reads in two such parts by turns.
pub fn domains() -> Vec<Subject> {
    vec![
        domain::at_hand(),
        domain::turns(),
        domain::owned(),
        #[cfg(feature = "peers")]
        crossbeam::own(),
        #[cfg(feature = "peers")]
        crossbeam::turns(),
        #[cfg(feature = "peers")]
        seize::turns(),
        #[cfg(feature = "peers")]
        haphazard::own(),
        #[cfg(feature = "peers")]
        haphazard::turns(),
    ]
}

/// The name of our domains of the program's own.
pub const DOMAIN: &str = "quiescent-domain";
/// Two of them, by turns.
pub const DOMAIN_TURNS: &str = "quiescent-domain-turns";
/// One with guards that keep it alive.
pub const DOMAIN_OWNED: &str = "quiescent-domain-owned";

/// Those that are not in this build, with the remedy.
pub fn absent() -> Vec<Absent> {
    let rust = [
        "crossbeam-epoch",
        "seize",
        "haphazard",
        "sdd",
        "kovan",
        "arc-swap",
        "arc-swap-cache",
    ];
    let c = ["liburcu-memb", "liburcu-memb-call", "liburcu-qsbr", "ck"];
    absent_of(&rust, &c, |name| named(name).is_some())
}

/// Those of two lists, of Rust and of C libraries, that are not `present`.
pub(crate) fn absent_of(
    rust: &[&'static str],
    c: &[&'static str],
    present: impl Fn(&str) -> bool,
) -> Vec<Absent> {
    let c_remedy = if cfg!(feature = "peers") {
        INSTALL_C
    } else {
        BUILD_PEERS
    };
    let rust = rust.iter().map(|&name| (name, BUILD_PEERS));
    rust.chain(c.iter().map(|&name| (name, c_remedy)))
        .filter(|(name, _)| !present(name))
        .map(|(name, remedy)| Absent { name, remedy })
        .collect()
}

/// Tells a report about our fence mode (`host.fence_mode`) and, when peers were asked for, which of them are
/// not there and why (`host.absent_peers`).
pub fn note(report: &mut Report, compare: bool) {
    note_absent(report, compare, absent());
}

/// As [`note`], for these absent peers.
pub(crate) fn note_absent(report: &mut Report, compare: bool, absent: Vec<Absent>) {
    let mode = ::quiescent::statistics().fence_mode.to_string();
    report.host.more.insert("fence_mode".into(), mode.into());
    if compare && !absent.is_empty() {
        let named = absent
            .iter()
            .map(|absent| (absent.name.to_string(), absent.remedy.into()));
        let named: serde_json::Map<String, Value> = named.collect();
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
