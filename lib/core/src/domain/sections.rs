//! Slow paths of sections, in the process's domain and in the others; ends of threads; notifications from
//! readers that a grace period waits for; the change of the fence mode.
//!
//! A section takes a slow path where a thread reads in another domain than the last time, or for the first
//! time; in fenced mode; without a slot; where a driver waits.

use std::sync::atomic::Ordering::Relaxed;

use quiescent_engine::CpuId;

use crate::domain::env::Env;
use crate::domain::error::InitError;
use crate::domain::life::Domain;
use crate::domain::run;
use crate::domain::state::{Core, State};
use crate::prim::{self, MutexGuard, Ordering, full_fence};
use crate::queue::per_thread::Queue;
use crate::reader::counted::Counted;
use crate::reader::local::Local;
use crate::reader::mode::FenceMode;
use crate::reader::records::ReaderRecords;
use crate::reader::set::DomainReaders;
use crate::reader::table::ReaderRecord;
use crate::reader::threads::Slot;
use crate::reader::word::{self, FLAG_CLEAR, Reader};
use crate::reader::words::ReaderWords;

impl Domain {
    /// The records of its threads. (Only methods of domains of threads call this.)
    fn reader_records(&'static self) -> &'static ReaderRecords {
        match &self.readers {
            DomainReaders::Records(records) => records,
            _ => unreachable!("a domain of threads"),
        }
    }

    /// The calling thread's record here, if it has one; creates none.
    pub fn own_record(&'static self) -> Option<&'static ReaderRecord> {
        if !matches!(self.readers, DomainReaders::Records(_)) {
            return None;
        }
        let slot = self.env().own_slot()?;
        slot.records.record(self.number)
    }

    /// The queue to which the calling thread pushes here without a lock, if there is one. Called when the
    /// thread's noted record belongs to another domain.
    #[inline(never)]
    pub fn attached_queue(&'static self, local: &Local) -> Option<&'static Queue> {
        let slot = self.env().threads.own_slot(local)?;
        let attached = match &self.readers {
            DomainReaders::Threads => return Some(local.queue()),
            DomainReaders::Records(_) => {
                let record = slot.records.record(self.number)?;
                local.note_record(record);
                record.queue.attached()
            }
            others => others.tally_if_any(slot)?.queue.attached(),
        };
        // SAFETY: null, or a queue; queues live forever.
        unsafe { attached.as_ref() }
    }

    /// True if the calling thread is known to be inside a section.
    pub fn is_inside_here(&'static self) -> bool {
        self.env().local().unregistered_elsewhere.count() != 0
            || self
                .own_record()
                .is_some_and(|record| record.words.is_inside())
    }

    /// Opens a section of the calling thread, whose noted record belongs to another domain.
    #[cfg_attr(feature = "locations", track_caller)]
    #[inline(never)]
    pub fn lock_anew(&'static self, local: &Local) -> &'static Reader {
        let slot = self.env().threads.own_slot(local);
        let Some(record) = slot.and_then(|slot| slot.records.record(self.number)) else {
            return self.lock_slowly(local);
        };
        local.note_record(record);
        record.words.lock()
    }

    /// The same for a thread that has not read here before, or cannot use the fast path.
    #[cfg_attr(feature = "locations", track_caller)]
    #[cold]
    #[inline(never)]
    fn lock_slowly(&'static self, local: &Local) -> &'static Reader {
        let inside = local.unregistered_elsewhere.count();
        let slot = self.env().threads.own_slot_or_register(local);
        let record = slot.and_then(|slot| match inside {
            0 => self.reader_records().of_slot(self.record_owner(), slot),
            _ => slot.records.record(self.number),
        });
        let Some(record) = record else {
            return self.lock_unregistered(local);
        };
        local.note_record(record);
        record.words.lock()
    }

    /// A section without a record.
    #[cfg_attr(feature = "locations", track_caller)]
    fn lock_unregistered(&'static self, local: &Local) -> &'static Reader {
        local.note_elsewhere(&self.env().threads.elsewhere);
        let is_registered = || self.own_record().is_some();
        let unregistered = &self.reader_records().unregistered;
        match unregistered.lock(&local.unregistered_elsewhere, is_registered) {
            Some(sink) => sink,
            None => self.lock_anew(local),
        }
    }

    /// Ends a section and begins another, if a driver waits for that or the thread owes destructors; returns
    /// the new word. Only for an outermost section.
    #[cfg_attr(feature = "locations", track_caller)]
    #[cold]
    #[inline(never)]
    pub fn repin_slowly(&'static self, local: &Local, reader: &'static Reader) -> &'static Reader {
        self.env().answer_if_asked(local, reader);
        let unregistered = &self.reader_records().unregistered;
        if !ReaderWords::is_in_the_way(reader, unregistered, &local.unregistered_elsewhere)
            && !reader.is_about_to_settle()
        {
            return reader;
        }
        if word::end(reader) {
            self.unlock_slowly(local, reader);
        }
        self.lock_anew(local)
    }

    /// A section whose word is flagged has ended: a driver waits, or the word is a sink.
    #[cold]
    #[inline(never)]
    pub fn unlock_slowly(&'static self, local: &Local, reader: &'static Reader) {
        self.env().answer_if_asked(local, reader);
        let unregistered = &self.reader_records().unregistered;
        let waited_for = ReaderWords::close(reader, unregistered, &local.unregistered_elsewhere);
        if let Some(reader) = waited_for {
            match self.state_if_any() {
                Some(state) => state.wake_driver(reader),
                None => reader.flag.store(FLAG_CLEAR, Ordering::Release),
            }
        }
        self.env().settle_if_owing(local, reader);
    }
}

/// Rounds in which the C library runs the destructors of pthread keys.
pub(super) const EXIT_ROUNDS: usize = 4;

impl Env {
    /// Closes a section of the process's domain whose word is flagged: a driver waits or asks for a fence, or
    /// the word is a sink.
    pub fn unlock_slowly(&'static self, local: &Local, reader: &'static Reader) {
        self.answer_if_asked(local, reader);
        if let Some(reader) = self.threads.close(local, reader) {
            self.state.wake_driver(reader);
        }
        self.settle_if_owing(local, reader);
    }

    /// A section of this word has ended: its thread does what it was to do at this end.
    fn settle_if_owing(&'static self, local: &Local, reader: &Reader) {
        if !reader.settles() {
            return;
        }
        if local.gives_way.load(Relaxed) {
            local.gives_way.store(false, Relaxed);
            self.state.give_way();
        }
        if let Some(runs) = run::runs_code() {
            (runs.settle)(self, local);
        }
    }

    /// The word is flagged: ends the section and begins another, if it is an outermost one that a driver
    /// waits for, or whose thread owes destructors.
    #[cfg_attr(feature = "locations", track_caller)]
    pub fn repin_slowly(&'static self, local: &Local, reader: &'static Reader) -> &'static Reader {
        self.answer_if_asked(local, reader);
        if !self.threads.is_in_the_way(local, reader) && !reader.is_about_to_settle() {
            return reader;
        }
        if word::end(reader) {
            self.unlock_slowly(local, reader);
        }
        self.threads.lock(local)
    }

    /// Sets the mode, provided that no thread has read.
    pub fn force_mode(&'static self, wanted: FenceMode) -> Result<(), InitError> {
        // One change at a time; and no fork in the middle of one: *prepare* takes this lock.
        let _home = self.state.sweeping();
        let before = self.threads.mode.resolve();
        if before == wanted {
            return Ok(());
        }
        if wanted == FenceMode::Membarrier {
            prim::register_heavy_fence().map_err(|errno| InitError::NoMembarrier { errno })?;
        }
        // Before the domains are listed: what uses a domain that is made meanwhile finds this mode.
        self.threads.mode.begin_change();
        full_fence(); // [MODE-1] [MODE-2]
        // Under the locks of all other domains and with no driver there, so that no sweep and no grace period
        // uses the wrong fence.
        let _sweeps: Vec<_> = self.states().skip(1).map(State::sweeping).collect();
        let cores: Vec<_> = self.states().map(State::lock).collect();
        let busy = |core: &MutexGuard<'_, Core>| core.engine.busy() || core.engine.is_driven();
        let changes = !cores.iter().any(busy) && self.threads.slots.is_empty();
        self.threads.mode.set(if changes { wanted } else { before });
        match changes {
            true => Ok(()),
            false => Err(InitError::AlreadyReading),
        }
    }

    /// The calling thread, which has `slot`, ends. False: a section is still open; call again if possible.
    pub fn leave_thread(&'static self, slot: &'static Slot) -> bool {
        let local = self.local();
        if slot.is_inside_somewhere() {
            let rounds = local.exits.fetch_add(1, Relaxed) + 1;
            return rounds >= EXIT_ROUNDS; // then the slot remains a named holdout forever
        }
        run::forget_debt(&local); // its queues are the next thread's
        #[cfg(any(test, feature = "foreign"))]
        for domain in self.registry.domains.iter() {
            domain.leave_foreign(slot);
        }
        for queue in slot.queues.iter() {
            State::of(queue).leave_queue(queue);
        }
        self.threads.leave(&local, slot);
        true
    }
}

#[cfg(any(test, feature = "foreign"))]
impl Domain {
    /// The calling thread, which has this slot, is no foreign reader here any more. Once this returns, no
    /// scan looks at its word.
    pub fn leave_foreign(&self, slot: &Slot) {
        if let Some(foreign) = self.readers.foreign() {
            foreign.leave(slot.cpu());
            drop(self.state_if_any().map(State::lock)); // a scan that may have found the word is over
        }
    }
}

impl State {
    /// The calling thread's number among the readers, if it is one.
    #[inline]
    pub fn own_cpu(&self, local: &Local) -> Option<CpuId> {
        match &self.domain().readers {
            DomainReaders::Threads | DomainReaders::Foreign(_) => {
                self.env().threads.own_slot(local).map(Slot::cpu)
            }
            DomainReaders::Records(_) => self.domain().own_record().map(|record| record.cpu()),
            DomainReaders::Counted(_) => None,
        }
    }

    /// True if the calling thread is in a section that only this domain's grace periods wait for; of an
    /// `Srcu`, one that ends on this thread.
    pub fn is_inside(&self) -> bool {
        match &self.domain().readers {
            // (What a foreign reader's own code allows, it does itself.)
            DomainReaders::Threads | DomainReaders::Foreign(_) => false,
            DomainReaders::Records(_) => self.domain().is_inside_here(),
            DomainReaders::Counted(counted) => {
                let env = self.env();
                counted.is_inside_here(&env.local(), &env.threads)
            }
        }
    }

    /// Forgets the sections of an `Srcu` that were sent and are open; returns their number.
    ///
    /// The caller guarantees that none of them ends later, that nothing is used that they protect, and that
    /// no such section begins or ends meanwhile.
    pub fn forget_sent(&self) -> u64 {
        let DomainReaders::Counted(counted) = &self.domain().readers else {
            return 0;
        };
        let forgotten = counted.forget_sent();
        for count in [0, 1] {
            if counted.is_flagged(count) {
                self.may_be_empty(counted, count);
            }
        }
        forgotten
    }

    /// A flagged reader has ended its section: clears its flag and wakes the driver, or the worker that waits
    /// for it. Readers call this, possibly in a signal handler: it takes no lock.
    pub fn wake_driver(&self, reader: &Reader) {
        // Both are locked instructions, in this order: [FS-1].
        reader.flag.swap(FLAG_CLEAR, Ordering::AcqRel); // [GR-1]
        self.reader_left();
    }

    /// A reader that a driver or the worker waits for has left its section.
    pub fn reader_left(&self) {
        self.rouse_driver(true);
        self.call_worker_if_interested();
    }

    /// A counted section has ended, and a driver waits for its count: wakes the driver if it was the last
    /// section.
    #[cold]
    #[inline(never)]
    pub fn may_be_empty(&self, counted: &Counted, which: usize) {
        prim::full_fence(); // if two sections end last, one of them sees both ends
        if !counted.is_empty(which) {
            return; // the thread that ends its section later sees the flag
        }
        counted.unflag(which);
        self.reader_left();
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests;
