//! Targets of the torture: a *target* is an [`Srcu`] or a [`Domain`] with the elements published under it, a
//! set for each publishing thread. A *target slot* holds one target at a time.
//!
//! The first targets of a run are statics, which are never dropped. A maker replaces them by others, which
//! are made and dropped during the run: the thread that drops the last reference to a target retires its
//! elements, under its own grace periods. A section that was passed on (a [`Held`]) keeps the `Srcu` and not
//! the target.

use std::collections::VecDeque;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quiescent::{Domain, Srcu};

use crate::callback::Block;
use crate::element::Element;
use crate::entry::NO_NUMBER;
use crate::kind::Kind;
use crate::ledger::SLOTS;
use crate::periods::{Cell, Content, DOMAINS, Periods, SRCUS, Whose};
use crate::reader::Seen;
use crate::world::{self, World};

/// Target slots of a run, of each sort.
pub const TARGETS: usize = 3;

/// The number of elements without a target.
pub const NO_TARGET: u32 = u32::MAX;

/// The number of the next target. Those of the statics are 1 and up, the `Srcu`s' first; 0 is the global
/// domain.
static NEXT: AtomicU32 = AtomicU32::new(1 + 2 * TARGETS as u32);

/// The `Srcu` of the target with this number, if it is one of the statics.
pub fn static_srcu(number: u32) -> Option<&'static Srcu> {
    SRCUS.get((number as usize).checked_sub(1)?)
}

/// The domain of the target with this number, if it is one of the statics.
pub fn static_domain(number: u32) -> Option<&'static Domain> {
    DOMAINS.get((number as usize).checked_sub(1 + TARGETS)?)
}

/// The elements that one thread publishes in a target; only this thread replaces them.
pub struct PerThread<P: Periods> {
    /// Elements published by pointers that own nothing.
    pub raw: [AtomicPtr<Element>; SLOTS],
    /// The element published by a pointer that owns it.
    pub cell: Cell<P>,
}

/// An `Srcu` or a domain with the elements published under it.
pub struct Target<P: Periods> {
    /// Unique in the run.
    pub number: u32,
    /// Its `Srcu` or domain.
    pub whose: Whose<P>,
    /// One for each thread.
    pub per_thread: Box<[PerThread<P>]>,
}

/// An open section, and the element found in it. Any thread may end one of an `Srcu`.
pub struct Held<P: Periods> {
    seen: Option<Seen<'static>>,
    _guard: P::Section,
}

impl<P: Periods> Held<P> {
    /// Checks the age of the element found, and ends the section.
    pub fn end(self) -> Option<(Kind, u32)> {
        self.seen.as_ref().map(Seen::judge)
    }
}

impl<P: Periods> Target<P> {
    fn new(number: u32, whose: Whose<P>, threads: usize) -> Target<P> {
        let elements = || PerThread {
            raw: [const { AtomicPtr::new(null_mut()) }; SLOTS],
            cell: whose.cell(),
        };
        let per_thread = std::iter::repeat_with(elements).take(threads).collect();
        Target {
            number,
            whose,
            per_thread,
        }
    }

