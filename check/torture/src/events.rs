//! The last events of every thread, printed with a finding.
//!
//! Each place has a small ring that only its thread writes; one more is for other threads (callbacks on the
//! worker, the allocator). From the first finding on nothing is recorded, so that the events before it stay.
//! An event is two words that are not written as one: an event that is read while it is written may be a
//! mixture. Events help a person; no oracle uses them.
//!
//! Rings may be in memory that outlives the process ([`kept`](crate::kept)): they have no pointers, and
//! contain their owner's name.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::finding::{self, Finding};
use crate::kind::Kind;
use crate::role::Role;
use crate::world::{self, World};

/// Events of one ring.
pub(crate) const LENGTH: usize = 64;
/// Words of one ring: its owner, the next place, and two for each event.
pub(crate) const WORDS: usize = 2 + 2 * LENGTH;
/// The owner of a ring that belongs to no thread.
const ELSEWHERE: u64 = u64::MAX;
/// No kind.
const NONE: u64 = 0xff;

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
    const ALL: [(What, &str); 17] = [
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

/// No event is recorded any more in this process. For the child of a fork: the memory may still belong to its
/// parent.
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
    pub fn record(&self, world: &World, what: What, kind: Option<Kind>, value: u64) {
        if !finding::any() {
            let ns = world.start.elapsed().as_nanos() as u64;
            self.put(ns, what, kind, value);
        }
    }

    /// Records an event, so many nanoseconds after the start.
    pub(crate) fn put(&self, ns: u64, what: What, kind: Option<Kind>, value: u64) {
        let which = kind.map_or(NONE, |kind| u64::from(kind as u8));
        self.write(ns, what, which, value);
    }

    fn write(&self, ns: u64, what: What, which: u64, value: u64) {
        if SILENT.load(Ordering::Relaxed) {
            return;
        }
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        let event = &self.events[next as usize % LENGTH];
        let word = (value << 16) | (which << 8) | what as u64;
        event.what.store(word, Ordering::Relaxed);
        event.at.store(ns + 1, Ordering::Relaxed);
    }

    /// The owner, and the places.
    fn read(&self) -> Recorded {
        let load = |word: &AtomicU64| word.load(Ordering::Relaxed);
        let events = self.events.iter();
        let pairs = events.map(|event| (load(&event.at), load(&event.what)));
        (load(&self.whose), pairs.collect())
    }
}

/// The owner of a ring, and its events as they are in memory, in no order.
pub(crate) type Recorded = (u64, Vec<(u64, u64)>);

/// Something was found for the first time. May be called anywhere, also in the allocator.
pub(crate) fn found(finding: Finding, value: u64) {
    if let Some(world) = world::current() {
        let which = u64::from(finding as u8);
        let ns = world.start.elapsed().as_nanos() as u64;
        world.elsewhere.write(ns, What::Found, which, value);
    }
}

/// The last events of all threads together, the oldest first, and the last of each thread.
pub fn last(world: &World, count: usize) -> Vec<String> {
    let rings = world.places.iter().map(|place| place.ring);
    let rings = rings.chain([world.elsewhere]);
    merged(rings.map(Ring::read).collect(), count)
}

/// The same, of rings that have been read.
pub(crate) fn merged(rings: Vec<Recorded>, count: usize) -> Vec<String> {
    let mut events: Vec<(u64, bool, String)> = Vec::new();
    for (whose, ring) in rings {
        let owner = name(whose);
        let written = ring.into_iter();
        let written = written.filter_map(|(at, what)| Some((at.checked_sub(1)?, what)));
        let mut own: Vec<(u64, u64)> = written.collect();
        own.sort_unstable();
        let last = own.len().saturating_sub(1);
        let own = own.into_iter().enumerate();
        events.extend(own.map(|(n, (at, word))| (at, n == last, line(&owner, at, word))));
    }
    events.sort_unstable();
    let first = events.len().saturating_sub(count);
    let shown = events.into_iter().enumerate();
    let shown = shown.filter(|(n, (_, is_last, _))| *n >= first || *is_last);
    shown.map(|(_, (_, _, line))| line).collect()
}

fn name(whose: u64) -> String {
    let role = (whose & 0xff).checked_sub(1);
    match role.and_then(|role| Role::ALL.get(usize::try_from(role).ok()?)) {
        Some(role) if whose != ELSEWHERE => format!("{} {}", role.name(), whose >> 8),
        _ => "elsewhere".to_owned(),
    }
}

fn line(owner: &str, at: u64, word: u64) -> String {
    let (what, which, value) = (word & 0xff, (word >> 8) & 0xff, word >> 16);
    let text = What::ALL.get(what as usize).map_or("?", |it| it.1);
    let found = what == What::Found as u64;
    let name = match usize::try_from(which).unwrap_or(usize::MAX) {
        which if found => Finding::ALL.get(which).map(|it| it.text()),
        which => Kind::ALL.get(which).map(|it| it.name()),
    };
    let name = name.map(|name| format!(" {name}")).unwrap_or_default();
    let (seconds, micros) = (at / 1_000_000_000, at / 1000 % 1_000_000);
    format!("{seconds:>4}.{micros:06} {owner:<12} {text}{name} {value:#x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order_and_lines_have_them() {
        for (index, (what, _)) in What::ALL.into_iter().enumerate() {
            assert_eq!(what as usize, index);
        }
        let word = (0x2a << 16) | (Kind::CallLazy as u64) << 8 | What::Ran as u64;
        assert_eq!(
            line("lazy 3", 1_002_003_000, word),
            "   1.002003 lazy 3       completed call_lazy 0x2a"
        );
        let word = (7 << 16) | (Finding::TooShort as u64) << 8 | What::Found as u64;
        assert!(line("x", 0, word).ends_with("FOUND grace period too short 0x7"));
        assert!(line("x", 0, NONE << 8 | What::Barrier as u64).ends_with("barrier 0x0"));
    }
}
