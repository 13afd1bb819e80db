//! The data of a thread: the reader word it uses, the records and the queue it has noted.
//!
//! The host keeps a [`Local`] for each of its threads: the library in a thread-local, a model or a simulation
//! beside its own kind of thread. Nothing here allocates, and nothing has a destructor, so a [`Local`] may be
//! used in signal handlers and in destructors of other thread-locals. The reader word and the queue change by
//! compare-and-swap or by one store: a handler may register its thread in the middle of that thread's
//! registration.

use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use crate::queue::common::Common;
use crate::queue::per_thread::{NOTHING_OWED, Queue};
use crate::reader::counted::Counted;
use crate::reader::registration::Threads;
use crate::reader::table::ReaderRecord;
use crate::reader::tally::Tally;
use crate::reader::unregistered::OpenSections;
use crate::reader::word::Reader;

/// The largest debt that is counted.
const MOST_OWED: i32 = i32::MAX / 2;

/// The data of a thread. Only its thread changes it.
#[derive(Debug)]
pub struct Local {
    reader: AtomicPtr<Reader>,
    /// The host's own copy of `reader`, or null.
    copy: AtomicPtr<AtomicPtr<Reader>>,
    queue: AtomicPtr<Queue>,
    counts: AtomicPtr<Counted>,
    tally: AtomicPtr<Tally>,
    record: AtomicPtr<ReaderRecord>,
    /// Open sections as an unregistered reader of the process's domain.
    pub unregistered: OpenSections,
    /// The same in all domains of the program.
    pub unregistered_elsewhere: OpenSections,
    /// The same in all `Srcu`s: those that end on this thread.
    pub counted: CountedHere,
    /// Number of times that the exit hook found an open section.
    pub exits: AtomicUsize,
    /// Number of nested callbacks that the thread is running.
    callbacks: AtomicUsize,
    /// The queues out of which the thread is to run destructors when its sections are over: a list.
    owing: AtomicPtr<Queue>,
    /// It is to yield its CPU when its sections are over.
    pub gives_way: AtomicBool,
}

impl Local {
    /// The data of a thread that has not used the library yet.
    ///
    /// # Safety
    /// `threads` and `common` live forever, and are complete before any other method is called.
    pub const unsafe fn new(threads: *const Threads, common: *const Common) -> Local {
        // SAFETY: addresses inside the places that the caller promises; nothing is read.
        let (dummy, nowhere, queue) = unsafe {
            (
                &raw const (*threads).dummy,
                &raw const (*threads).nowhere,
                &raw const (*common).dummy,
            )
        };
        Local {
            reader: AtomicPtr::new(dummy.cast_mut()),
            copy: AtomicPtr::new(std::ptr::null_mut()),
            queue: AtomicPtr::new(queue.cast_mut()),
            counts: AtomicPtr::new(std::ptr::null_mut()),
            tally: AtomicPtr::new(std::ptr::null_mut()),
            record: AtomicPtr::new(nowhere.cast_mut()),
            unregistered: OpenSections::new(),
            unregistered_elsewhere: OpenSections::new(),
            counted: CountedHere(AtomicUsize::new(0)),
            exits: AtomicUsize::new(0),
            callbacks: AtomicUsize::new(0),
            owing: AtomicPtr::new(std::ptr::null_mut()),
            gives_way: AtomicBool::new(false),
        }
    }

