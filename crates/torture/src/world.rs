//! What all threads of the run share. Leaked: callbacks and handlers may come at any time.

use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering,
};

use crate::kind::{KINDS, Kind};
use crate::ledger::Ledger;
use crate::options::{Broken, Options};

/// Ages that are told apart; the last stands for all beyond.
pub const AGES: usize = 6;

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Reads.
    Reader,
    /// Updates.
    Writer,
    /// Calls `barrier`.
    Barrier,
    /// Calls `drain`.
    Drain,
    /// Updates, then does nothing for a while.
    Quiet,
    /// Lives shortly.
    Churn,
}

impl Role {
    /// All of them.
    pub const ALL: [Role; 6] = [
        Role::Reader,
        Role::Writer,
        Role::Barrier,
        Role::Drain,
        Role::Quiet,
        Role::Churn,
    ];

    /// Its name, which is also the threads'.
    pub fn name(self) -> &'static str {
        match self {
            Role::Reader => "reader",
            Role::Writer => "writer",
            Role::Barrier => "barrier",
            Role::Drain => "drain",
            Role::Quiet => "quiet",
            Role::Churn => "churn",
        }
    }
}

/// A place for a thread: its ledger, and its signs of life.
pub struct Place {
    /// What it does.
    pub role: Role,
    /// What it publishes and queues.
    pub ledger: Ledger,
    /// Counts its turns.
    pub beat: AtomicU64,
    /// Its kernel number while it runs, else 0.
    pub thread: AtomicI32,
    /// One more than the kind it is busy with.
    pub doing: AtomicU8,
}

/// Queued and done, of one kind.
#[derive(Default)]
pub struct Tally {
    /// Things queued, or about to be waited for.
    pub queued: AtomicU64,
    /// Completed.
    pub done: AtomicU64,
    /// How often readers saw each age.
    pub ages: [AtomicU64; AGES],
}

/// The run.
pub struct World {
    /// What was asked for.
    pub options: Options,
    /// The threads.
    pub places: Vec<Place>,
    /// By kind.
    pub tallies: [Tally; KINDS],
    /// Sections of readers, of handlers, of callbacks.
    pub sections: AtomicU64,
    /// As above.
    pub handlers: AtomicU64,
    /// As above.
    pub glances: AtomicU64,
    /// Calls of `barrier`.
    pub barriers: AtomicU64,
    /// Calls of `drain`.
    pub drains: AtomicU64,
    /// Short-lived threads.
    pub lives: AtomicU64,
    /// Times that a thread found no free entry.
    pub full: AtomicU64,
    /// Planned panics of callbacks.
    pub panics: AtomicU64,
    now: AtomicU32,
    paused: AtomicBool,
    stop: AtomicBool,
}

static CURRENT: AtomicPtr<World> = AtomicPtr::new(std::ptr::null_mut());

/// The run, once there is one.
pub fn current() -> Option<&'static World> {
    // SAFETY: null, or leaked by `begin`; the load acquires what `begin` released.
    unsafe { CURRENT.load(Ordering::Acquire).as_ref() }
}

/// Short-lived threads at a time, and those who start them.
pub const LANES: usize = 2;
/// Short-lived threads of one lane at a time.
pub const BURST: usize = 3;

impl World {
    /// Makes the run that the process has. `None` if it had one.
    pub fn begin(options: Options) -> Option<&'static World> {
        let roles = [
            (Role::Reader, options.readers),
            (Role::Writer, options.writers),
            (Role::Barrier, 1),
            (Role::Drain, 1),
            (Role::Quiet, 2),
            (Role::Churn, LANES * BURST),
        ];
        let places = roles.into_iter().flat_map(|(role, count)| {
            std::iter::repeat_with(move || Place {
                role,
                ledger: Ledger::new(),
                beat: AtomicU64::new(0),
                thread: AtomicI32::new(0),
                doing: AtomicU8::new(0),
            })
            .take(count)
        });
        let world = Box::into_raw(Box::new(World {
            places: places.collect(),
            options,
            tallies: Default::default(),
            sections: AtomicU64::new(0),
            handlers: AtomicU64::new(0),
            glances: AtomicU64::new(0),
            barriers: AtomicU64::new(0),
            drains: AtomicU64::new(0),
            lives: AtomicU64::new(0),
            full: AtomicU64::new(0),
            panics: AtomicU64::new(0),
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

    /// Is this the misuse that was asked for?
    pub fn is_broken(&self, broken: Broken) -> bool {
        self.options.broken == Some(broken)
    }

    /// Ticks of the watchdog, tenths of a second.
    pub fn now(&self) -> u32 {
        self.now.load(Ordering::Relaxed)
    }

    /// Sets the time.
    pub fn set_now(&self, now: u32) {
        self.now.store(now, Ordering::Relaxed);
    }

    /// Is it over?
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// It is over.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Does everybody pause?
    pub fn paused(&self) -> bool {
        self.paused.load(Ordering::Relaxed) && !self.stopped()
    }

    /// Everybody pauses, or goes on.
    pub fn pause(&self, paused: bool) {
        self.paused.store(paused, Ordering::Relaxed);
    }

    /// May anybody call `barrier` or `drain` now? Both also do what the library should do unasked, so
    /// for most of the time nobody does: six seconds of every forty.
    pub fn barriers_allowed(&self) -> bool {
        self.now() % 400 < 60
    }

    /// One more was queued.
    pub fn count_queued(&self, kind: Kind) {
        self.tallies[kind as usize]
            .queued
            .fetch_add(1, Ordering::Relaxed);
    }

    /// One more is done.
    pub fn count_done(&self, kind: Kind) {
        self.tallies[kind as usize]
            .done
            .fetch_add(1, Ordering::Relaxed);
    }

    /// A callback panics as planned.
    pub fn count_panic(&self) {
        self.panics.fetch_add(1, Ordering::Relaxed);
    }
}
