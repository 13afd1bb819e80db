//! Findings: counters that any thread may increment, also from a signal handler and from inside the
//! allocator. Statics, because the allocator does not know the run.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::events;
use crate::kind::Kind;

const FINDINGS: usize = 21;

/// An error that the run has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Finding {
    /// A reader saw an age above 1 at the end of its section.
    TooShort,
    /// At the end of a section the entry of a reader belonged to another element.
    Reused,
    /// A reader found a freed block.
    Poisoned,
    /// A callback ran, or a block was freed, inside the section that queued it.
    InsideSection,
    /// A callback ran that was not queued: a second time, or before its time.
    RanTwice,
    /// A callback had not run at the end of the run.
    NeverRan,
    /// A barrier returned before an entry that was queued earlier had run.
    BarrierEarly,
    /// A cookie was reported satisfied too early or too late.
    Cookie,
    /// A block was freed twice.
    DoubleFree,
    /// A block had not been freed at the end of the run.
    Leaked,
    /// A queued entry did not run for too long, and no thread waited for it.
    Late,
    /// Threads made no progress.
    Hang,
    /// A thread panicked.
    Panicked,
    /// The library's count of panics of callbacks differs from the planned ones.
    PanicsMiscounted,
    /// The library still had an entry, a request or a timer at the end of the run.
    NotIdle,
    /// A reader found an element before it was initialised, or after its end (`mbtest`).
    Unfit,
    /// Readers blocked a grace period, and there was no report.
    StallUnreported,
    /// A stall was reported before its time.
    StallTooEarly,
    /// The child of a fork failed its checks.
    ForkedChild,
    /// An actor, or a counter that has to increase, did nothing in a run that was long enough.
    NotExercised,
    /// A section of one `Srcu` or domain delayed another one, or the process.
    NotIsolated,
}

impl Finding {
    /// All of them.
    pub const ALL: [Finding; FINDINGS] = [
        Finding::TooShort,
        Finding::Reused,
        Finding::Poisoned,
        Finding::InsideSection,
        Finding::RanTwice,
        Finding::NeverRan,
        Finding::BarrierEarly,
        Finding::Cookie,
        Finding::DoubleFree,
        Finding::Leaked,
        Finding::Late,
        Finding::Hang,
        Finding::Panicked,
        Finding::PanicsMiscounted,
        Finding::NotIdle,
        Finding::Unfit,
        Finding::StallUnreported,
        Finding::StallTooEarly,
        Finding::ForkedChild,
        Finding::NotExercised,
        Finding::NotIsolated,
    ];

    /// Its name in reports.
    pub fn text(self) -> &'static str {
        match self {
            Finding::TooShort => "grace period too short",
            Finding::Reused => "entry reused inside a section",
            Finding::Poisoned => "freed block read",
            Finding::InsideSection => "ran inside the section that queued it",
            Finding::RanTwice => "callback ran twice",
            Finding::NeverRan => "callback never ran",
            Finding::BarrierEarly => "barrier returned too early",
            Finding::Cookie => "wrong answer to a cookie",
            Finding::DoubleFree => "block freed twice",
            Finding::Leaked => "block never freed",
            Finding::Late => "queued entry not served",
            Finding::Hang => "no progress",
            Finding::Panicked => "thread panicked",
            Finding::PanicsMiscounted => "panics of callbacks miscounted",
            Finding::NotIdle => "not idle after the last barrier",
            Finding::Unfit => "found while unfit (mbtest)",
            Finding::StallUnreported => "stall not reported",
            Finding::StallTooEarly => "stall reported too early",
            Finding::ForkedChild => "child of a fork went wrong",
            Finding::NotExercised => "not exercised",
            Finding::NotIsolated => "held up by another one",
        }
    }

    /// Notes a finding. `value` has details: an age, a word, a count.
    pub fn note(self, kind: Option<Kind>, value: u64) {
        let record = &RECORDS[self as usize];
        if record.count.fetch_add(1, Ordering::Relaxed) == 0 {
            record.value.store(value, Ordering::Relaxed);
            let kind = kind.map_or(0, |kind| kind as u64 + 1);
            record.kind.store(kind, Ordering::Relaxed);
        }
        if !ANY.swap(true, Ordering::Relaxed) {
            events::found(self, value);
        }
    }

    /// How often it was found.
    pub fn count(self) -> u64 {
        RECORDS[self as usize].count.load(Ordering::Relaxed)
    }

    /// A line about it.
    pub fn line(self) -> String {
        let record = &RECORDS[self as usize];
        let mut line = format!("{}: {}", self.text(), self.count());
        let value = record.value.load(Ordering::Relaxed);
        if let Some(kind) = record.kind.load(Ordering::Relaxed).checked_sub(1) {
            let name = Kind::ALL[kind as usize].name();
            let _ = write!(line, " (the first: {name}, {value:#x})");
        } else {
            let _ = write!(line, " (the first: {value:#x})");
        }
        line
    }
}

/// Has anything been found?
pub fn any() -> bool {
    ANY.load(Ordering::Relaxed)
}

/// The details of the first finding of a kind.
struct Record {
    count: AtomicU64,
    value: AtomicU64,
    /// The kind plus one; 0 for none.
    kind: AtomicU64,
}

static RECORDS: [Record; FINDINGS] = [const {
    Record {
        count: AtomicU64::new(0),
        value: AtomicU64::new(0),
        kind: AtomicU64::new(0),
    }
}; FINDINGS];

static ANY: AtomicBool = AtomicBool::new(false);
