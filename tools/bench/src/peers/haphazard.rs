//! haphazard: a fresh hazard slot for every section; the case `repin` keeps one slot. `retire` on the global
//! domain; reading also on domains of its own.

use super::Peers;
use crate::deferral::Deferring;
use crate::deferral::loops::{Block, Defer, Owning, all_in, deferring};
use crate::deferral::noted;
use crate::deferral::swap::{Library, Swap, Swaps, Value, shared};
use crate::subjects::ReaderControl;
use crate::subjects::loops::{self, Peer, Word, used};
use haphazard::{AtomicPtr, Domain, Global, HazardPointer, Singleton, static_unique_domain};

static_unique_domain!(static ONE: Domain<OfOne>);
static_unique_domain!(static OTHER: Domain<OfOther>);

/// The domain of a kind of its own.
trait Family: Singleton + Send + Sync + 'static {
    /// That domain.
    fn domain() -> &'static Domain<Self>
    where
        Self: Sized;
}

impl Family for Global {
    fn domain() -> &'static Domain<Global> {
        Domain::global()
    }
}

impl Family for OfOne {
    fn domain() -> &'static Domain<OfOne> {
        &ONE
    }
}

impl Family for OfOther {
    fn domain() -> &'static Domain<OfOther> {
        &OTHER
    }
}

struct Haphazard(&'static Domain<Global>);

impl<T: Value> Defer<T> for Haphazard {
    fn new() -> Self {
        Haphazard(Domain::global())
    }

    #[inline(always)]
    unsafe fn retire(&self, object: *mut T) {
        // SAFETY: the caller's promise; no hazard pointer guards it from now on.
        unsafe { self.0.retire_ptr::<T, Box<T>>(object) };
    }
}

/// A pointer at hand. A hazard pointer, taken fresh for each read, guards one value and no other: there is no
/// section.
struct Pointer<T: 'static, F: 'static>(&'static AtomicPtr<T, F>);

impl<T: Value, F: Family> Peer for Pointer<T, F> {
    type Held = HazardPointer<'static, F>;

    fn new() -> Self {
        Pointer(shared(|| AtomicPtr::from(Box::new(T::new(0)))))
    }

    #[inline(always)]
    fn enter(&self) -> Self::Held {
        HazardPointer::new_in_domain(F::domain())
    }

    #[inline(always)]
    fn read(&self, held: &mut Self::Held) -> u64 {
        self.0.safe_load(held).map_or(0, T::read)
    }

    #[inline(always)]
    fn repin(&self, mut held: Self::Held) -> Self::Held {
        held.reset_protection();
        held
    }
}

impl<T: Value> Swap for Pointer<T, Global> {
    type Value = T;

    #[inline(always)]
    fn replace(&self, value: T) {
        if let Some(old) = self.0.swap(Box::new(value)) {
            // SAFETY: no new reader finds it, and the swap gave it to this thread alone.
            unsafe { old.retire() };
        }
    }
}

impl Library for Haphazard {
    type Cell<T: Value> = Pointer<T, Global>;
}

/// Guards a block that is retired only after that: a pointer of its own, which no updater replaces.
fn hold(control: &ReaderControl) {
    let pointer: AtomicPtr<Block> = AtomicPtr::from(Box::new(Block::new(0)));
    let mut hazard = HazardPointer::new();
    // SAFETY: the block is retired below, when no hazard pointer guards it.
    let guarded = unsafe { pointer.load(&mut hazard) };
    noted::stay(control);
    used(guarded.map_or(0, Value::read));
    // SAFETY: from a box; the pointer is not used elsewhere.
    unsafe { pointer.retire() };
}

fn settle() {
    Domain::global().eager_reclaim();
}

pub(super) fn peers() -> Peers {
    type Read<F> = Pointer<Word, F>;
    let turns = loops::by_turns::<Read<OfOne>, Read<OfOther>>("haphazard-domain-turns");
    Peers {
        reading: vec![
            loops::subject::<Read<Global>>("haphazard"),
            loops::subject::<Read<OfOne>>("haphazard-domain"),
            turns,
        ],
        deferring: vec![Deferring {
            settle,
            owning: Some(all_in::<Haphazard, Owning>),
            swaps: Swaps::of::<Haphazard>(),
            verbs: const { &[noted::retire::<Haphazard>()] },
            hold: Some(hold),
            ..deferring::<Haphazard, Block>("haphazard")
        }],
    }
}
