//! Refuses memory and threads to selected threads, and counts one kind of allocation.

use std::alloc::Layout;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refuse {
    /// The blocks of queues: 256 places of two words, and a link.
    Blocks,
    /// Queues, which keep their lanes apart.
    Queues,
    /// All there is.
    Everything,
}

/// An object of this size is counted when it is made and when it is freed.
pub const COUNTED: usize = 168;

thread_local! {
    static REFUSED: Cell<Option<Refuse>> = const { Cell::new(None) };
    static THREADS: Cell<bool> = const { Cell::new(false) };
}

static REFUSALS: AtomicU64 = AtomicU64::new(0);
static MADE: AtomicU64 = AtomicU64::new(0);
static FREED: AtomicU64 = AtomicU64::new(0);

/// Runs `f` in a thread to which this is refused; it has been refused at least once.
#[track_caller]
pub fn refusing<T>(what: Refuse, f: impl FnOnce() -> T) -> T {
    let before = REFUSALS.load(Ordering::Acquire);
    REFUSED.set(Some(what));
    let result = f();
    REFUSED.set(None);
    assert!(
        REFUSALS.load(Ordering::Acquire) > before,
        "{what:?}: it was not requested"
    );
    result
}

/// Runs `f` in a thread that cannot start another one.
pub fn without_threads<T>(f: impl FnOnce() -> T) -> T {
    let before = REFUSALS.load(Ordering::Acquire);
    THREADS.set(true);
    let result = f();
    THREADS.set(false);
    assert!(
        REFUSALS.load(Ordering::Acquire) > before,
        "no thread was started"
    );
    result
}

/// Counts objects of the counted size from here on. (What runs the tests has some, too, and keeps them.)
pub fn start_counting() -> Counting {
    Counting(kept())
}

/// What there was when it began.
pub struct Counting(u64);

impl Counting {
    /// How many more objects of the counted size there are now.
    pub fn kept(&self) -> u64 {
        kept() - self.0
    }
}

fn kept() -> u64 {
    MADE.load(Ordering::Acquire) - FREED.load(Ordering::Acquire)
}

/// Is this refused to the calling thread?
pub fn refuses(layout: Layout) -> bool {
    let refused = match REFUSED.try_with(Cell::get) {
        Ok(Some(Refuse::Blocks)) => (4096..4400).contains(&layout.size()),
        Ok(Some(Refuse::Queues)) => layout.align() == 128,
        Ok(Some(Refuse::Everything)) => true,
        _ => false,
    };
    REFUSALS.fetch_add(refused.into(), Ordering::AcqRel);
    refused
}

/// A piece of memory is given.
pub fn note_made(layout: Layout) {
    MADE.fetch_add((layout.size() == COUNTED).into(), Ordering::AcqRel);
}

/// A piece of memory is given back.
pub fn note_freed(layout: Layout) {
    FREED.fetch_add((layout.size() == COUNTED).into(), Ordering::AcqRel);
}

/// Is a thread refused to the calling one?
pub fn refuses_thread() -> bool {
    let refused = THREADS.try_with(Cell::get) == Ok(true);
    REFUSALS.fetch_add(refused.into(), Ordering::AcqRel);
    refused
}
