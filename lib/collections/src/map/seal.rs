//! What is done for a map that no thread changes any more: a batch that is not full is retired, and a
//! resize is finished.
//!
//! The first index of a batch, and the begin of a resize, *arm* a lazy callback of the library. The
//! callback moves what is left of a resize, and asks for the lists of all threads (`slab`, MAP-3). After a
//! grace period, the same callback takes them.
//!
//! The callback finds the map through a gate, which the map's drop closes. It holds the gate for a few
//! units of a resize at a time, so the drop waits no longer than that.
//!
//! A map that is forgotten leaves its gate open. So hasher and handle borrow nothing (`Hashes`, `D:
//! 'static`).
//!
//! `[MAP-10]` A thread puts the first index to its batch, or begins a resize, and then swaps the mark that
//! the callback is armed; the callback swaps the mark, and then looks for both. One finds the other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::Arc;

use quiescent::intrusive::{Head, defer_hurry_in, defer_lazy_in};
use quiescent::{Guard, Handle};

use super::core::Core;
use super::resize::Progress;
use super::store::{Garbage, go_on};
use crate::bounds::{Hashes, Key, Stored};
use crate::prim::{AtomicBool, Mutex, Ordering, lock};

/// The link of the library's queue, and the way to the map.
#[repr(C)]
pub struct Sealer {
    head: Head,
    armed: AtomicBool,
    /// The lists were asked for, and the callback is queued to take them.
    asked: AtomicBool,
    /// The map's core, until the map is dropped.
    gate: Mutex<Option<NonNull<()>>>,
}

// SAFETY: the pointer is used under the lock only, by functions that were instantiated for its type.
unsafe impl Send for Sealer {}
// SAFETY: as above.
unsafe impl Sync for Sealer {}

impl Sealer {
    pub fn new() -> Arc<Sealer> {
        Arc::new(Sealer {
            head: Head::new(),
            armed: AtomicBool::new(false),
            asked: AtomicBool::new(false),
            gate: Mutex::new(None),
        })
    }

    /// From now on the callback finds the map.
    pub fn open<T>(&self, core: *const T) {
        *lock(&self.gate) = NonNull::new(core.cast_mut().cast());
    }

    /// Keeps the callback out meanwhile.
    pub fn while_closed<R>(&self, f: impl FnOnce() -> R) -> R {
        let _gate = lock(&self.gate);
        f()
    }

    /// The callback finds the map no longer, and has done with it.
    pub fn close(&self) {
        *lock(&self.gate) = None;
    }
}

/// The callback ends: later removals arm it again.
struct Disarm<'a>(&'a Sealer);

impl Drop for Disarm<'_> {
    fn drop(&mut self) {
        // [MAP-10]
        self.0.armed.swap(false, Ordering::AcqRel);
    }
}

impl<K: Key, V: Stored, S: Hashes, D: Handle + 'static> Core<K, V, S, D> {
    /// Has the callback come, some seconds from now.
    #[cold]
    #[inline(never)]
    pub fn arm(&self) {
        // [MAP-10]
        if !self.sealer.armed.swap(true, Ordering::AcqRel) {
            self.queue(false);
        }
    }

    /// Queues the callback. The mark says that it is not queued.
    fn queue(&self, hurry: bool) {
        let sealer = Arc::into_raw(self.sealer.clone()).cast_mut();
        let head = NonNull::new(sealer).expect("not null").cast::<Head>();
        let run = run::<K, V, S, D>;
        // SAFETY: the reference that was turned into a pointer keeps it, and `run` takes that back.
        unsafe {
            match hurry {
                true => defer_hurry_in(&self.domain, head, run),
                false => defer_lazy_in(&self.domain, head, run),
            }
        }
    }

    /// Takes and retires the batches that were asked for.
    fn seal_asked(&self) {
        let mut sealed = Vec::new();
        let mut unused = Vec::new();
        self.store.entries.magazines().asked(&mut |mine| {
            unused.push(mine.take_free());
            let (full, owned) = mine.seal();
            sealed.push((Garbage::Entries(full), owned));
        });
        self.store.overflows.magazines().asked(&mut |mine| {
            sealed.push((Garbage::Overflows(mine.seal().0), 0));
        });
        for (garbage, owned) in sealed {
            self.retire(garbage, owned, true);
        }
        for free in unused {
            // SAFETY: they were free, in a list that this thread has taken.
            unsafe { self.store.entries.give_back(free) };
        }
    }

    /// Asks for the lists. Returns whether there are any.
    fn ask(&self) -> bool {
        let store = &self.store;
        store.entries.magazines().ask() | store.overflows.magazines().ask()
    }

    fn any_gone(&self) -> bool {
        let store = &self.store;
        store.entries.magazines().any_gone() || store.overflows.magazines().any_gone()
    }
}

/// The callback.
///
/// # Safety
/// The head is that of a sealer, of which this takes a reference; the gate leads to a core of this type.
unsafe fn run<K: Key, V: Stored, S: Hashes, D: Handle + 'static>(head: NonNull<Head>) {
    // SAFETY: the caller's promise: the head is the first field.
    let sealer = unsafe { Arc::from_raw(head.as_ptr().cast::<Sealer>().cast_const()) };
    let disarm = Disarm(&sealer);
    let mut progress = Progress::default();
    let mut sealed = false;
    loop {
        let gate = lock(&sealer.gate);
        let Some(core) = *gate else { return };
        // SAFETY: the core is there while the gate is held open.
        let core = unsafe { core.cast::<Core<K, V, S, D>>().as_ref() };
        let guard = Guard::new_in(core.domain.clone());
        if !sealed && sealer.asked.swap(false, Ordering::Relaxed) {
            core.seal_asked();
            sealed = true;
        }
        let stepped = catch_unwind(AssertUnwindSafe(|| core.step(&mut progress)));
        if let Ok(true) = stepped {
            drop((guard, gate));
            continue;
        }
        if !sealed && core.ask() {
            sealer.asked.store(true, Ordering::Relaxed);
            std::mem::forget(disarm);
            core.queue(true);
        } else {
            drop(disarm);
            // Also if a `Hash` has panicked: it may be better next time.
            if core.any_gone() || core.table().next().is_some() {
                core.arm();
            }
        }
        return go_on(stepped.map(drop)); // the library reports it
    }
}