    /// The reader word this thread uses: the dummy's, while it has no slot.
    #[inline(always)]
    pub fn reader(&self) -> &'static Reader {
        // The field is a raw pointer, not a reference: the niche of a reference would cost a null check.
        let reader = self.reader.load(Ordering::Relaxed);
        // SAFETY: the pointer is the dummy's or a slot's, and both live forever.
        unsafe { &*reader }
    }

    /// Makes `new` this thread's reader word if it still is `old`; atomic with respect to handlers.
    pub fn swap_reader(&self, old: &'static Reader, new: &'static Reader) -> bool {
        let order = Ordering::Relaxed;
        let (old, new) = (std::ptr::from_ref(old), std::ptr::from_ref(new));
        let swapped = self
            .reader
            .compare_exchange(old.cast_mut(), new.cast_mut(), order, order)
            .is_ok();
        // SAFETY: null, or the place that `copy_to` was promised.
        if let (true, Some(copy)) = (swapped, unsafe { self.copy.load(order).as_ref() }) {
            // Nothing to do if it has another value: it is the host's, or a handler's that registered anew.
            let _ = copy.compare_exchange(old.cast_mut(), new.cast_mut(), order, order);
        }
        swapped
    }

    /// A host whose sections are inlined in another language keeps the address of the thread's word in a
    /// thread-local of its own. From now on that place changes with the word, if it has the word's address.
    ///
    /// # Safety
    /// The place belongs to the calling thread, and is there until that thread ends.
    pub unsafe fn copy_to(&self, place: *const AtomicPtr<Reader>) {
        self.copy.store(place.cast_mut(), Ordering::Relaxed);
    }

    /// The queue this thread pushes to in the process's domain.
    #[inline(always)]
    pub fn queue(&self) -> &'static Queue {
        let queue = self.queue.load(Ordering::Relaxed);
        // SAFETY: the dummy's, or a slot's; both live forever.
        unsafe { &*queue }
    }

    /// Makes `queue` the queue that the thread pushes to.
    pub fn set_queue(&self, queue: &'static Queue) {
        let queue = std::ptr::from_ref(queue).cast_mut();
        self.queue.store(queue, Ordering::Relaxed);
    }

    /// In the child of a fork, on its thread: it has no queue before its next push. The thread goes on where
    /// it was, in its sections and callbacks.
    #[cfg(feature = "fork")]
    pub fn forked(&self, dummy: &'static Queue) {
        self.set_queue(dummy);
        self.owing.store(std::ptr::null_mut(), Ordering::Relaxed);
    }

    /// The thread is to run so many destructors more out of `queue`, its own, when its sections are over.
    /// True if these are enough now: then the queue is in the list.
    #[inline(always)]
    pub fn owe(&self, queue: &'static Queue, more: u32) -> bool {
        let before = queue.owed.load(Ordering::Relaxed);
        let now = before.wrapping_add(more as i32);
        queue.owed.store(now, Ordering::Relaxed);
        if now < 0 {
            return false;
        }
        if before < 0 {
            let first = self.owing.load(Ordering::Relaxed);
            queue.next_owing.store(first, Ordering::Relaxed);
            let queue = std::ptr::from_ref(queue).cast_mut();
            self.owing.store(queue, Ordering::Relaxed);
        } else if now > MOST_OWED {
            queue.owed.store(MOST_OWED, Ordering::Relaxed);
        }
        true
    }

    /// Takes a queue out of the list, with the number of its destructors.
    pub fn take_owing(&self) -> Option<(&'static Queue, u32)> {
        // SAFETY: null, or a queue; queues live forever.
        let queue: &'static Queue = unsafe { self.owing.load(Ordering::Relaxed).as_ref() }?;
        let next = queue.next_owing.load(Ordering::Relaxed);
        self.owing.store(next, Ordering::Relaxed);
        let owed = queue.owed.load(Ordering::Relaxed);
        queue.owed.store(NOTHING_OWED, Ordering::Relaxed);
        Some((queue, owed.wrapping_sub(NOTHING_OWED).cast_unsigned()))
    }

    /// The word of a section that is open on this thread, if the thread has noted it: the process's, or that
    /// of the domain in which it has read last.
    pub fn noted_section(&self) -> Option<&'static Reader> {
        // SAFETY: a record; records live forever.
        let record: &'static ReaderRecord = unsafe { &*self.record.load(Ordering::Relaxed) };
        let (own, noted) = (self.reader(), &record.words.reader);
        match own.is_plainly_inside() {
            true => Some(own),
            false => noted.is_plainly_inside().then_some(noted),
        }
    }

    /// The tally that the thread has noted, if it belongs to these counts. (The niche of a reference would
    /// cost a null check.)
    #[inline(always)]
    pub fn noted_tally(&self, counts: *const Counted) -> Option<*const Tally> {
        let noted = self.counts.load(Ordering::Relaxed).cast_const();
        std::ptr::eq(noted, counts).then(|| self.tally.load(Ordering::Relaxed).cast_const())
    }

    /// Notes the thread's tally of these counts, in place of others.
    pub fn note_tally(&self, counts: &'static Counted, tally: &'static Tally) {
        let tally = std::ptr::from_ref(tally).cast_mut();
        self.tally.store(tally, Ordering::Relaxed);
        let counts = std::ptr::from_ref(counts).cast_mut();
        self.counts.store(counts, Ordering::Relaxed);
    }

    /// The record that this thread has noted, if it belongs to this domain. One load finds both, so that a
    /// handler may note another one at any instruction.
    #[inline(always)]
    pub fn noted_record(&self, domain: *const ()) -> Option<*const ReaderRecord> {
        let record = self.record.load(Ordering::Relaxed).cast_const();
        // SAFETY: a record; records live forever.
        unsafe { &*record }.is_of(domain).then_some(record)
    }

    /// Notes a record of this thread, in place of another.
    pub fn note_record(&self, record: &'static ReaderRecord) {
        let record = std::ptr::from_ref(record).cast_mut();
        self.record.store(record, Ordering::Relaxed);
    }

    /// Notes that the thread has sections without a record: [`may_run`](Local::may_run) relies on it.
    pub fn note_elsewhere(&self, elsewhere: &'static ReaderRecord) {
        // SAFETY: a record; records live forever.
        if unsafe { &*self.record.load(Ordering::Relaxed) }.is_nowhere() {
            self.note_record(elsewhere);
        }
    }

    /// Clears the noted tally and record: the next thread with the slot continues them.
    pub fn forget_notes(&self, nowhere: &'static ReaderRecord) {
        self.counts.store(std::ptr::null_mut(), Ordering::Relaxed);
        self.note_record(nowhere);
    }

    /// True if the thread runs no callback and is in no section, and has had none in a domain or an `Srcu` of
    /// the program: a fast check, which is false more often than necessary.
    ///
    /// A thread without a slot has the dummy's word, which is not plainly outside. A thread with a slot has
    /// noted a record, or that it has had sections without one.
    #[inline(always)]
    pub fn may_run(&self) -> bool {
        let record = self.record.load(Ordering::Relaxed);
        // SAFETY: a record; records live forever.
        self.reader().is_plainly_outside()
            && !self.in_callback()
            && unsafe { &*record }.is_nowhere()
    }

    /// True if the thread runs a callback.
    #[inline(always)]
    pub fn in_callback(&self) -> bool {
        self.callbacks.load(Ordering::Relaxed) != 0
    }

    /// A callback begins.
    #[inline(always)]
    pub fn enter_callback(&self) {
        let running = self.callbacks.load(Ordering::Relaxed);
        self.callbacks.store(running + 1, Ordering::Relaxed);
    }

    /// A callback has returned.
    #[inline(always)]
    pub fn leave_callback(&self) {
        let running = self.callbacks.load(Ordering::Relaxed);
        self.callbacks
            .store(running.saturating_sub(1), Ordering::Relaxed);
    }
}

