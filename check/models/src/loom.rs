//! loom behind the names that the library's layer `prim` imports.
//!
//! loom explores the C11 memory model (release sequences, acquire loads of old values, SeqCst fences) up to a
//! number of preemptions. Its types work without `--cfg loom`: that flag is only a convention for switching,
//! so these checks run inside plain `cargo test`.
//!
//! # Fences
//! loom has no `membarrier(2)` and no compiler fence. The product runs in one of its two modes:
//!
//! * **Fenced**, the default: [`register_heavy_fence`] is refused, so every fence the product needs is
//!   a real one. [`light_fence`] is *nothing*, as it is for hardware.
//! * **Membarrier** ([`with_membarrier`]): light and heavy fences keep their algebra and no more. Every
//!   thread has a word of its own; a light fence is a read-modify-write of it, and a heavy fence is a
//!   full fence, a read-modify-write of *every* word, and a full fence. Read-modify-writes of one word
//!   are in a total order, and each synchronises with those before it. So for `A; light; B` here and
//!   `C; heavy; D` there, either B sees C (heavy came first) or D sees A; two light fences share
//!   nothing, and a light fence orders its own thread's accesses only for heavy fences.
//!
//! # Limits
//! * SeqCst *accesses* are weaker in loom than in C11 (store buffering with them is reported although
//!   it cannot happen): so locked instructions that order something by being SeqCst would raise false
//!   alarms. The product uses explicit fences, and its read-modify-writes are AcqRel.
//! * Relaxed load buffering is never seen although C11 allows it.
//! * A SeqCst fence synchronises with every earlier one, which hides a missing acquire or release where
//!   both sides pass one.
//! * Sleeping orders more than it should: a wake-up synchronises with the sleeper, which `futex(2)` does
//!   not promise. A missing acquire is seen only where the sleeper found the word changed in time.
//! * Time-outs never fire, and there are no spurious wake-ups: a lost wake-up is a deadlock.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicUsize as RealUsize, Ordering::Relaxed};
use std::time::Duration;

use crate::{CELLS, TICK_NS};
pub use crate::{LEAF_SLOTS, MAX_LEAVES, on_large_stack};
pub use loom::cell::UnsafeCell;
pub use loom::model::Builder;
pub use loom::sync::atomic::{
    AtomicBool, AtomicIsize, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};
pub use loom::sync::{Mutex, MutexGuard};
pub use loom::thread::{yield_now, yield_now as doze};
pub use loom::{lazy_static, model, thread};

/// The answer of a kernel without `membarrier(2)`.
const ENOSYS: i32 = 38;
/// The largest number of threads that loom can run.
const MAX_THREADS: usize = 5;

std::thread_local! {
    /// Model threads are fibers on the OS thread that runs the model, so this is one choice for a model.
    static MEMBARRIER: Cell<bool> = const { Cell::new(false) };
    /// The numbers of this execution's threads, in the order of their first light fences.
    static NUMBERED: Cell<usize> = const { Cell::new(0) };
    /// The time of this execution.
    static CLOCK: Cell<u64> = const { Cell::new(0) };
    /// The sleepers of each address.
    static SLEEPERS: RefCell<Vec<(usize, thread::Thread)>> = const { RefCell::new(Vec::new()) };
}

loom::lazy_static! {
    /// A word that all model threads of an execution share. (They are fibers on one OS thread.)
    static ref EXECUTION: RealUsize = RealUsize::new(0);
    /// The words of light fences, one for each thread.
    static ref LIGHT: [AtomicU32; MAX_THREADS] = std::array::from_fn(|_| AtomicU32::new(0));
}

loom::thread_local! {
    static CELL: [Cell<usize>; CELLS] = std::array::from_fn(|_| Cell::new(0));
    static NUMBER: usize = NUMBERED.replace(NUMBERED.get() + 1);
}

/// Runs models on this OS thread in which the library uses membarrier.
///
/// ```
/// use quiescent_models::loom::{model, register_heavy_fence, with_membarrier};
///
/// model(|| assert!(register_heavy_fence().is_err()));
/// with_membarrier(|| model(|| assert!(register_heavy_fence().is_ok())));
/// ```
pub fn with_membarrier<R>(models: impl FnOnce() -> R) -> R {
    let before = MEMBARRIER.replace(true);
    let result = models();
    MEMBARRIER.set(before);
    result
}