    /// A target with grace periods of its own.
    pub fn made(threads: usize) -> Target<P> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Target::new(number, Whose::Owned(P::made()), threads)
    }

    /// Opens a section, and loads one of the elements, if there is one at the drawn place.
    pub fn hold(&self, draw: usize) -> Held<P> {
        let guard = P::enter(&self.whose);
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
    pub fn find<'g>(&'g self, draw: usize, guard: &'g P::Section) -> Option<Seen<'g>> {
        self.find_under(draw, guard, P::load)
    }

    /// The same under a guard with which `load` loads a cell: it is of this target.
    pub fn find_under<'g, G>(
        &'g self,
        draw: usize,
        guard: &'g G,
        load: impl FnOnce(&'g Cell<P>, &'g G) -> &'g Content,
    ) -> Option<Seen<'g>> {
        let elements = &self.per_thread[draw % self.per_thread.len()];
        let element = match draw / self.per_thread.len() % (SLOTS + 1) {
            // Acquire: [TO-3].
            slot if slot < SLOTS => {
                let found = elements.raw[slot].load(Ordering::Acquire);
                // SAFETY: published elements are freed after a grace period, which `guard` holds off.
                unsafe { found.as_ref() }
            }
            _ => {
                let found = load(&elements.cell, guard);
                found.as_ref().map(|dropping| &dropping.0)
            }
        }?;
        Seen::of(element)
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
            let old = elements.cell.store(None);
            if let Some(dropping) = &*old {
                note(world, NonNull::from(&dropping.0));
            }
            drop(old); // retired, because readers may hold it
        }
    }

    /// Disposes of an element without an actor: no barrier is checked for it.
    fn give_up(&self, world: &World, element: NonNull<Element>) {
        // SAFETY: an element, unpublished by the caller, and not disposed of before the end of this.
        let (entry, kind) = unsafe { (element.as_ref().entry(), element.as_ref().kind()) };
        let word = note(world, element);
        let block = Block(element);
        match kind {
            // SAFETY: a boxed element, unlinked, retired once.
            Kind::RetirePtr => unsafe { self.whose.retired(element).retire() },
            // SAFETY: as above.
            _ if kind.plain() => unsafe { self.whose.retired(element).retire_hurry() },
            _ if kind.is_lazy() => self.whose.defer_lazy(move || block.end(entry, word)),
            _ => self.whose.defer(move || block.end(entry, word)),
        }
    }
}

/// The element is about to be queued; returns its word.
pub fn note(world: &World, element: NonNull<Element>) -> u64 {
    // SAFETY: an element that its caller has just unpublished.
    let element = unsafe { element.as_ref() };
    let entry = element.entry();
    entry.removed();
    let word = entry.queue(NO_NUMBER, world.now());
    element.set_word(word);
    world.count_queued(element.kind());
    word
}

impl<P: Periods> Drop for Target<P> {
    fn drop(&mut self) {
        if let Some(world) = world::current() {
            self.clear(world);
        }
    }
}

/// A place for one target.
pub struct TargetSlot<P: Periods> {
    target: Mutex<Option<Arc<Target<P>>>>,
    /// The first target, if it is never replaced: for readers that may take no lock.
    pub fixed: Option<Arc<Target<P>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<P: Periods> TargetSlot<P> {
    fn all(statics: &'static [P], first: u32, threads: usize) -> Vec<TargetSlot<P>> {
        let slots = statics.iter().zip(first..).map(|(periods, number)| {
            let target = Arc::new(Target::new(number, Whose::Static(periods), threads));
            TargetSlot {
                fixed: (number == first).then(|| Arc::clone(&target)),
                target: Mutex::new(Some(target)),
            }
        });
        slots.collect()
    }

    /// The present target; none at the end of the run.
    pub fn target(&self) -> Option<Arc<Target<P>>> {
        lock(&self.target).clone()
    }

    /// Replaces the target.
    pub fn replace(&self, target: Option<Arc<Target<P>>>) -> Option<Arc<Target<P>>> {
        std::mem::replace(&mut *lock(&self.target), target)
    }
}

/// The slots of a run for `Srcu`s, for this number of threads.
pub fn of_srcus(threads: usize) -> Vec<TargetSlot<Srcu>> {
    TargetSlot::all(&SRCUS, 1, threads)
}

/// The slots of a run for domains.
pub fn of_domains(threads: usize) -> Vec<TargetSlot<Domain>> {
    TargetSlot::all(&DOMAINS, 1 + TARGETS as u32, threads)
}

/// Sections that were passed on and not yet taken.
#[derive(Default)]
pub struct HandedOn(Mutex<VecDeque<Held<Srcu>>>);

/// The largest number of sections that may wait to be taken.
const POST: usize = 6;

impl HandedOn {
    /// Leaves a section for another thread; returns it if there are many.
    pub fn leave(&self, held: Held<Srcu>) -> Option<Held<Srcu>> {
        let mut post = lock(&self.0);
        if post.len() < POST {
            post.push_back(held);
            return None;
        }
        Some(held)
    }

    /// Takes the oldest one.
    pub fn take(&self) -> Option<Held<Srcu>> {
        lock(&self.0).pop_front()
    }
}
