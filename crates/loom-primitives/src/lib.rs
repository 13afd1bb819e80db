//! loom behind the names that `crates/quiescent/src/sync.rs` imports.
//!
//! loom explores the C11 memory model (release sequences, acquire loads of old values, SeqCst fences)
//! up to a number of preemptions. Its types work without `--cfg loom`: that flag is only a convention
//! for switching, so these checks run inside plain `cargo test`.
//!
//! # Fences
//! loom has no `membarrier(2)` and no compiler fence, so there are three ways to run the product's code
//! ([`Fences`], [`with_fences`]):
//!
//! * **Fenced**, the default: [`register_heavy_fence`] is refused, so the product takes its fenced
//!   mode, in which every fence it needs is a real one. [`light_fence`] is *nothing*, as it is for
//!   hardware. This is the product's own code with the product's own orderings.
//! * **Bare**: registration succeeds, the heavy fence is a full fence of its caller only, and the light
//!   one is nothing. The code of the membarrier mode runs with its own orderings, but store buffering
//!   between a light and a heavy fence is *not* prevented. So this is for models in which nothing
//!   depends on such a pair: they show whether acquire and release are where they must be.
//! * **Paired**: registration succeeds and both are `fence(SeqCst)`. That is stronger than what they
//!   are (two light fences order nothing between themselves), so an edge hidden by that is the double's
//!   business; but the whole membarrier mode runs under C11.
//!
//! # What loom does not show
//! * SeqCst *accesses* are weaker in loom than in C11 (store buffering with them is reported although
//!   it cannot happen): so locked instructions that order something by being SeqCst would raise false
//!   alarms. The product uses explicit fences, and its read-modify-writes are AcqRel.
//! * Relaxed load buffering is never seen although C11 allows it.
//! * A read-modify-write always reads the latest value.
//! * Sleeping: [`futex_wait`] gives way until the word changes, so a lost wake-up of a word that *did*
//!   change is not seen: [`futex_wake`] does nothing. A word that never changes is a deadlock that
//!   loom reports as too many branches. Wake-ups proper are the double's business.
//! * Time-outs never fire.

use std::cell::Cell;
use std::time::Duration;

pub use loom::cell::UnsafeCell;
pub use loom::model::Builder;
pub use loom::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};
pub use loom::sync::{Mutex, MutexGuard};
pub use loom::{model, thread};

/// Slots in a leaf of the product's slot table: few, so that scenarios run out of them.
pub const LEAF_SLOTS: usize = 4;
/// Leaves a domain can have.
pub const MAX_LEAVES: usize = 1;

/// Numbered cells of each thread.
const CELLS: usize = 8;
/// What a kernel without `membarrier(2)` answers.
const ENOSYS: i32 = 38;
/// Nanoseconds that each look at the clock takes.
const TICK_NS: u64 = 100;

/// What light and heavy fences are: see the crate's first page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fences {
    /// The product runs its fenced mode.
    Fenced,
    /// Its membarrier mode, where light is nothing and heavy is the caller's own fence.
    Bare,
    /// Its membarrier mode, where both are full fences.
    Paired,
}

std::thread_local! {
    /// Model threads are fibers on the OS thread that runs the model, so this is one choice a model.
    static FENCES: Cell<Fences> = const { Cell::new(Fences::Fenced) };
}

loom::thread_local! {
    static CELL: [Cell<usize>; CELLS] = std::array::from_fn(|_| Cell::new(0));
    static CLOCK: Cell<u64> = Cell::new(0);
}

/// Runs models on this OS thread with such fences.
///
/// ```
/// use quiescent_loom_primitives::{Fences, register_heavy_fence, with_fences};
///
/// assert!(register_heavy_fence().is_err());
/// assert!(with_fences(Fences::Paired, register_heavy_fence).is_ok());
/// ```
pub fn with_fences<R>(fences: Fences, models: impl FnOnce() -> R) -> R {
    let before = FENCES.replace(fences);
    let result = models();
    FENCES.set(before);
    result
}

/// A full fence if fences are paired, else nothing.
pub fn light_fence() {
    if FENCES.get() == Fences::Paired {
        fence(Ordering::SeqCst);
    }
}

/// A full fence of the calling thread.
///
/// # Errors
/// Never.
pub fn heavy_fence() -> Result<(), i32> {
    fence(Ordering::SeqCst);
    Ok(())
}

/// Whether the product may use its membarrier mode.
///
/// # Errors
/// `ENOSYS` where the product is to run its fenced mode.
pub fn register_heavy_fence() -> Result<(), i32> {
    if FENCES.get() == Fences::Fenced {
        Err(ENOSYS)
    } else {
        Ok(())
    }
}

/// Gives way until `word` is no longer `expected`. Time-outs never fire.
///
/// The loads are relaxed: what a futex orders, its callers must not rely on.
pub fn futex_wait(word: &AtomicU32, expected: u32, _timeout: Option<Duration>) {
    while word.load(Ordering::Relaxed) == expected {
        thread::yield_now();
    }
}

/// Nothing: the change of the word is what sleepers look for.
pub fn futex_wake(_word: *const AtomicU32) {}

/// Gives way once.
pub fn spin(_times: u32) {
    thread::yield_now();
}

/// A clock of the calling thread that goes on by a little at each look.
pub fn now_ns() -> u64 {
    CLOCK.with(|clock| {
        clock.set(clock.get() + TICK_NS);
        clock.get()
    })
}

/// The same clock.
pub fn coarse_ns() -> u64 {
    now_ns()
}

/// Reads a numbered cell of this model thread.
///
/// # Panics
/// If there is no such cell.
pub fn tls_get(index: usize) -> usize {
    CELL.with(|cells| cells[index].get())
}

/// Writes a numbered cell of this model thread.
///
/// # Panics
/// If there is no such cell.
pub fn tls_set(index: usize, value: usize) {
    CELL.with(|cells| cells[index].set(value));
}
