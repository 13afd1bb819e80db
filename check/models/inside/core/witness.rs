//! Notifications to models about blocks and memory, so that a use after free is a panic.

use std::alloc::{Layout, dealloc};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

thread_local! {
    /// The function that receives freed plain objects. Model threads are fibers on one OS thread.
    static OBSERVER: Cell<Option<fn(*mut u8)>> = const { Cell::new(None) };
    /// Number of times in this execution that an owner moved to the next block without a lock, and that its
    /// push took the lock.
    static HELPED: Cell<[u64; 2]> = const { Cell::new([0; 2]) };
    /// Blocks that were freed in this execution.
    static BURIED: RefCell<BTreeMap<usize, Layout>> = const { RefCell::new(BTreeMap::new()) };
}

/// From now on, until the next domain is created, plain objects are passed to `observer` instead of the
/// allocator.
pub fn observe_frees(observer: fn(*mut u8)) {
    OBSERVER.set(Some(observer));
}

/// Passes an object to the observer; false if there is none.
pub fn observed(object: *mut u8) -> bool {
    let observer = OBSERVER.get();
    observer.inspect(|tell| tell(object)).is_some()
}

/// Keeps a freed block from being reused in this execution. Always true.
pub fn bury<T>(block: *mut T) -> bool {
    let address = block.expose_provenance();
    let before = BURIED.with_borrow_mut(|buried| buried.insert(address, Layout::new::<T>()));
    assert!(before.is_none(), "a block of a queue was given back twice");
    true
}

/// A block is read or written.
pub fn touch<T>(block: *const T) {
    let gone = BURIED.with_borrow(|buried| buried.contains_key(&block.addr()));
    assert!(!gone, "a block of a queue was used after it was given back");
}

/// A push has taken the slow path; `crossed` if it only moved to the next block.
pub fn helped(crossed: bool) {
    let [across, locked] = HELPED.get();
    HELPED.set(match crossed {
        true => [across + 1, locked],
        false => [across, locked + 1],
    });
}

/// A new execution begins: the blocks of the previous one are not used any more.
pub fn forget() {
    OBSERVER.set(None);
    HELPED.set([0; 2]);
    for (block, layout) in BURIED.take() {
        // SAFETY: allocated by the queue with this layout, and out of use.
        unsafe {
            dealloc(std::ptr::with_exposed_provenance_mut(block), layout);
        }
    }
}

/// Number of times that an owner moved to the next block without a lock.
pub fn crossings() -> u64 {
    HELPED.get()[0]
}

/// Number of times that a push of an owner took its queue's lock.
pub fn helps() -> u64 {
    HELPED.get()[1]
}
