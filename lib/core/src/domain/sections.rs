//! Slow paths of sections in a domain of the program: a thread that reads in another domain than the last
//! time, or for the first time; fenced mode; unregistered readers; a waiting driver.

use crate::domain::life::Domain;
use crate::prim::Ordering;
use crate::queue::per_thread::Queue;
use crate::reader::local::Local;
use crate::reader::records::{ReaderRecord, ReaderRecords};
use crate::reader::set::DomainReaders;
use crate::reader::word::{self, FLAG_CLEAR, Reader};
use crate::reader::words::ReaderWords;

impl Domain {
    /// The records of its threads. (Only methods of domains of threads call this.)
    fn reader_records(&'static self) -> &'static ReaderRecords {
        match &self.readers {
            DomainReaders::Records(records) => records,
            DomainReaders::Threads | DomainReaders::Counted(_) => {
                unreachable!("a domain of threads")
            }
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
            DomainReaders::Counted(counted) => counted.of_slot_if_any(slot.cpu())?.queue.attached(),
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

    /// Ends a section and begins another, if a driver waits for that; returns the new word. Only for an
    /// outermost section.
    #[cfg_attr(feature = "locations", track_caller)]
    #[cold]
    #[inline(never)]
    pub fn repin_slowly(&'static self, local: &Local, reader: &'static Reader) -> &'static Reader {
        self.env().answer_if_asked(local, reader);
        let unregistered = &self.reader_records().unregistered;
        if !ReaderWords::is_in_the_way(reader, unregistered, &local.unregistered_elsewhere) {
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
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests;
