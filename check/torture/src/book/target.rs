//! A *target*: grace periods with the elements published under them, a set for each publishing thread. A
//! *target slot* holds one target at a time.
//!
//! The first targets of a run are statics, which are never dropped. A maker replaces them by others, which
//! are made and dropped during the run: the thread that drops the last reference to a target retires its
//! elements, under its own grace periods. A section that was passed on (a [`Held`]) keeps the `Srcu` and not
//! the target.

use std::ops::Deref;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use quiescent::{Domain, Global, Guard, RcuOption, Retired, Sendable, Srcu};

use super::element::{Element, Seen};
use super::ending::{Block, Dropping};
use super::entry::NO_NUMBER;
use super::kind::Kind;
use super::ledger::SLOTS;
use super::lock;
use super::numbers::Numbers;
use super::periods::{Inside, Map, Own, Periods, STATICS, Section, Whose};
use super::world::{self, World};

/// The number of elements without a target.
pub const NO_TARGET: u32 = u32::MAX;

/// The number of the next target; those of the statics come before.
static NEXT: AtomicU32 = AtomicU32::new(1 + 2 * STATICS as u32);

/// Keys of a thread in a target's map whose entries have an element.
pub const KEYS: usize = 16;
/// Added to the other keys.
pub const BARE: u64 = 1 << 63;

/// Elements by key. The other entries have none: they make the map large.
pub type Elements<P> = Map<Option<Box<Dropping>>, P>;

/// The key of an entry of this thread.
pub fn key_of(thread: usize, number: usize) -> u64 {
    (thread as u64) << 32 | number as u64
}

/// The elements that one thread publishes in a target; only this thread replaces them.
pub struct PerThread<P: Periods> {
    /// Elements published by pointers that own nothing.
    pub raw: [AtomicPtr<Element>; SLOTS],
    /// Elements published by pointers that own them.
    pub cells: [RcuOption<Dropping, P>; SLOTS],
}

/// Grace periods with the elements published under them.
pub struct Target<P: Periods> {
    /// Unique in the run.
    pub number: u32,
    /// The grace periods.
    pub whose: Whose<P>,
    /// One for each thread.
    pub per_thread: Box<[PerThread<P>]>,
    /// The map of all threads, of which each changes entries of its own.
    pub map: RcuOption<Elements<P>, P>,
}

/// An open section, and the element found in it.
pub struct Held<G> {
    seen: Option<Seen<'static>>,
    _guard: G,
}

impl<G> Held<G> {
    /// Checks the age of the element found, and ends the section.
    pub fn end(self) -> Option<(Kind, u32)> {
        self.seen.as_ref().map(Seen::judge)
    }
}

/// A section that any thread may end.
pub type Sent = Held<Inside<Guard<Sendable<&'static Srcu>>, Guard<Sendable<Srcu>>>>;

impl Target<Srcu> {
    /// Opens a section that any thread may end, and loads one of the elements.
    pub fn hold_sent(&self, draw: usize) -> Sent {
        let guard = match &self.whose {
            Whose::Static(srcu) => Inside::Static(srcu.read_lock_send()),
            Whose::Owned(srcu) => Inside::Owned(srcu.read_owned_send()),
        };
        self.held(draw, guard)
    }
}

impl<P: Periods> Target<P> {
    fn new(number: u32, whose: Whose<P>, threads: usize) -> Target<P> {
        let elements = || PerThread {
            raw: [const { AtomicPtr::new(null_mut()) }; SLOTS],
            cells: std::array::from_fn(|_| RcuOption::empty_in(P::clone(&whose))),
        };
        let per_thread = std::iter::repeat_with(elements).take(threads).collect();
        let map = Elements::new_in(P::clone(&whose));
        let map = RcuOption::new_in(Some(map), P::clone(&whose));
        Target {
            number,
            whose,
            per_thread,
            map,
        }
    }

    /// A target with grace periods of its own.
    pub fn made(threads: usize) -> Target<P> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Target::new(number, Whose::Owned(P::made()), threads)
    }

    /// Opens a section, and loads one of the elements, if there is one at the drawn place.
    pub fn hold(&self, draw: usize) -> Held<P::Section> {
        self.held(draw, P::enter(&self.whose))
    }

    fn held<G: Section<P>>(&self, draw: usize, guard: G) -> Held<G> {
        let seen = self.find(draw, &guard);
        // SAFETY: the element is freed after a grace period of the target (if that is dropped, too), which
        // waits for the guard, and that ends after the reference.
        let seen = seen.map(|seen| unsafe { std::mem::transmute::<Seen<'_>, Seen<'static>>(seen) });
        Held {
            seen,
            _guard: guard,
        }
    }

    /// Loads one of the elements, if there is one at the drawn place.
    pub fn find<'g>(&'g self, draw: usize, section: &'g impl Section<P>) -> Option<Seen<'g>> {
        let thread = draw % self.per_thread.len();
        let elements = &self.per_thread[thread];
        let slot = draw / self.per_thread.len() % (3 * SLOTS);
        let element = if slot < SLOTS {
            // Acquire: the element's contents, published by the writer's exchange [TO-3].
            let found = elements.raw[slot].load(Ordering::Acquire);
            // SAFETY: published elements are freed after a grace period, which the guard holds off.
            unsafe { found.as_ref() }
        } else if slot < 2 * SLOTS {
            section.load(&elements.cells[slot - SLOTS]).map(|it| &it.0)
        } else {
            let key = key_of(thread, draw / 64 % KEYS);
            let found = section.get(section.load(&self.map)?, key)?;
            found.as_ref().map(|it| &it.0)
        }?;
        Seen::of(element)
    }

    /// An object that the library takes over.
    ///
    /// # Safety
    /// As `Retired::from_raw_in`.
    pub unsafe fn retired<T: Send + 'static>(&self, pointer: NonNull<T>) -> Retired<T, P> {
        // SAFETY: the caller's promise.
        unsafe { Retired::from_raw_in(pointer, P::clone(&self.whose)) }
    }

    /// Removes all elements. No thread publishes there any more.
    pub fn clear(&self, world: &World) {
        for elements in &self.per_thread {
            for slot in &elements.raw {
                let found = slot.swap(null_mut(), Ordering::AcqRel);
                if let Some(element) = NonNull::new(found) {
                    self.give_up(world, element);
                }
            }
            for old in elements.cells.iter().filter_map(RcuOption::take) {
                note(world, NonNull::from(&old.0));
                drop(old); // retired, because readers may hold it
            }
        }
        if let Some(old) = self.map.take() {
            let entries = old.pin();
            for element in entries.values().flatten() {
                note(world, NonNull::from(&element.0));
            }
            drop(entries);
            old.retire_hurry(); // as above; the map drops what it still has
        }
    }

    /// Disposes of an element without an actor: no barrier is checked for it.
    fn give_up(&self, world: &World, element: NonNull<Element>) {
        // SAFETY: an element, unpublished by the caller, and not disposed of before the end of this.
        let (entry, kind) = unsafe { (element.as_ref().entry, element.as_ref().kind) };
        let word = note(world, element);
        let block = Block(element);
        match kind {
            // SAFETY: a boxed element, unlinked, retired once.
            Kind::RetirePtr => unsafe { self.retired(element).retire() },
            // SAFETY: as above.
            _ if kind.plain() => unsafe { self.retired(element).retire_hurry() },
            _ if kind.is_lazy() => self
                .whose
                .defer_lazy(move || block.end(entry, word, Own::None)),
            _ => self.whose.defer(move || block.end(entry, word, Own::None)),
        }
    }
}

