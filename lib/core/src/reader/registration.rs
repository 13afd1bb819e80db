//! Registered threads: how a thread gets a slot, and slow paths of sections in the process's domain.
//!
//! # Fence mode
//! Decided once, at start-up: `membarrier(2)` if the process can register for it, else readers execute
//! fences. The mode can be forced while no thread has read. A thread that registers while the mode changes
//! loads it again after its claim `[MODE-1]`: claim, full fence, load of the mode; the changer stores that
//! the mode changes, full fence, checks for claims. One of them sees the other. While it changes, readers
//! execute fences, and updaters have theirs executed as well, since it may stay as it was. A refusal *later*
//! (a sandbox entered after start) is a named error: readers without fences exist then, and this library has
//! no other means that reaches all of them.

use crate::prim::counters::{Counter, count};
use crate::queue::per_thread::Queue;
use crate::reader::local::{Here, Local};
use crate::reader::mode::Mode;
use crate::reader::table::ReaderRecord;
use crate::reader::threads::{Slot, SlotLeaves, Slots};
use crate::reader::word::{Reader, begin};
use crate::reader::words::ReaderWords;

/// Keeps the [`Local`]s of threads.
///
/// # Safety
/// [`local`](Keeper::local) returns the calling thread's own, whose `Threads` are those that have this
/// keeper.
pub unsafe trait Keeper: Sync {
    /// The calling thread's local.
    fn local(&self) -> Here;

    /// The calling thread has this slot, and must release it when it ends. The default is for hosts that see
    /// to that themselves.
    fn registered(&self, _slot: &'static Slot) {}

    /// The calling thread would not release a slot any more: its end has begun.
    fn is_over(&self) -> bool {
        false
    }
}

// Not a supertrait (see `Host`).
impl std::fmt::Debug for dyn Keeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keeper")
    }
}

/// The threads of a process, as readers.
#[derive(Debug)]
pub struct Threads {
    /// The word of every thread without a slot.
    pub dummy: Reader,
    /// A record of no domain: noted by threads without a noted record.
    pub nowhere: ReaderRecord,
    /// The same: noted by threads that have had sections without a record.
    pub elsewhere: ReaderRecord,
    pub mode: Mode,
    pub slots: Slots,
    /// Number of sections of threads that found no slot.
    pub unregistered: Counter,
    keeper: &'static dyn Keeper,
}

impl Threads {
    const_new! {
        pub fn new(keeper: &'static dyn Keeper, all: &'static SlotLeaves) -> Threads {
            Threads {
                dummy: Reader::new_dummy(),
                nowhere: ReaderRecord::nowhere(),
                elsewhere: ReaderRecord::elsewhere(),
                mode: Mode::new(),
                slots: Slots::new(all),
                unregistered: Counter::new(0),
                keeper,
            }
        }
    }

    /// The calling thread's local.
    pub fn local(&self) -> Here {
        self.keeper.local()
    }

    /// True for the word of threads without a slot.
    #[inline(always)]
    pub fn is_dummy(&self, reader: &'static Reader) -> bool {
        std::ptr::eq(reader, &raw const self.dummy)
    }

    /// The calling thread's slot; registers the thread if it has none. `None`: no slot is available, or the
    /// thread is an unregistered reader inside a section: a grace period in flight would not wait for its
    /// sections in a new slot.
    ///
    /// Idempotent under re-entry by a signal handler at any instruction: the first that stores the thread's
    /// word wins, the other releases its claim.
    pub fn own_slot_or_register(&'static self, local: &Local) -> Option<&'static Slot> {
        if let Some(slot) = self.own_slot(local) {
            return Some(slot);
        }
        self.mode.resolve();
        let outside = local.unregistered.count() == 0
            && local.unregistered_elsewhere.count() == 0
            && !self.keeper.is_over();
        let Some(slot) = outside.then(|| self.slots.claim()).flatten() else {
            count(&self.unregistered);
            return None;
        };
        // After the claim and its fence: [MODE-1].
        slot.set_fenced(self.mode.threads_fence());
        if !local.swap_reader(&self.dummy, &slot.words.reader) {
            self.slots.release(slot);
        }
        let own = self.own_slot(local);
        if let Some(own) = own {
            self.keeper.registered(own);
        }
        own
    }

    /// In the child of a fork: only the thread that has `own` remains, and only the queues that `keep`
    /// accepts.
    #[cfg(feature = "fork")]
    pub fn forked(&self, local: &Local, own: Option<&Slot>, keep: impl Fn(&Queue) -> bool) {
        let open = [0, 1].map(|side| local.unregistered.sections(side));
        self.slots.forked(open, own, keep);
        self.unregistered
            .store(0, std::sync::atomic::Ordering::Relaxed);
    }

    /// The calling thread's slot, if it has one.
    #[inline]
    pub fn own_slot(&self, local: &Local) -> Option<&'static Slot> {
        let reader = local.reader();
        // SAFETY: a local has the dummy, or the word of its slot.
        (!self.is_dummy(reader)).then(|| unsafe { Slot::of(reader) })
    }

