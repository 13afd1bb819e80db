//! What is published under [`Srcu`]s: a *plot* is an `Srcu` with a bed for each thread that may publish there; a *ground* is a
//! place where there is a plot, now this one, now another.
//!
//! The plots that a run begins with have `Srcu`s in statics, which are never dropped. A maker puts others in their place, which are made
//! and dropped at run time: whoever drops the last reference to a plot retires what is in its beds, under its `Srcu`; what was
//! handed on (a [`Held`]) keeps the `Srcu` and not the plot.

use std::collections::VecDeque;
use std::ops::Deref;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quiescent::{OwnedSrcuGuard, Srcu, SrcuCell, SrcuGuard};

use crate::callback::Block;
use crate::element::{Dropping, Element};
use crate::entry::NO_NUMBER;
use crate::kind::Kind;
use crate::ledger::SLOTS;
use crate::reader::Seen;
use crate::world::{self, World};

/// Grounds of a run.
pub const GROUNDS: usize = 3;

/// For ever.
pub static SRCUS: [Srcu; GROUNDS] = [const { Srcu::new() }; GROUNDS];

/// The number of the next plot. Those of the statics are 1 and up; 0 is the domain.
static NEXT: AtomicU32 = AtomicU32::new(1 + GROUNDS as u32);

/// The `Srcu` of what has this number, if that is one of the statics.
pub fn static_of(number: u32) -> Option<&'static Srcu> {
    SRCUS.get((number as usize).checked_sub(1)?)
}

/// An `Srcu`, and who keeps it.
#[derive(Clone, Debug)]
pub enum Whose {
    /// Nobody has to.
    Static(&'static Srcu),
    /// Whoever has one of these.
    Owned(Arc<Srcu>),
}

impl Deref for Whose {
    type Target = Srcu;

    fn deref(&self) -> &Srcu {
        match self {
            Whose::Static(srcu) => srcu,
            Whose::Owned(srcu) => srcu,
        }
    }
}

/// A section that goes from thread to thread.
#[derive(Debug)]
pub enum Guard {
    /// Of a static.
    Static(SrcuGuard<'static>),
    /// Keeps its `Srcu`.
    Owned(OwnedSrcuGuard),
}

impl Whose {
    /// Opens a section that may go elsewhere.
    pub fn enter(&self) -> Guard {
        match self {
            Whose::Static(srcu) => Guard::Static(srcu.read_lock()),
            Whose::Owned(srcu) => Guard::Owned(srcu.read_owned()),
        }
    }
}

/// What one thread publishes in a plot; only its thread replaces it.
pub struct Bed {
    /// By pointers that own nothing.
    pub raw: [AtomicPtr<Element>; SLOTS],
    /// By one that owns.
    pub cell: SrcuCell<Option<Dropping>>,
}

/// See above.
pub struct Plot {
    /// Told from those of all others.
    pub number: u32,
    /// What it stands on.
    pub whose: Whose,
    /// One for each place.
    pub beds: Box<[Bed]>,
}

/// An open section, and what was found there: for any thread to end.
pub struct Held {
    seen: Option<Seen<'static>>,
    _guard: Guard,
}

impl Held {
    /// Looks at the age of what was found, and ends the section.
    pub fn end(self) -> Option<(Kind, u32)> {
        self.seen.as_ref().map(Seen::judge)
    }
}

impl Plot {
    fn new(number: u32, whose: Whose, beds: usize) -> Plot {
        let bed = || Bed {
            raw: [const { AtomicPtr::new(null_mut()) }; SLOTS],
            cell: SrcuCell::new(&whose, None),
        };
        let beds = std::iter::repeat_with(bed).take(beds).collect();
        Plot {
            number,
            whose,
            beds,
        }
    }

    /// One with an `Srcu` of its own.
    pub fn made(beds: usize) -> Plot {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Plot::new(number, Whose::Owned(Arc::new(Srcu::new())), beds)
    }