/// The element is about to be queued; returns its word.
pub fn note(world: &World, element: NonNull<Element>) -> u64 {
    // SAFETY: an element that its caller has just unpublished.
    let element = unsafe { element.as_ref() };
    let entry = element.entry;
    entry.removed();
    let word = entry.queue(NO_NUMBER, world.now());
    element.set_word(word);
    world.count_queued(element.kind);
    word
}

impl<P: Periods> Drop for Target<P> {
    fn drop(&mut self) {
        if let Some(world) = world::current() {
            self.clear(world);
        }
    }
}

/// A reference to a target: the first one of a kind is never replaced.
pub enum Shared<P: Periods> {
    /// For readers that may take no lock.
    Fixed(&'static Target<P>),
    /// May be replaced.
    Counted(Arc<Target<P>>),
}

impl<P: Periods> Deref for Shared<P> {
    type Target = Target<P>;

    fn deref(&self) -> &Target<P> {
        match self {
            Shared::Fixed(target) => target,
            Shared::Counted(target) => target,
        }
    }
}

/// A place for one target, which is never freed.
type Slot<P> = Mutex<Option<Arc<Target<P>>>>;

/// The targets of a run that have the same kind of grace periods.
pub struct Slots<P: Periods> {
    /// The first target.
    pub fixed: &'static Target<P>,
    others: Vec<Slot<P>>,
}

impl<P: Periods> Slots<P> {
    fn new(threads: usize) -> Slots<P> {
        let mut targets = P::statics()
            .iter()
            .zip(P::FIRST..)
            .map(|(periods, number)| Target::new(number, Whose::Static(periods), threads));
        Slots {
            fixed: Box::leak(Box::new(
                targets.next().expect("each kind has a static one"),
            )),
            others: targets.map(|it| Mutex::new(Some(Arc::new(it)))).collect(),
        }
    }

    /// The number of slots.
    pub fn count(&self) -> usize {
        1 + self.others.len()
    }

    /// The present target of a slot; none at the end of the run.
    pub fn target(&self, slot: usize) -> Option<Shared<P>> {
        match slot.checked_sub(1) {
            None => Some(Shared::Fixed(self.fixed)),
            Some(other) => {
                let target = lock(&self.others[other]).clone();
                target.map(Shared::Counted)
            }
        }
    }

    /// Replaces the target of a slot other than the first.
    pub fn replace(&self, slot: usize, target: Option<Target<P>>) -> Option<Shared<P>> {
        let mut place = lock(&self.others[slot - 1]);
        std::mem::replace(&mut *place, target.map(Arc::new)).map(Shared::Counted)
    }
}

/// Grace periods of which a run has targets.
pub trait Targets: Periods {
    /// Where the targets are, if the run has any.
    fn all() -> &'static OnceLock<Slots<Self>>;

    /// The targets, if the run has any.
    fn slots() -> Option<&'static Slots<Self>> {
        Self::all().get()
    }

    /// The target in one of the slots.
    fn drawn(numbers: &mut Numbers) -> Option<Shared<Self>> {
        let slots = Self::slots()?;
        slots.target(numbers.below(slots.count()))
    }

    /// Makes the targets of a run with this number of threads. No other thread of the run exists yet.
    fn begin(threads: usize) {
        _ = Self::all().set(Slots::new(threads));
    }
}

impl Targets for Global {
    fn all() -> &'static OnceLock<Slots<Global>> {
        static ALL: OnceLock<Slots<Global>> = OnceLock::new();
        &ALL
    }
}

impl Targets for Srcu {
    fn all() -> &'static OnceLock<Slots<Srcu>> {
        static ALL: OnceLock<Slots<Srcu>> = OnceLock::new();
        &ALL
    }
}

impl Targets for Domain {
    fn all() -> &'static OnceLock<Slots<Domain>> {
        static ALL: OnceLock<Slots<Domain>> = OnceLock::new();
        &ALL
    }
}