    /// The calling thread releases its slot.
    pub fn leave(&'static self, local: &Local, slot: &'static Slot) {
        // First clears what the thread has noted, so that a handler that arrives now registers anew.
        local.swap_reader(&slot.words.reader, &self.dummy);
        local.forget_notes(&self.nowhere);
        self.slots.release(slot);
    }

    /// Opens a section and returns the word that [`end`](crate::reader::word::end) closes.
    #[cfg_attr(feature = "locations", track_caller)]
    #[inline]
    pub fn lock(&'static self, local: &Local) -> &'static Reader {
        let reader = local.reader();
        match begin(reader) {
            true => reader,
            false => self.lock_slowly(local),
        }
    }

    /// The slow path: not registered, or nested too deeply.
    #[cfg_attr(feature = "locations", track_caller)]
    #[cold]
    #[inline(never)]
    pub fn lock_slowly(&'static self, local: &Local) -> &'static Reader {
        let reader = local.reader();
        if !self.is_dummy(reader) {
            // SAFETY: a local has the dummy, or the word of its slot.
            return unsafe { Slot::of(reader) }.words.lock_overflow();
        }
        match self.own_slot_or_register(local) {
            Some(_) => self.lock(local),
            None => self.lock_unregistered(local),
        }
    }

    /// Without a slot: uses one of two shared counters, with locked instructions.
    #[cfg_attr(feature = "locations", track_caller)]
    fn lock_unregistered(&'static self, local: &Local) -> &'static Reader {
        let is_registered = || self.own_slot(local).is_some();
        let unregistered = &self.slots.unregistered;
        match unregistered.lock(&local.unregistered, is_registered) {
            Some(sink) => sink,
            None => self.lock(local),
        }
    }

    /// A section was closed whose word is flagged: a driver waits for this reader, or the word is a sink.
    /// Returns the reader that a driver waits for, if it is outside now.
    pub fn close(&'static self, local: &Local, reader: &'static Reader) -> Option<&'static Reader> {
        ReaderWords::close(reader, &self.slots.unregistered, &local.unregistered)
    }

    /// True if a driver waits for the section with this flagged word, and it is the only section of its
    /// thread.
    pub fn is_in_the_way(&self, local: &Local, reader: &'static Reader) -> bool {
        ReaderWords::is_in_the_way(reader, &self.slots.unregistered, &local.unregistered)
    }

    /// True if the calling thread is inside a section of the process's domain.
    pub fn in_section(&self, local: &Local) -> bool {
        let own = self.own_slot(local);
        own.is_some_and(Slot::is_inside) || local.unregistered.count() != 0
    }

    /// True if the calling thread is inside a section of any domain. O(domains in which it has read).
    pub fn in_any_section(&self, local: &Local) -> bool {
        local.unregistered.count() != 0
            || local.unregistered_elsewhere.count() != 0
            || local.counted.any()
            || self.own_slot(local).is_some_and(Slot::is_inside_somewhere)
    }
}

impl Slot {
    /// Sets whether its thread executes fences, in all domains. The thread has no section yet.
    pub fn set_fenced(&self, fenced: bool) {
        if self.words.reader.is_fenced() != fenced {
            self.words.reader.set_fenced(fenced);
            let records = self.records.all.iter();
            records.for_each(|record| record.words.reader.set_fenced(fenced));
        }
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests;
