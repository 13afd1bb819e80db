//! The last events of every thread, printed with a finding.
//!
//! Each place has a small ring that only its thread writes; one more is for other threads (callbacks on the
//! worker, the allocator). From the first finding on nothing is recorded, so that the events before it stay.
//! An event is two words that are not written as one: an event that is read while it is written may be a
//! mixture. Events help a person; no oracle uses them.
//!
//! Rings may be in memory that outlives the process ([`kept`](super::kept)): they have no pointers, and
//! contain their owner's name.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use super::kind::Kind;
use super::role::Role;

/// Events of one ring.
pub(crate) const LENGTH: usize = 64;
/// Words of one ring: its owner, the next place, and two for each event.
pub(crate) const WORDS: usize = 2 + 2 * LENGTH;
/// The owner of a ring that belongs to no thread.
pub(crate) const ELSEWHERE: u64 = u64::MAX;
/// No kind.
pub(crate) const NONE: u64 = 0xff;

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum What {
    /// An element is disposed of: its number.
    Queue,
    /// The caller's wait for it has ended: its number.
    Waited,
    /// A callback completed an entry: its word.
    Ran,
    /// A call of `barrier` begins.
    Barrier,
    /// A call of `barrier` has returned.
    BarrierEnd,
    /// An unneeded request for a grace period.
    Ask,
    /// A long section begins.
    Stay,
    /// A long section ends: the number of reports about it.
    Left,
    /// A fork: the child's number.
    Fork,
    /// The child has ended: its status.
    ForkEnd,
    /// Low memory is reported: how often at once.
    Low,
    /// A new budget: bytes.
    Budget,
    /// A setting changes: its number.
    Set,
    /// A flood begins: callbacks.
    Flood,
    /// All actors pause (1), or continue (0).
    Pause,
    /// A stall is reported: its age in milliseconds.
    Stalled,
    /// A finding: its value.
    Found,
}

impl What {
    pub(crate) const ALL: [(What, &str); 17] = [
        (What::Queue, "disposes of"),
        (What::Waited, "has waited for"),
        (What::Ran, "completed"),
        (What::Barrier, "barrier"),
        (What::BarrierEnd, "barrier returned"),
        (What::Ask, "asks for a grace period"),
        (What::Stay, "stays in a section"),
        (What::Left, "left it, reports"),
        (What::Fork, "forked"),
        (What::ForkEnd, "child ended"),
        (What::Low, "memory is low"),
        (What::Budget, "budget"),
        (What::Set, "setting"),
        (What::Flood, "flood"),
        (What::Pause, "all pause"),
        (What::Stalled, "stall reported, ms"),
        (What::Found, "FOUND"),
    ];
}

#[derive(Default)]
#[repr(C)]
struct Event {
    /// Nanoseconds since the start, plus one; 0 for none yet.
    at: AtomicU64,
    /// `value << 16 | kind or finding << 8 | what`.
    what: AtomicU64,
}

/// The last events of one thread. The layout is fixed: another process reads it.
#[repr(C)]
pub struct Ring {
    /// `number << 8 | role + 1`, or elsewhere; 0 if free.
    whose: AtomicU64,
    next: AtomicU64,
    events: [Event; LENGTH],
}

const _: () = assert!(size_of::<Ring>() == WORDS * size_of::<u64>());

impl Default for Ring {
    fn default() -> Ring {
        Ring {
            whose: AtomicU64::new(0),
            next: AtomicU64::new(0),
            events: std::array::from_fn(|_| Event::default()),
        }
    }
}

/// The start of the run, and the ring of threads without a place.
static RUN: OnceLock<(Instant, &Ring)> = OnceLock::new();

/// A run begins.
pub fn begin(start: Instant, elsewhere: &'static Ring) {
    _ = RUN.set((start, elsewhere));
}

/// No event is recorded any more in this process: something was found; or it is the child of a fork, in which
/// the memory may still belong to its parent.
static SILENT: AtomicBool = AtomicBool::new(false);

/// This process is the child of a fork, and records nothing.
pub fn silence() {
    SILENT.store(true, Ordering::Relaxed);
}

impl Ring {
    /// The ring belongs to the thread with this role and number.
    pub fn belongs_to(&self, role: Role, number: usize) {
        let whose = (number as u64) << 8 | (role as u64 + 1);
        self.whose.store(whose, Ordering::Relaxed);
    }

    /// The ring is for code that runs on threads without a place.
    pub fn belongs_elsewhere(&self) {
        self.whose.store(ELSEWHERE, Ordering::Relaxed);
    }

    /// Records an event, unless something has been found.
    pub fn record(&self, what: What, kind: Option<Kind>, value: u64) {
        if let Some((start, _)) = RUN.get()
            && !SILENT.load(Ordering::Relaxed)
        {
            self.put(start.elapsed().as_nanos() as u64, what, kind, value);
        }
    }

    /// Records an event, so many nanoseconds after the start.
    pub(crate) fn put(&self, ns: u64, what: What, kind: Option<Kind>, value: u64) {
        let which = kind.map_or(NONE, |kind| u64::from(kind as u8));
        self.write(ns, what, which, value);
    }

    fn write(&self, ns: u64, what: What, which: u64, value: u64) {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        let event = &self.events[next as usize % LENGTH];
        let word = (value << 16) | (which << 8) | what as u64;
        event.what.store(word, Ordering::Relaxed);
        event.at.store(ns + 1, Ordering::Relaxed);
    }

    /// The owner, and the places.
    pub(crate) fn read(&self) -> Recorded {
        let load = |word: &AtomicU64| word.load(Ordering::Relaxed);
        let events = self.events.iter();
        let pairs = events.map(|event| (load(&event.at), load(&event.what)));
        (load(&self.whose), pairs.collect())
    }
}

/// The owner of a ring, and its events as they are in memory, in no order.
pub(crate) type Recorded = (u64, Vec<(u64, u64)>);

/// Something was found for the first time: this is the last event. May be called anywhere, also in the
/// allocator.
pub(crate) fn found(finding: u8, value: u64) {
    if let Some((start, elsewhere)) = RUN.get()
        && !SILENT.swap(true, Ordering::Relaxed)
    {
        let ns = start.elapsed().as_nanos() as u64;
        elsewhere.write(ns, What::Found, u64::from(finding), value);
    }
}