/// Pairs with [`heavy_fence`] in membarrier models; otherwise it has no effect.
pub fn light_fence() {
    if MEMBARRIER.get() {
        let number = NUMBER.with(|&number| number);
        LIGHT[number].fetch_add(1, Ordering::AcqRel);
    }
}

/// A full fence of the calling thread that pairs with every thread's light fences.
///
/// # Errors
/// Never.
pub fn heavy_fence() -> Result<(), i32> {
    fence(Ordering::SeqCst);
    if MEMBARRIER.get() {
        for word in LIGHT.iter() {
            word.fetch_add(1, Ordering::AcqRel);
        }
        fence(Ordering::SeqCst);
    }
    Ok(())
}

/// Refuses or allows the membarrier mode. Call it first, before any thread is started.
///
/// # Errors
/// `ENOSYS` where the library has to run its fenced mode.
pub fn register_heavy_fence() -> Result<(), i32> {
    if !MEMBARRIER.get() {
        return Err(ENOSYS);
    }
    NUMBERED.set(0);
    let _ = LIGHT.len(); // made here: making them later would add an order
    Ok(())
}

/// Forgets what the last execution on this OS thread has left. No thread of this one has called the library.
pub fn begin() {
    SLEEPERS.with_borrow_mut(Vec::clear); // of an execution that failed
    CLOCK.set(0);
    crate::ends::carry_out(false);
}

/// A word of this execution, which is the same for all threads: what `make` returns the first time. `make`
/// must not access an atomic, where another thread could run.
///
/// Who calls this comes after all that came before the first call: loom orders threads by their use of a
/// static.
pub fn of_execution(make: impl FnOnce() -> usize) -> usize {
    if EXECUTION.load(Relaxed) == 0 {
        EXECUTION.store(make(), Relaxed);
    }
    EXECUTION.load(Relaxed)
}

/// Sleeps while `word` holds `expected`, until [`futex_wake`]; false, as there are no time-outs.
///
/// The kernel has full barriers between entering the queue and comparing, and between the caller's change of
/// the word and the search of the queue; so one of the two sees the other. loom's SeqCst fences order a
/// little more than C11's do: everything before an earlier one.
pub fn futex_wait(word: &AtomicU32, expected: u32, _timeout: Option<Duration>) {
    let me = thread::current();
    let (id, address) = (me.id(), std::ptr::from_ref(word).addr());
    SLEEPERS.with_borrow_mut(|sleepers| sleepers.push((address, me)));
    let asleep = || SLEEPERS.with_borrow(|sleepers| sleepers.iter().any(|(_, t)| t.id() == id));
    fence(Ordering::SeqCst);
    if word.load(Ordering::Relaxed) == expected {
        while asleep() {
            thread::park();
        }
    }
    SLEEPERS.with_borrow_mut(|sleepers| sleepers.retain(|(_, t)| t.id() != id));
}

/// Wakes one sleeper on this address, which is only compared.
pub fn futex_wake(word: *const AtomicU32) {
    fence(Ordering::SeqCst);
    let sleeper = SLEEPERS.with_borrow_mut(|sleepers| {
        let first = sleepers
            .iter()
            .position(|&(address, _)| address == word.addr());
        first.map(|first| sleepers.remove(first).1)
    });
    if let Some(sleeper) = sleeper {
        sleeper.unpark();
    }
}

/// A clock that advances a little at each reading by any thread: a time that one thread has set has passed
/// when another one reads the clock later. loom does not know it, and tries no other order because of it.
pub fn now_ns() -> u64 {
    CLOCK.set(CLOCK.get() + TICK_NS);
    CLOCK.get()
}

/// Runs this when the next execution [begins](begin) on this OS thread: loom does not signal its end. It may
/// free memory, and nothing else, as loom's types exist within their execution only.
pub fn at_end(end: impl FnOnce() + 'static) {
    crate::ends::add(end);
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