/// Open sections of `Srcu`s that a thread without a tally has to end itself. The largest number stays: then
/// such a section counts as open for ever.
#[derive(Debug)]
pub struct CountedHere(AtomicUsize);

impl CountedHere {
    /// A section begins.
    pub fn enter(&self) {
        let open = self.0.load(Ordering::Relaxed);
        self.0.store(open.saturating_add(1), Ordering::Relaxed);
    }

    /// A section ends.
    pub fn leave(&self) {
        let open = self.0.load(Ordering::Relaxed);
        if open != usize::MAX {
            self.0.store(open - 1, Ordering::Relaxed);
        }
    }

    /// True if one is open.
    pub fn any(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }
}

/// The calling thread's [`Local`]. It stays on its thread.
#[derive(Clone, Copy, Debug)]
pub struct Here(*const Local, PhantomData<*const ()>);

impl Here {
    /// # Safety
    /// `local` belongs to the calling thread, and lives until that thread ends.
    pub unsafe fn new(local: *const Local) -> Here {
        Here(local, PhantomData)
    }
}

impl Deref for Here {
    type Target = Local;

    fn deref(&self) -> &Local {
        // SAFETY: it belongs to the calling thread, as `new` was promised: this value does not leave it.
        unsafe { &*self.0 }
    }
}
