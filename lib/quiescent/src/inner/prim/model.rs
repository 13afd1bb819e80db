//! What the models have in common: thread-locals as numbered cells, small sizes.

use crate::inner::domain::Domain;
use crate::inner::domain::env::Env;
use crate::inner::domain::state::State;
use crate::inner::queue::lane::Block;
use crate::inner::queue::per_thread::Queue;
use crate::inner::reader::counted::{Counted, Tally};
use crate::inner::reader::spots::Spot;
use crate::inner::reader::word::Reader;

/// As in the product, but within a model's reach.
pub(crate) const NEST_LIMIT: u64 = 4;

/// Nobody looks before it sleeps: sleeping is what there is to explore.
pub(crate) const FENCE_LOOKS: u32 = 0;

/// A thread pushes to its queue in a domain of the program without the lock once so much went through it.
pub(crate) const ATTACH_AFTER: u64 = 0;
/// Domains that the worker looks after together.
pub(crate) const TOGETHER: usize = 2;

/// Threads of a scenario, at most.
const MOST_THREADS: usize = 5;

/// Entries in a block: few, so that scenarios come to its end.
pub(crate) const BLOCK: usize = 2;
/// All tallies are in one leaf: a slot's number is below this.
pub(crate) const FIRST_TALLIES: u32 = (super::LEAF_SLOTS * super::MAX_LEAVES) as u32;
pub(crate) const TALLY_LEAVES: usize = 1;
/// One in the domain itself, the others in further leaves.
pub(crate) const FIRST_SPOTS: u32 = 1;
pub(crate) const SPOT_LEAVES: usize = 3;
pub(crate) const TABLE_LEAVES: usize = 1;
/// Entries taken out of a queue at once.
pub(crate) const MAX_EXTRACT: usize = 2;

const CELL_QUEUE: usize = 5;
const CELL_DOMAIN: usize = 6;
const CELL_READER: usize = 7;
const CELL_COUNTS: usize = 8;
const CELL_TALLY: usize = 9;
const CELL_SPOT: usize = 10;

/// Model threads say which domain they work on.
pub(crate) fn enter_domain(env: &'static Env) {
    super::tls_set(CELL_DOMAIN, std::ptr::from_ref(env).expose_provenance());
    super::tls_set(CELL_READER, 0);
    super::tls_set(CELL_QUEUE, 0);
    forget_tally();
    forget_spot();
}

pub(crate) fn dummy_block() -> *mut Block {
    // One an OS thread, on which all threads of a model run: atomics of models are not for two of those.
    thread_local! {
        static DUMMY: usize = Box::into_raw(Box::new(Block::new())).expose_provenance();
    }
    std::ptr::with_exposed_provenance_mut(DUMMY.with(|&address| address))
}

pub(crate) fn dummy_queue() -> &'static Queue {
    env().dummy_queue()
}

pub(crate) fn queue() -> &'static Queue {
    match super::tls_get(CELL_QUEUE) {
        0 => dummy_queue(),
        // SAFETY: only `set_queue` writes the cell, from a 'static reference.
        address => unsafe { &*std::ptr::with_exposed_provenance(address) },
    }
}

pub(crate) fn set_queue(queue: &'static Queue) {
    super::tls_set(CELL_QUEUE, std::ptr::from_ref(queue).expose_provenance());
}

pub(crate) fn domain() -> &'static State {
    &env().state
}

pub(crate) fn env() -> &'static Env {
    let address = super::tls_get(CELL_DOMAIN);
    assert!(address != 0, "a model thread starts with enter_domain");
    // SAFETY: only `enter_domain` writes the cell, from a 'static reference.
    unsafe { &*std::ptr::with_exposed_provenance(address) }
}

pub(crate) fn reader() -> &'static Reader {
    match super::tls_get(CELL_READER) {
        0 => env().dummy(),
        // SAFETY: only `swap_reader` writes the cell, from a 'static reference.
        address => unsafe { &*std::ptr::with_exposed_provenance(address) },
    }
}

pub(crate) fn noted_counts() -> *const Counted {
    std::ptr::with_exposed_provenance(super::tls_get(CELL_COUNTS))
}

pub(crate) fn noted_tally() -> *const Tally {
    std::ptr::with_exposed_provenance(super::tls_get(CELL_TALLY))
}