    /// Opens a section, and finds one of the elements if there is one where it looks.
    pub fn hold(&self, draw: usize) -> Held {
        let guard = self.whose.enter();
        let seen = self.find(draw, &guard);
        // SAFETY: the element is freed after a grace period of its `Srcu` (if the plot is dropped, too), which waits for the guard, and
        // that ends after the reference.
        let seen = seen.map(|seen| unsafe { std::mem::transmute::<Seen<'_>, Seen<'static>>(seen) });
        Held {
            seen,
            _guard: guard,
        }
    }

    /// Finds one of the elements, if there is one where it looks.
    pub fn find<'g>(&'g self, draw: usize, guard: &'g Guard) -> Option<Seen<'g>> {
        let bed = &self.beds[draw % self.beds.len()];
        let element = match draw / self.beds.len() % (SLOTS + 1) {
            // Acquire: [TO-3].
            slot if slot < SLOTS => {
                let found = bed.raw[slot].load(Ordering::Acquire);
                // SAFETY: published elements are freed after a grace period, which `guard` holds off.
                unsafe { found.as_ref() }
            }
            _ => {
                let found = match guard {
                    Guard::Static(guard) => bed.cell.load(guard),
                    Guard::Owned(guard) => bed.cell.load(guard),
                };
                found.as_ref().map(|dropping| &dropping.0)
            }
        }?;
        Seen::of(element)
    }

    /// Disposes of an element on nobody's account: no barrier is checked for it.
    fn give_up(&self, world: &World, element: NonNull<Element>) {
        // SAFETY: an element, unpublished by the caller, and not disposed of before the end of this.
        let (entry, kind) = unsafe { (element.as_ref().entry(), element.as_ref().kind()) };
        let word = note(world, element);
        let block = Block(element);
        match kind {
            // SAFETY: a boxed element, unlinked, retired once.
            Kind::RetirePtr => unsafe { self.whose.retire_ptr(element) },
            // SAFETY: as above.
            _ if kind.plain() => unsafe { self.whose.retire_ptr_hurry(element) },
            _ if kind.is_lazy() => self.whose.call_lazy(move || block.end(entry, word)),
            _ => self.whose.call(move || block.end(entry, word)),
        }
    }
}

/// It is about to be queued; its word.
fn note(world: &World, element: NonNull<Element>) -> u64 {
    // SAFETY: an element that its caller has just unpublished.
    let element = unsafe { element.as_ref() };
    let entry = element.entry();
    entry.removed();
    let word = entry.queue(NO_NUMBER, world.now());
    element.set_word(word);
    world.count_queued(element.kind());
    word
}

impl Drop for Plot {
    fn drop(&mut self) {
        let Some(world) = world::current() else {
            return;
        };
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
}

/// See above.
pub struct Ground {
    plot: Mutex<Option<Arc<Plot>>>,
    /// Sections that were handed on and not yet taken.
    post: Mutex<VecDeque<Held>>,
}

/// Sections that may wait to be taken.
const POST: usize = 6;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ground {
    /// Those of a run, with so many beds each.
    pub fn all(beds: usize) -> Vec<Ground> {
        let grounds = SRCUS.iter().zip(1..).map(|(srcu, number)| Ground {
            plot: Mutex::new(Some(Arc::new(Plot::new(number, Whose::Static(srcu), beds)))),
            post: Mutex::new(VecDeque::new()),
        });
        grounds.collect()
    }

    /// The plot that is there now; none when it is over.
    pub fn plot(&self) -> Option<Arc<Plot>> {
        lock(&self.plot).clone()
    }

    /// Puts another one there.
    pub fn replace(&self, plot: Option<Arc<Plot>>) -> Option<Arc<Plot>> {
        std::mem::replace(&mut *lock(&self.plot), plot)
    }

    /// Leaves a section to whoever comes; the caller's again, if there are many.
    pub fn leave(&self, held: Held) -> Option<Held> {
        let mut post = lock(&self.post);
        if post.len() < POST {
            post.push_back(held);
            return None;
        }
        Some(held)
    }

    /// Takes the one that was left first.
    pub fn take(&self) -> Option<Held> {
        lock(&self.post).pop_front()
    }
}
