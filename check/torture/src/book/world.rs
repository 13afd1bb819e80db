//! The shared state of all threads of the run. Leaked: callbacks and handlers may run at any time.

use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering,
};
use std::time::Instant;

use super::entry::Entry;
use super::events::{self, Ring, What};
use super::get;
use super::kept;
use super::kind::{KINDS, Kind};
use super::latency::Histogram;
use super::ledger::Ledger;
use super::options::{Broken, Options};
use super::periods::{Own, STATICS};
use super::role::{ROLES, Role};
use super::tide::Tide;
use super::waking::Bell;

/// The number of ages that are counted separately; the last one includes all larger ones.
pub const AGES: usize = 12;

/// A place for a thread: its ledger, and its progress.
pub struct Place {
    /// The role of its thread.
    pub role: Role,
    /// The elements that it publishes, and the entries that it queues.
    pub ledger: Ledger,
    /// The number of turns.
    pub beat: AtomicU64,
    /// The thread's kernel number while it runs, otherwise 0.
    pub thread: AtomicI32,
    /// The kind that it is busy with, plus one.
    pub doing: AtomicU8,
    /// Its last events.
    pub ring: &'static Ring,
    /// Reports of stalls that named its thread.
    pub named: AtomicU64,
    /// Wakes it when it waits for a future.
    pub bell: Bell,
    /// Its flood.
    pub tide: Tide,
}

/// Counts of one kind.
#[derive(Default)]
pub struct Tally {
    /// Entries queued, or about to be waited for.
    pub queued: AtomicU64,
    /// Entries completed.
    pub done: AtomicU64,
    /// How often readers saw each age.
    pub ages: [AtomicU64; AGES],
    /// How long callers waited for their grace period.
    pub latency: Histogram,
}

/// The state of the run.
pub struct World {
    /// The options.
    pub options: Options,
    /// The threads.
    pub places: Vec<Place>,
    /// The counts by kind.
    pub tallies: [Tally; KINDS],
    /// The start of the run.
    pub start: Instant,
    /// The number of actions of each role.
    pub acts: [AtomicU64; ROLES],
    /// Has a misuse happened?
    pub misused: AtomicBool,
    /// Sections of callbacks.
    pub glances: AtomicU64,
    /// The number of common pauses.
    pub pauses: AtomicU64,
    /// Grace periods that ended while a section was open (0, 1, 2, 3 or more), by the library's own count,
    /// which lags a little.
    pub spans: [AtomicU64; 4],
    /// Reports of stalls.
    pub stalls: AtomicU64,
    /// The last events of threads that have no place.
    pub elsewhere: &'static Ring,
    /// Times that a thread found no free entry.
    pub full: AtomicU64,
    /// Planned panics of callbacks: of the process, of `Srcu`s, of domains.
    pub panics: [AtomicU64; 3],
    /// Of those, how many came from entries of maps: a batch of these is one callback.
    pub batched: [AtomicU64; 3],
    /// What a callback does after it has completed its entry.
    pub follow: fn(&'static World, &'static Entry, Own),
    now: AtomicU32,
    paused: AtomicBool,
    stop: AtomicBool,
}

static CURRENT: AtomicPtr<World> = AtomicPtr::new(std::ptr::null_mut());

/// The state of the run, once it has begun.
pub fn current() -> Option<&'static World> {
    // SAFETY: null, or leaked by `begin`; the load acquires what `begin` released.
    unsafe { CURRENT.load(Ordering::Acquire).as_ref() }
}

/// Short-lived threads of one lane at a time.
pub const BURST: usize = 3;

