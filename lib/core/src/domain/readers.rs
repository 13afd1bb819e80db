//! Notifications from readers that a grace period waits for.

use quiescent_engine::CpuId;

use crate::domain::state::State;
use crate::prim::{self, Ordering};
use crate::reader::counted::Counted;
use crate::reader::local::Local;
use crate::reader::set::DomainReaders;
use crate::reader::threads::Slot;
use crate::reader::word::{FLAG_CLEAR, Reader};

impl State {
    /// The calling thread's number among the readers, if it is one.
    #[inline]
    pub fn own_cpu(&self) -> Option<CpuId> {
        self.own_cpu_of(&self.env().local())
    }

    /// The same, for a caller that has its [`Local`].
    #[inline]
    pub fn own_cpu_of(&self, local: &Local) -> Option<CpuId> {
        match &self.domain().readers {
            DomainReaders::Threads => self.env().threads.own_slot(local).map(Slot::cpu),
            DomainReaders::Records(_) => self.domain().own_record().map(|record| record.cpu()),
            DomainReaders::Counted(_) => None,
        }
    }

    /// True if the calling thread is in a section that only this domain's grace periods wait for; of an
    /// `Srcu`, one that ends on this thread.
    pub fn is_inside(&self) -> bool {
        match &self.domain().readers {
            DomainReaders::Threads => false,
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
mod tests {
    use crate::domain::life::Domain;
    use crate::testing::program;

    /// The process's domain knows a thread by its slot, another one by its record, and an `Srcu` by nothing.
    #[test]
    fn a_thread_is_known_in_each_domain_by_its_own_number() {
        let program = program();
        let env = &program.env;
        assert_eq!(env.state.own_cpu(), None);
        let reader = program.lock();
        let own = env.own_slot().map(|slot| slot.cpu());
        assert_eq!(env.state.own_cpu(), own);
        program.unlock(reader);
        assert!(own.is_some() || env.state.own_cpu().is_none());
        assert_eq!(
            Domain::found(env).state().own_cpu(),
            None,
            "it has not read there"
        );
        assert_eq!(Domain::found_counted(env).state().own_cpu(), None);
        assert!(!env.state.is_inside() && !Domain::found_counted(env).state().is_inside());
    }
}
