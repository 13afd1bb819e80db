//! The index of a thread: what structures outside of this crate keep data of each thread by.
//!
//! It is the number of the thread's slot. Slots are claimed from the lowest free one on, so the indexes are
//! dense. What a thread did happens before what the next owner of its index does: `[REG-2]`.

use super::guard::read_lock;
use crate::global::{env, local, section, with_local};
use quiescent_core::prim::{LEAF_SLOTS, MAX_LEAVES};
use quiescent_core::reader::local::Local;
use quiescent_core::reader::threads::Slot;
use quiescent_core::reader::unregistered::UNREGISTERED;
use quiescent_core::reader::word::{self, Reader};

/// All indexes are below it.
pub const THREAD_INDEXES: usize = MAX_LEAVES * LEAF_SLOTS - UNREGISTERED as usize;

/// The index of the calling thread: a small number that no other living thread has.
///
/// For structures that keep something for each thread (counts, free lists) and find it without a lock. The
/// first call of a thread registers it, as its first section does; later calls take a few instructions. The
/// lowest free index is taken, so a program that has had at most `n` threads at once has indexes below about
/// `n`, and all are below [`THREAD_INDEXES`].
///
/// # Ordering
/// The index of a thread that has ended is used again. What the former owner did, up to its last use of this
/// library, happened before the next owner's first call returns. So data that only the owner of an index
/// writes needs no atomic operations of the owner.
///
/// # Limits
/// * `None`: as many threads are registered as [`max_threads`](crate::Options::max_threads) or the memory
///   allows; or the thread has an open section that began while it could not be registered; or the thread is
///   ending, and the last hook that could give the index back has run. A structure needs a slower way for
///   these: an atomic operation on shared data.
/// * At the end of a thread its index is given back between destructors of its thread-locals. A destructor
///   that runs later gets another one. So do not keep an index: call this function at each use.
/// * A signal handler gets the index of the thread that it interrupts, perhaps in the middle of a use.
///
/// # Fork
/// In the child, the thread that called `fork` keeps its index. The indexes of all other threads are free
/// again, although those threads may have been in the middle of a write: each of their stores up to some
/// instruction is there, and no later one. Who keeps data by index notes [`fork_generation`] with it, and
/// repairs what has an older number.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
/// use quiescent::thread_index;
///
/// /// A counter that threads do not share: each adds to a cache line of its own.
/// #[repr(align(128))]
/// struct Line(AtomicU64);
/// static LINES: [Line; 64] = [const { Line(AtomicU64::new(0)) }; 64];
///
/// fn add_one() {
///     match thread_index() {
///         // No other thread stores to this line, so a load and a store are enough.
///         Some(index) if index < 63 => LINES[index].0.store(LINES[index].0.load(Relaxed) + 1, Relaxed),
///         _ => drop(LINES[63].0.fetch_add(1, Relaxed)),
///     }
/// }
///
/// std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(add_one))));
/// assert_eq!(LINES.iter().map(|line| line.0.load(Relaxed)).sum::<u64>(), 4);
/// ```
#[inline]
pub fn thread_index() -> Option<usize> {
    let reader = with_local(Local::reader);
    if env().threads.is_dummy(reader) {
        return register();
    }
    // SAFETY: it is not the dummy, so it is the word of the thread's slot.
    Some(unsafe { Slot::of(reader) }.index())
}

#[cold]
#[inline(never)]
fn register() -> Option<usize> {
    let slot = env().threads.own_slot_or_register(&local())?;
    Some(slot.index())
}

/// Calls `f` inside a section of the process's domain, with the [index](thread_index) of the calling thread.
///
/// As [`read`](crate::read) and [`thread_index`], but the two together take hardly more instructions than the
/// section: for counts of each thread that are to be summed up after a grace period.
///
/// ```
/// let index = quiescent::with_thread_index(|index| {
///     assert!(quiescent::in_section());
///     index
/// });
/// assert_eq!(index, quiescent::thread_index());
/// ```
#[inline(always)]
pub fn with_thread_index<R>(f: impl FnOnce(Option<usize>) -> R) -> R {
    let reader = with_local(Local::reader);
    if !word::begin(reader) {
        return with_thread_index_slowly(f);
    }
    let open = Open(reader);
    // SAFETY: a thread's word in which a section begins without the slow path is that of its slot.
    let result = f(Some(unsafe { Slot::of(reader) }.index()));
    std::mem::forget(open);
    match word::end(reader) {
        true => end_slowly(reader, result),
        false => result,
    }
}

#[cold]
#[inline(never)]
fn with_thread_index_slowly<R>(f: impl FnOnce(Option<usize>) -> R) -> R {
    let _section = read_lock();
    f(thread_index())
}

/// Passes the result on, so that the fast path need not keep it meanwhile.
#[cold]
#[inline(never)]
fn end_slowly<R>(reader: &'static Reader, result: R) -> R {
    section::unlock_slowly(reader);
    result
}

/// A section that ends if `f` panics.
struct Open(&'static Reader);

impl Drop for Open {
    fn drop(&mut self) {
        section::unlock(self.0);
    }
}

/// How many forks lie between the start of the program and this process: 0 in the first process, one more in
/// each child.
///
/// For what is kept by [`thread_index`]. It changes in the child before `fork` returns there, and never
/// otherwise. Without the feature `fork`, or with [`ignore_forks`](crate::Options::ignore_forks), it stays 0,
/// and the child must not use this library.
///
/// ```
/// assert_eq!(quiescent::fork_generation(), 0);
/// ```
#[inline]
pub fn fork_generation() -> u32 {
    #[cfg(feature = "fork")]
    return crate::global::fork::FORKS.load(std::sync::atomic::Ordering::Relaxed);
    #[cfg(not(feature = "fork"))]
    0
}
