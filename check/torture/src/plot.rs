//! What is published under [`Srcu`]s and [`Domain`]s: a *plot* is one of these with a bed for each thread that may publish there; a
//! *ground* is a place where there is a plot, now this one, now another.
//!
//! The plots that a run begins with stand on statics, which are never dropped. A maker puts others in their place, which are made
//! and dropped at run time: whoever drops the last reference to a plot retires what is in its beds, under its own grace periods; what was
//! handed on (a [`Held`]) keeps the `Srcu` and not the plot.

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
use crate::periods::{Cell, DOMAINS, Periods, SRCUS, Whose};
use crate::reader::Seen;
use crate::world::{self, World};

/// Grounds of a run, of each sort.
pub const GROUNDS: usize = 3;

/// The number of what is on no plot.
pub const NOBODYS: u32 = u32::MAX;

/// The number of the next plot. Those of the statics are 1 and up, the `Srcu`s' first; 0 is the process's domain.
static NEXT: AtomicU32 = AtomicU32::new(1 + 2 * GROUNDS as u32);

/// The `Srcu` of what has this number, if that is one of the statics.
pub fn static_srcu(number: u32) -> Option<&'static Srcu> {
    SRCUS.get((number as usize).checked_sub(1)?)
}

/// The domain of what has this number, if that is one of the statics.
pub fn static_domain(number: u32) -> Option<&'static Domain> {
    DOMAINS.get((number as usize).checked_sub(1 + GROUNDS)?)
}

/// What one thread publishes in a plot; only its thread replaces it.
pub struct Bed<P: Periods> {
    /// By pointers that own nothing.
    pub raw: [AtomicPtr<Element>; SLOTS],
    /// By one that owns.
    pub cell: Cell<P>,
}

/// See above.
pub struct Plot<P: Periods> {
    /// Told from those of all others.
    pub number: u32,
    /// What it stands on.
    pub whose: Whose<P>,
    /// One for each place.
    pub beds: Box<[Bed<P>]>,
}

/// An open section, and what was found there. One of an `Srcu` is for any thread to end.
pub struct Held<P: Periods> {
    seen: Option<Seen<'static>>,
    _guard: P::Section,
}

impl<P: Periods> Held<P> {
    /// Looks at the age of what was found, and ends the section.
    pub fn end(self) -> Option<(Kind, u32)> {
        self.seen.as_ref().map(Seen::judge)
    }
}

impl<P: Periods> Plot<P> {
    fn new(number: u32, whose: Whose<P>, beds: usize) -> Plot<P> {
        let bed = || Bed {
            raw: [const { AtomicPtr::new(null_mut()) }; SLOTS],
            cell: whose.cell(),
        };
        let beds = std::iter::repeat_with(bed).take(beds).collect();
        Plot {
            number,
            whose,
            beds,
        }
    }

    /// One with grace periods of its own.
    pub fn made(beds: usize) -> Plot<P> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Plot::new(number, Whose::Owned(P::made()), beds)
    }

    /// Opens a section, and finds one of the elements if there is one where it looks.
    pub fn hold(&self, draw: usize) -> Held<P> {
        let guard = P::enter(&self.whose);
        let seen = self.find(draw, &guard);
        // SAFETY: the element is freed after a grace period of the plot (if that is dropped, too), which waits for the guard, and
        // that ends after the reference.
        let seen = seen.map(|seen| unsafe { std::mem::transmute::<Seen<'_>, Seen<'static>>(seen) });
        Held {
            seen,
            _guard: guard,
        }
    }

    /// Finds one of the elements, if there is one where it looks.
    pub fn find<'g>(&'g self, draw: usize, guard: &'g P::Section) -> Option<Seen<'g>> {
        let bed = &self.beds[draw % self.beds.len()];
        let element = match draw / self.beds.len() % (SLOTS + 1) {
            // Acquire: [TO-3].
            slot if slot < SLOTS => {
                let found = bed.raw[slot].load(Ordering::Acquire);
                // SAFETY: published elements are freed after a grace period, which `guard` holds off.
                unsafe { found.as_ref() }
            }
            _ => {
                let found = P::load(&bed.cell, guard);
                found.as_ref().map(|dropping| &dropping.0)
            }
        }?;
        Seen::of(element)
    }

    /// Empties the beds. Nobody publishes there any more.
    pub fn clear(&self, world: &World) {
        for bed in &self.beds {
            for slot in &bed.raw {
                let found = slot.swap(null_mut(), Ordering::AcqRel);
                if let Some(element) = NonNull::new(found) {
                    self.give_up(world, element);
                }
            }
            let old = bed.cell.store(None);
            if let Some(dropping) = &*old {
                note(world, NonNull::from(&dropping.0));
            }
            drop(old); // retired, since others may hold what they found
        }
    }

    /// Disposes of an element on nobody's account: no barrier is checked for it.
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

/// It is about to be queued; its word.
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

impl<P: Periods> Drop for Plot<P> {
    fn drop(&mut self) {
        if let Some(world) = world::current() {
            self.clear(world);
        }
    }
}

/// See above.
pub struct Ground<P: Periods> {
    plot: Mutex<Option<Arc<Plot<P>>>>,
    /// The plot that it began with, if that is always there: for those who may take no lock.
    pub steady: Option<Arc<Plot<P>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<P: Periods> Ground<P> {
    fn all(statics: &'static [P], first: u32, beds: usize) -> Vec<Ground<P>> {
        let grounds = statics.iter().zip(first..).map(|(periods, number)| {
            let plot = Arc::new(Plot::new(number, Whose::Static(periods), beds));
            Ground {
                steady: (number == first).then(|| Arc::clone(&plot)),
                plot: Mutex::new(Some(plot)),
            }
        });
        grounds.collect()
    }

    /// What is there now; none when it is over.
    pub fn plot(&self) -> Option<Arc<Plot<P>>> {
        lock(&self.plot).clone()
    }

    /// Puts another one there.
    pub fn replace(&self, plot: Option<Arc<Plot<P>>>) -> Option<Arc<Plot<P>>> {
        std::mem::replace(&mut *lock(&self.plot), plot)
    }
}

/// Those of a run for `Srcu`s, with so many beds each.
pub fn of_srcus(beds: usize) -> Vec<Ground<Srcu>> {
    Ground::all(&SRCUS, 1, beds)
}

/// Those of a run for domains.
pub fn of_domains(beds: usize) -> Vec<Ground<Domain>> {
    Ground::all(&DOMAINS, 1 + GROUNDS as u32, beds)
}

/// Sections that were handed on and not yet taken.
#[derive(Default)]
pub struct Post(Mutex<VecDeque<Held<Srcu>>>);

/// Sections that may wait to be taken.
const POST: usize = 6;

impl Post {
    /// Leaves a section to whoever comes; the caller's again, if there are many.
    pub fn leave(&self, held: Held<Srcu>) -> Option<Held<Srcu>> {
        let mut post = lock(&self.0);
        if post.len() < POST {
            post.push_back(held);
            return None;
        }
        Some(held)
    }

    /// Takes the one that was left first.
    pub fn take(&self) -> Option<Held<Srcu>> {
        lock(&self.0).pop_front()
    }
}
