//! All grounds there are: how a domain gets some, and what becomes of them in the child of a fork.
//!
//! No lock that is waited for, and no allocator: the first use of a domain may be in a signal handler that has interrupted either. New ones
//! are pieces of the [`arena`](crate::inner::prim::arena), and put at the front of a list with a compare-and-swap; of those that nobody has any more,
//! only ones whose gate is free are taken over.

use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use super::{Gate, Grounds, LEFT, OWNED};
use crate::inner::domain::numbers::Numbers;
use crate::inner::domain::policy::Policy;
use crate::inner::prim;
use crate::inner::prim::arena;
use crate::inner::reader::threads::Slot;

/// Those made last.
static NEWEST: AtomicPtr<Grounds> = AtomicPtr::new(std::ptr::null_mut());
/// So many have been made.
static MADE: AtomicU32 = AtomicU32::new(0);

/// All there are.
pub(crate) fn all() -> impl Iterator<Item = &'static Grounds> {
    // SAFETY: null, or grounds, and those live for ever.
    let at = |place: &AtomicPtr<Grounds>| unsafe { place.load(Ordering::Acquire).as_ref() };
    std::iter::successors(at(&NEWEST), move |grounds| at(&grounds.made_before))
}

impl Grounds {
    /// Grounds for a new owner: some that nobody has any more, or new ones.
    pub(crate) fn found() -> &'static Grounds {
        prim::domain().resolve_mode();
        all()
            .find(|grounds| grounds.take_over())
            .unwrap_or_else(Grounds::made)
    }

    fn made() -> &'static Grounds {
        const { assert!(align_of::<Grounds>() <= arena::ALIGN) };
        let Some(place) = arena::zeroed(size_of::<Grounds>()) else {
            std::alloc::handle_alloc_error(std::alloc::Layout::new::<Grounds>());
        };
        let place = place.cast::<Grounds>().as_ptr();
        // SAFETY: fresh memory of that size and alignment, never given back.
        let new: &'static Grounds = unsafe {
            place.write(Grounds::new(MADE.fetch_add(1, Ordering::Relaxed)));
            &*place
        };
        let mut newest = NEWEST.load(Ordering::Relaxed);
        loop {
            new.made_before.store(newest, Ordering::Relaxed);
            let order = (Ordering::Release, Ordering::Relaxed);
            match NEWEST.compare_exchange(newest, place, order.0, order.1) {
                Ok(_) => return new,
                Err(other) => newest = other,
            }
        }
    }

    /// Makes it the caller's, if nobody has it and it rests.
    fn take_over(&self) -> bool {
        if self.owner.load(Ordering::Acquire) != LEFT {
            return false;
        }
        let Some(mut gate) = self.gate.try_take() else {
            return false;
        };
        let order = (Ordering::AcqRel, Ordering::Relaxed);
        // A section that never ends (its guard was forgotten) would hold the new owner up.
        let rests = gate.yard.is_none() && gate.holders == 0 && !self.spots.is_inside();
        let free = rests
            && self
                .owner
                .compare_exchange(LEFT, OWNED, order.0, order.1)
                .is_ok();
        if free {
            (gate.policy, gate.beside) = (Policy::DEFAULT, Numbers::ZERO);
        }
        free
    }

    /// In the child of a fork: nobody holds them, and of sections only those of the thread that has `own` are open. `gate`: none, if they were
    /// made after *prepare* had looked, by a thread that is not here; then whatever it was doing to them is undone.
    ///
    /// # Safety
    /// The calling thread is the only one of the process, and has no guard of the gate but this.
    pub(crate) unsafe fn forked(&self, gate: Option<&mut Gate>, own: Option<&Slot>) {
        match gate {
            Some(gate) => {
                // The forking thread may be in a callback of this domain, and go on there with the yard: then it stays.
                let stays = crate::inner::defer::run::in_callback() && gate.yard.is_some();
                gate.holders = u32::from(stays);
                gate.era += 1;
                gate.beside = Numbers::ZERO; // counters start again
            }
            // SAFETY: the caller's promise.
            None => unsafe { self.gate.renew() },
        }
        self.spots.forked(own);
    }
}