pub(crate) fn note_tally(counts: &'static Counted, tally: &'static Tally) {
    super::tls_set(CELL_TALLY, std::ptr::from_ref(tally).expose_provenance());
    super::tls_set(CELL_COUNTS, std::ptr::from_ref(counts).expose_provenance());
}

pub(crate) fn forget_tally() {
    super::tls_set(CELL_COUNTS, 0);
}

pub(crate) fn noted_spot(domain: *const Domain) -> Option<*const Spot> {
    let spot: *const Spot = std::ptr::with_exposed_provenance(super::tls_get(CELL_SPOT));
    // SAFETY: null, or what `note_spot` wrote, from a 'static reference.
    unsafe { spot.as_ref() }
        .is_some_and(|spot| spot.is_of(domain))
        .then_some(spot)
}

pub(crate) fn note_spot(spot: &'static Spot) {
    super::tls_set(CELL_SPOT, std::ptr::from_ref(spot).expose_provenance());
}

pub(crate) fn forget_spot() {
    super::tls_set(CELL_SPOT, 0);
}

/// Keeps it for as long as the execution lasts, which in a model is for ever.
pub(crate) fn keep<T: ?Sized + 'static>(value: Box<T>) -> &'static mut T {
    let place = Box::into_raw(value);
    // SAFETY: from a box; at the end of the execution no thread is left that could use it.
    super::at_end(move || drop(unsafe { Box::from_raw(place) }));
    // SAFETY: as above, and this is the only reference.
    unsafe { &mut *place }
}

/// So many new ones, for ever. A model's atomics are more than their bits.
pub(crate) unsafe fn zeroes<T: 'static>(count: usize, new: impl Fn() -> T) -> Option<*mut T> {
    let all: Vec<T> = (0..count).map(|_| new()).collect();
    Some(keep(all.into_boxed_slice()).as_mut_ptr())
}

pub(crate) fn swap_reader(old: &'static Reader, new: &'static Reader) -> bool {
    let same = std::ptr::eq(reader(), old);
    if same {
        super::tls_set(CELL_READER, std::ptr::from_ref(new).expose_provenance());
    }
    same
}

pub(crate) fn tls_cas(cell: usize, old: usize, new: usize) -> bool {
    let same = super::tls_get(cell) == old;
    if same {
        super::tls_set(cell, new);
    }
    same
}

pub(crate) fn futex_wake_all(word: &super::AtomicU32) {
    for _ in 0..MOST_THREADS {
        super::futex_wake(word);
    }
}

pub(crate) fn full_fence() {
    super::fence(super::Ordering::SeqCst);
}

pub(crate) fn is_flagged(reader: &Reader) -> bool {
    reader.flag.load(super::Ordering::Relaxed) != 0
}

pub(crate) fn thread_id() -> u32 {
    1
}

pub(crate) fn map_leaf() -> Option<&'static crate::inner::reader::threads::Leaf> {
    Some(keep(Box::new(crate::inner::reader::threads::Leaf::new())))
}

pub(crate) fn unmap_leaf(_leaf: &'static crate::inner::reader::threads::Leaf) {}

/// Lets others run first; the number does not matter.
#[track_caller]
pub(crate) fn spin(_times: u32) {
    super::yield_now();
}

/// The clock: models have one.
pub(crate) fn coarse_ns() -> u64 {
    super::now_ns()
}

/// A turn that one thread at a time takes, and what it then may change. (Models do not fork.)
#[derive(Debug)]
pub(crate) struct Turn<T>(super::Mutex<T>);

impl<T> Turn<T> {
    super::const_new! {
        pub(crate) fn new(value: T) -> Turn<T> {
            Turn(super::Mutex::new(value))
        }
    }

    /// Waits for it.
    pub(crate) fn take(&self) -> super::MutexGuard<'_, T> {
        let guard = self.0.lock();
        guard.unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The lock between writers; a model does not fork.
pub(crate) mod write_lock {
    use std::sync::PoisonError;

    use crate::inner::prim::{Mutex, MutexGuard};

    #[derive(Debug)]
    pub(crate) struct WriteLock(Mutex<()>);

    pub(crate) type Taken<'a> = MutexGuard<'a, ()>;

    impl WriteLock {
        const_new! {
            pub(crate) fn new() -> WriteLock {
                WriteLock(Mutex::new(()))
            }
        }

        pub(crate) fn take(&self) -> Taken<'_> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }
}