impl World {
    /// Makes the state of the process's only run. `None` if it has had one.
    pub fn begin(
        options: Options,
        follow: fn(&'static World, &'static Entry, Own),
    ) -> Option<&'static World> {
        let roles = Role::ALL.into_iter().flat_map(|role| {
            let count = match role {
                Role::Churn => options.cast.of(role) * BURST,
                _ => options.cast.of(role),
            };
            std::iter::repeat_n(role, count)
        });
        let roles: Vec<Role> = roles.collect();
        let rings = kept::rings(options.events, roles.len() + 1);
        let elsewhere = &rings[roles.len()];
        elsewhere.belongs_elsewhere();
        let places = roles.into_iter().zip(rings).enumerate();
        let places = places.map(|(number, (role, ring))| {
            ring.belongs_to(role, number);
            Place {
                role,
                ledger: Ledger::default(),
                beat: AtomicU64::new(0),
                thread: AtomicI32::new(0),
                doing: AtomicU8::new(0),
                ring,
                named: AtomicU64::new(0),
                bell: Bell::default(),
                tide: Tide::default(),
            }
        });
        let places: Vec<Place> = places.collect();
        let start = Instant::now();
        events::begin(start, elsewhere);
        let world = Box::into_raw(Box::new(World {
            places,
            options,
            tallies: Default::default(),
            start,
            acts: Default::default(),
            misused: AtomicBool::new(false),
            glances: AtomicU64::new(0),
            pauses: AtomicU64::new(0),
            spans: Default::default(),
            stalls: AtomicU64::new(0),
            elsewhere,
            full: AtomicU64::new(0),
            panics: Default::default(),
            batched: Default::default(),
            follow,
            now: AtomicU32::new(0),
            paused: AtomicBool::new(false),
            stop: AtomicBool::new(false),
        }));
        let null = std::ptr::null_mut();
        let first = CURRENT.compare_exchange(null, world, Ordering::AcqRel, Ordering::Relaxed);
        first.ok().and_then(|_| current())
    }

    /// The places of one role, with their numbers.
    pub fn of(&'static self, role: Role) -> impl Iterator<Item = (usize, &'static Place)> {
        let all = self.places.iter().enumerate();
        all.filter(move |(_, place)| place.role == role)
    }

    /// Is this the requested misuse?
    pub fn is_broken(&self, broken: Broken) -> bool {
        self.options.broken == Some(broken)
    }

    /// The time in ticks of the watchdog, tenths of a second.
    pub fn now(&self) -> u32 {
        self.now.load(Ordering::Relaxed)
    }

    /// Sets the time.
    pub fn set_now(&self, now: u32) {
        self.now.store(now, Ordering::Relaxed);
    }

    /// Is the run over?
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Ends the run.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Do all actors pause?
    pub fn paused(&self) -> bool {
        self.paused.load(Ordering::Relaxed) && !self.stopped()
    }

    /// All actors pause, or continue.
    pub fn pause(&self, paused: bool) {
        self.paused.store(paused, Ordering::Relaxed);
        let value = u64::from(paused);
        self.pauses.fetch_add(value, Ordering::Relaxed);
        self.elsewhere.record(What::Pause, None, value);
    }

    /// May an actor call `barrier` or `drain`, report low memory, or make the budget small now? Each of these
    /// also does what the library should do by itself, so they are allowed only six seconds of every forty.
    pub fn barriers_allowed(&self) -> bool {
        self.now() % 400 < 60
    }

    /// May readers with this role, or their callbacks, call `drain` now? Under the process's grace periods
    /// only in a cast that drains.
    pub fn may_drain(&self, reader: Role) -> bool {
        let drains = reader != Role::Reader || self.options.cast.of(Role::Drain) > 0;
        drains && self.barriers_allowed()
    }

    /// Counts an entry that was queued.
    pub fn count_queued(&self, kind: Kind) {
        self.tallies[kind as usize]
            .queued
            .fetch_add(1, Ordering::Relaxed);
    }

    /// The number of entries of these kinds that were completed.
    pub fn done(&self, of: impl Fn(&Kind) -> bool) -> u64 {
        let kinds = Kind::ALL.into_iter().filter(of);
        kinds
            .map(|kind| get(&self.tallies[kind as usize].done))
            .sum()
    }

    /// Counts an entry that was completed.
    pub fn count_done(&self, kind: Kind) {
        self.tallies[kind as usize]
            .done
            .fetch_add(1, Ordering::Relaxed);
    }

    /// Counts an action of this role.
    pub fn acted(&self, role: Role, times: u64) {
        self.acts[role as usize].fetch_add(times, Ordering::Relaxed);
    }

    /// The number of actions of this role.
    pub fn acts(&self, role: Role) -> u64 {
        self.acts[role as usize].load(Ordering::Relaxed)
    }

    /// A callback panics as planned; its element waited for these grace periods.
    pub fn count_panic(&self, under: u32, kind: Kind) {
        let of = (under as usize).div_ceil(STATICS);
        self.panics[of].fetch_add(1, Ordering::Relaxed);
        if kind == Kind::Mapped {
            self.batched[of].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The rings of all threads.
    pub fn rings(&self) -> impl Iterator<Item = &Ring> {
        let rings = self.places.iter().map(|place| place.ring);
        rings.chain([self.elsewhere])
    }
}
