//! The data of a thread: the reader word it uses, the records and the queue it has noted.
//!
//! The host keeps a [`Local`] for each of its threads: the library in a thread-local, a model or a simulation
//! beside its own kind of thread. Nothing here allocates, and nothing has a destructor, so a [`Local`] may be
//! used in signal handlers and in destructors of other thread-locals. The reader word and the queue change by
//! compare-and-swap or by one store: a handler may register its thread in the middle of that thread's
//! registration.

use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crate::queue::common::Common;
use crate::queue::per_thread::Queue;
use crate::reader::counted::{Counted, Tally};
use crate::reader::records::ReaderRecord;
use crate::reader::registration::Threads;
use crate::reader::word::Reader;

/// The data of a thread. Only its thread changes it.
#[derive(Debug)]
pub struct Local {
    reader: AtomicPtr<Reader>,
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
            queue: AtomicPtr::new(queue.cast_mut()),
            counts: AtomicPtr::new(std::ptr::null_mut()),
            tally: AtomicPtr::new(std::ptr::null_mut()),
            record: AtomicPtr::new(nowhere.cast_mut()),
            unregistered: OpenSections(AtomicUsize::new(0)),
            unregistered_elsewhere: OpenSections(AtomicUsize::new(0)),
            counted: CountedHere(AtomicUsize::new(0)),
            exits: AtomicUsize::new(0),
            callbacks: AtomicUsize::new(0),
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
        self.reader
            .compare_exchange(old.cast_mut(), new.cast_mut(), order, order)
            .is_ok()
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

/// Sections on one side of which the next one aborts the process: half of what a side can count.
const MOST_SECTIONS: u64 = 1 << (usize::BITS / 2 - 1);

/// Open sections of a thread without a record; each half of the word counts those on one side of the two
/// counters.
///
/// All its open guards are on the same side, in all domains. Otherwise a grace period that has seen the other
/// side empty would not wait for the guard that is dropped last, and guards may be dropped in any order.
#[derive(Debug)]
pub struct OpenSections(AtomicUsize);

impl OpenSections {
    /// One section on a side.
    fn unit(side: u32) -> usize {
        1 << (side * (usize::BITS / 2))
    }

    /// The value of the word; see [`restore`](OpenSections::restore).
    pub fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Undoes a [`join`](OpenSections::join): restores the word.
    pub fn restore(&self, count: usize) {
        self.0.store(count, Ordering::Relaxed);
    }

    /// Adds a section; returns its side. `newcomers` is the side for a thread that has none open.
    ///
    /// Aborts the process where a side has half the sections that its half of the word can count (32 768 on
    /// 32-bit systems): forgotten guards would make it 0 while guards exist.
    pub fn join(&self, newcomers: u32) -> u32 {
        let side = match self.count() {
            0 => newcomers,
            _ => u32::from(self.sections(0) == 0),
        };
        if self.sections(side) >= MOST_SECTIONS {
            std::process::abort();
        }
        self.restore(self.count() + OpenSections::unit(side));
        side
    }

    /// Removes a section.
    pub fn leave(&self, side: u32) {
        if self.sections(side) != 0 {
            self.restore(self.count() - OpenSections::unit(side));
        }
    }

    /// Open sections on a side.
    pub fn sections(&self, side: u32) -> u64 {
        let sections = self.count() >> (side * (usize::BITS / 2));
        (sections & (OpenSections::unit(1) - 1)) as u64
    }

    /// Open sections on both sides.
    pub fn all(&self) -> u64 {
        self.sections(0) + self.sections(1)
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

#[cfg(all(test, not(quiescent_model)))]
mod tests {
    use super::{MOST_SECTIONS, OpenSections};
    use crate::reader::records::ReaderRecords;
    use crate::testing::{program, queue};
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn forgotten_sections_without_a_slot_end_the_process_before_their_count_is_zero() {
        for side in [0, 1] {
            let sections = (MOST_SECTIONS - 1) as usize * OpenSections::unit(side);
            let unregistered = OpenSections(AtomicUsize::new(sections));
            assert_eq!(unregistered.join(side), side);
            assert_eq!(unregistered.sections(side), MOST_SECTIONS);
            assert_eq!(unregistered.sections(1 - side), 0);
            let name = "reader::local::tests::\
                forgotten_sections_without_a_slot_end_the_process_before_their_count_is_zero";
            crate::testing::aborts(name, || {
                unregistered.join(side);
            });
        }
    }

    #[test]
    fn a_thread_notes_a_record_and_in_a_child_it_has_no_queue() {
        let program = program();
        let local = program.env.local();
        let domain = program.domain().record_owner();
        program.unlock(program.lock());
        let slot = program.env.own_slot().expect("registered");
        let records: &'static ReaderRecords = Box::leak(Box::new(ReaderRecords::new()));
        let record = records.of_slot(domain, slot).expect("memory");
        assert!(local.noted_record(domain.place).is_none());
        local.note_record(record);
        let noted = local.noted_record(domain.place);
        assert!(noted.is_some_and(|noted| std::ptr::eq(noted, record)));
        local.forget_notes(&program.env.threads.nowhere);
        assert!(local.noted_record(domain.place).is_none());
        let other = queue(1);
        local.set_queue(other);
        assert!(std::ptr::eq(local.queue(), other));
        local.forked(&program.env.common.dummy);
        assert!(local.queue().is_dummy());
    }
}
