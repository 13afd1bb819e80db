//! A domain: readers, and what waits for them.
//!
//! ```text
//!   Domain  (small, lives for ever)          State  (made at the first use that is not a read)
//!     readers: threads | records | counts      engine under its lock, driver's words
//!     settings, identity                       queues of threads, one shared queue
//!     ─────────────► state                     barrier, tasks, budget level, counters
//! ```
//!
//! The process's domain, a domain of the program and an `Srcu` are this one type. They differ in two things:
//! where a thread's reader record is found ([`Readers`]), and how long they live: the process's for ever, the
//! others while a handle exists.
//!
//! # Lives
//! A domain's memory is never given back. When its last handle is dropped it is *left*: what is queued goes
//! through in its time, and once it rests and no section is open, the next program that needs a domain gets it,
//! with another identity. So a record that a thread has noted, a cookie or a callback never leads to memory that
//! is gone.
//!
//! # Edges
//! `[GR-1]` the state is published (release), then a driver sets a reader's flag (release); a reader that sees the
//! flag (acquire) finds the state, and its driver. (A flag that an earlier driver has left is not set again; then
//! it is the driver's fence `[GP-2]` that comes between the state and the reader's look at the flag.)

use quiescent_engine::credit::Urgency;

use crate::inner::defer::enqueue::{Parcel, Terms};
use crate::inner::domain::numbers::Numbers;
use crate::inner::domain::settings::Settings;
use crate::inner::domain::state::State;
use crate::inner::prim::{
    self, AtomicPtr, AtomicU32, AtomicU64, MutexGuard, Ordering, Turn, const_new,
};
use crate::inner::queue::kind;
use crate::inner::queue::lane::Entry;
use crate::inner::queue::per_thread::CODE;
use crate::inner::reader::counted::Counted;
use crate::inner::reader::spots::Spots;

pub(crate) mod counters;
pub(crate) mod env;
pub(crate) mod numbers;
pub(crate) mod pass;
mod readers;
pub(crate) mod registry;
mod sections;
pub(crate) mod settings;
pub(crate) mod state;
mod tuning;

/// One handle leads to it. So many more, so many handles.
const OWNED: u32 = 1;
/// None does any more.
const LEFT: u32 = 0;

/// Where the readers of a domain are found. In place, since domains live for ever: a box would be one more step for
/// each reader.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)]
pub(crate) enum Readers {
    /// The process's domain: a record for each thread, found through a thread-local.
    Threads,
    /// A domain of the program: a record for each thread that has read in it.
    Spots(Spots),
    /// An `Srcu`: counts of sections.
    Counted(Counted),
}

impl Readers {
    /// Is it an `Srcu`'s?
    pub(crate) fn is_counted(&self) -> bool {
        matches!(self, Readers::Counted(_))
    }
}

/// A domain.
#[derive(Debug)]
pub struct Domain {
    pub(crate) readers: Readers,
    /// Its number, for tables of records.
    number: u32,
    /// Whose it is: each owner has another number.
    id: AtomicU64,
    owner: AtomicU32,
    /// Its number in telemetry as long as it has no name.
    place: u32,
    settings: Turn<Settings>,
    state: AtomicPtr<State>,
    /// The domain made before this one.
    pub(crate) made_before: AtomicPtr<Domain>,
    /// Its lock, while this process forks.
    #[cfg(not(quiescent_model))]
    pub(crate) parked: crate::global::fork::Parked<Settings>,
}

// Guards, cells and cookies lead here, and may be used after a panic: locks are taken whatever has become of who
// had them, and no code of the program runs under them.
impl std::panic::RefUnwindSafe for Domain {}

impl Domain {
    const_new! {
        pub(crate) fn new(number: u32, readers: Readers, place: u32) -> Domain {
            Domain {
                readers,
                number,
                id: AtomicU64::new(number as u64),
                owner: AtomicU32::new(OWNED),
                place,
                settings: Turn::new(Settings::default_at(place)),
                state: AtomicPtr::new(std::ptr::null_mut()),
                made_before: AtomicPtr::new(std::ptr::null_mut()),
                #[cfg(not(quiescent_model))]
                parked: crate::global::fork::Parked::new(),
            }
        }
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Tells its owners apart.
    pub(crate) fn id(&self) -> u64 {
        self.id.load(Ordering::Relaxed)
    }

    pub(crate) fn settings(&self) -> MutexGuard<'_, Settings> {
        self.settings.take()
    }

