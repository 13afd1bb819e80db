//! Findings: counters that any thread may increment, also from a signal handler and from inside the
//! allocator. Statics, because the allocator does not know the run.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use strum::{EnumCount, VariantArray};

use super::events;
use super::get;
use super::kind::Kind;

const FINDINGS: usize = Finding::COUNT;

/// An error that the run has found.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, strum::EnumCount, strum::IntoStaticStr, strum::VariantArray,
)]
#[repr(u8)]
pub enum Finding {
    /// A reader saw an age above 1 at the end of its section.
    #[strum(serialize = "grace period too short")]
    TooShort,
    /// At the end of a section the entry of a reader belonged to another element.
    #[strum(serialize = "entry reused inside a section")]
    Reused,
    /// A reader found a freed block.
    #[strum(serialize = "freed block read")]
    Poisoned,
    /// A callback ran, or a block was freed, inside the section that queued it.
    #[strum(serialize = "ran inside the section that queued it")]
    InsideSection,
    /// A callback ran that was not queued: a second time, or before its time.
    #[strum(serialize = "callback ran twice")]
    RanTwice,
    /// A callback had not run at the end of the run.
    #[strum(serialize = "callback never ran")]
    NeverRan,
    /// A barrier returned before an entry that was queued earlier had run.
    #[strum(serialize = "barrier returned too early")]
    BarrierEarly,
    /// A cookie was reported satisfied too early or too late.
    #[strum(serialize = "wrong answer to a cookie")]
    Cookie,
    /// A block was freed twice.
    #[strum(serialize = "block freed twice")]
    DoubleFree,
    /// A block had not been freed at the end of the run.
    #[strum(serialize = "block never freed")]
    Leaked,
    /// A queued entry did not run for too long, and no thread waited for it.
    #[strum(serialize = "queued entry not served")]
    Late,
    /// Threads made no progress.
    #[strum(serialize = "no progress")]
    Hang,
    /// A thread panicked.
    #[strum(serialize = "thread panicked")]
    Panicked,
    /// The library's count of panics of callbacks differs from the planned ones.
    #[strum(serialize = "panics of callbacks miscounted")]
    PanicsMiscounted,
    /// The library still had an entry, a request or a timer at the end of the run.
    #[strum(serialize = "not idle after the last barrier")]
    NotIdle,
    /// A reader found an element before it was initialised, or after its end (`mbtest`).
    #[strum(serialize = "found while unfit (mbtest)")]
    Unfit,
    /// Readers blocked a grace period, and there was no report.
    #[strum(serialize = "stall not reported")]
    StallUnreported,
    /// A stall was reported before its time.
    #[strum(serialize = "stall reported too early")]
    StallTooEarly,
    /// The child of a fork failed its checks.
    #[strum(serialize = "child of a fork went wrong")]
    ForkedChild,
    /// An actor, or a counter that has to increase, did nothing in a run that was long enough.
    #[strum(serialize = "not exercised")]
    NotExercised,
    /// A section of one `Srcu` or domain delayed another one, or the process.
    #[strum(serialize = "held up by another one")]
    NotIsolated,
}

impl Finding {
    /// All of them.
    pub const ALL: [Finding; FINDINGS] = *Finding::VARIANTS.first_chunk().expect("so many");

    /// Its name in reports.
    pub fn text(self) -> &'static str {
        self.into()
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
            events::found(self as u8, value);
        }
    }

    /// How often it was found.
    pub fn count(self) -> u64 {
        RECORDS[self as usize].count.load(Ordering::Relaxed)
    }

    /// A line about it.
    pub fn line(self) -> String {
        let record = &RECORDS[self as usize];
        let (text, count, value) = (self.text(), self.count(), get(&record.value));
        let kind = get(&record.kind).checked_sub(1);
        let kind = kind.map(|kind| format!("{}, ", Kind::ALL[kind as usize].name()));
        let kind = kind.unwrap_or_default();
        format!("{text}: {count} (the first: {kind}{value:#x})")
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