    /// The state, if there is one.
    pub(crate) fn state_if_any(&self) -> Option<&'static State> {
        if let Readers::Threads = self.readers {
            return Some(prim::domain());
        }
        // SAFETY: null, or a state, and those live for ever.
        unsafe { self.state.load(Ordering::Acquire).as_ref() } // [GR-1]
    }

    /// The state; makes it.
    pub(crate) fn state(&'static self) -> &'static State {
        match self.state_if_any() {
            Some(state) => state,
            None => self.make_state(),
        }
    }

    #[cold]
    fn make_state(&'static self) -> &'static State {
        let new = State::leak(self);
        let raw = std::ptr::from_ref(new).cast_mut();
        let order = (Ordering::AcqRel, Ordering::Acquire); // [GR-1]
        match (self.state).compare_exchange(std::ptr::null_mut(), raw, order.0, order.1) {
            Ok(_) => {
                self.settings().tell(new);
                new
            }
            Err(first) => {
                // SAFETY: made above, and nobody else has seen it.
                drop(unsafe { Box::from_raw(raw) });
                // SAFETY: not null, and as in `state_if_any`.
                unsafe { &*first }
            }
        }
    }

    /// In the child of a fork: a state that was being made by a thread that is not here is forgotten.
    #[cfg(not(quiescent_model))]
    pub(crate) fn forget_state(&self) {
        self.state.store(std::ptr::null_mut(), Ordering::Relaxed);
    }

    /// Gives it a state of a model's policy, before it is used.
    #[cfg(quiescent_model)]
    pub(crate) fn set_state(&'static self, state: State) {
        state.belong_to(self);
        let state = std::ptr::from_ref::<State>(prim::keep(Box::new(state)));
        self.state.store(state.cast_mut(), Ordering::Release);
    }

    /// Changes the settings, and tells the engine, if there is one.
    pub(crate) fn set(&'static self, change: impl FnOnce(&mut Settings)) {
        let mut settings = self.settings();
        change(&mut settings);
        // Under the lock: of two changes the engine hears of the later one last.
        let state = self.state_if_any();
        let kick = state.map(|state| (state, settings.tell(state)));
        drop(settings);
        if let Some((state, kick)) = kick {
            state.settings_changed(kick);
        }
    }

    // Ownership.

    /// One handle more.
    pub(crate) fn retain(&self) {
        self.owner.fetch_add(1, Ordering::Relaxed);
    }

    /// One handle less. After the last one what is queued goes through in its time, on the worker, and the next owner
    /// may have the domain then. The last one is not counted down before that is seen to.
    pub(crate) fn drop_handle(&'static self) {
        let mut now = self.owner.load(Ordering::Acquire);
        while now != OWNED {
            let order = (Ordering::AcqRel, Ordering::Acquire);
            match (self.owner).compare_exchange(now, now - 1, order.0, order.1) {
                Ok(_) => return,
                Err(other) => now = other,
            }
        }
        self.set(|settings| {
            *settings = Settings {
                before: settings.before,
                ..Settings::default_at(self.place)
            };
        });
        self.hand_over();
        self.abandon();
    }

    /// What is queued here becomes one callback of the process's domain too, so that whoever waits for that, or
    /// drains it, waits for this.
    fn hand_over(&'static self) {
        let (count, bytes) = self.held();
        let (Some(state), true) = (self.state_if_any(), count > 0) else {
            return;
        };
        let id = self.id();
        let empty = move || {
            // Not what the next owner has queued, if this went through meanwhile.
            if self.id() == id {
                state.empty();
            }
        };
        let (object, what) = kind::called(empty, Urgency::Lazy);
        let parcel = Parcel::Entry(CODE, Entry { object, what }, bytes);
        prim::domain().deliver(parcel, Terms::of(Urgency::Lazy));
    }

    /// The domain was found for nothing, or its last handle is gone. Takes no lock.
    pub(crate) fn abandon(&self) {
        self.owner.store(LEFT, Ordering::Release);
    }

    /// Makes it the caller's, if it was left and rests. Waits for no lock: the caller may be a signal handler.
    #[cfg(not(quiescent_model))]
    fn take_over(&self) -> bool {
        if self.owner.load(Ordering::Acquire) != LEFT {
            return false;
        }
        let Some(mut settings) = self.settings.try_take() else {
            return false;
        };
        let state = self.state_if_any();
        // A section that never ends (its guard was forgotten) would hold the new owner up.
        if self.is_inside() || !state.is_none_or(State::is_at_rest) {
            return false;
        }
        let Some(before) = state.map_or(Some(Numbers::ZERO), Numbers::try_of) else {
            return false;
        };
        let order = (Ordering::AcqRel, Ordering::Relaxed);
        let owner = &self.owner;
        let taken = owner
            .compare_exchange(LEFT, OWNED, order.0, order.1)
            .is_ok();
        if taken {
            settings.before = before;
            self.id.store(registry::next_id(), Ordering::Release);
        }
        taken
    }

    /// Is a section open, as far as one look can tell?
    #[cfg(not(quiescent_model))]
    fn is_inside(&self) -> bool {
        match &self.readers {
            Readers::Threads => true,
            Readers::Spots(spots) => spots.is_inside(),
            Readers::Counted(counted) => counted.is_inside(),
        }
    }

    /// Callbacks and objects that are queued or being run, and their bytes.
    pub(crate) fn held(&self) -> (u64, u64) {
        self.state_if_any().map_or((0, 0), State::held)
    }

    /// Records of threads that have read here.
    pub(crate) fn records(&self) -> u32 {
        match &self.readers {
            Readers::Spots(spots) => spots.claimed(),
            Readers::Threads | Readers::Counted(_) => 0,
        }
    }

    /// What was done here for its present owner.
    pub(crate) fn numbers(&self) -> Numbers {
        let now = self.state_if_any().map_or(Numbers::ZERO, Numbers::of);
        now.less(self.settings().before)
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert!(size_of::<Domain>() <= 1024, "{}", size_of::<Domain>());
        assert!(size_of::<State>() <= 6144, "{}", size_of::<State>());
    }
}
