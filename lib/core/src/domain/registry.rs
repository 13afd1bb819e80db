//! Allocation of domains to handles, and the domains in the child of a fork.
//!
//! This code waits for no lock and uses no allocator: the first use of a domain may be in a signal handler
//! that has interrupted either. New domains come from the [`arena`], and a compare-and-swap puts them at the
//! front of a list; of the abandoned ones, only those whose locks are free are taken over.

use crate::domain::env::Env;
use crate::domain::life::Domain;
use crate::domain::settings::Settings;
use crate::domain::state::State;
use crate::prim::{Ordering, arena};
use crate::queue::meter::{SRCUS, UNNAMED};
use crate::queue::per_thread::Queue;
use crate::reader::counted::Counted;
#[cfg(any(test, feature = "foreign"))]
use crate::reader::foreign::{ForeignReaders, ForeignWords};
use crate::reader::records::ReaderRecords;
use crate::reader::set::DomainReaders;
use crate::reader::threads::Slot;

impl Domain {
    /// A domain of threads for a new owner: an abandoned one, or a new one.
    pub fn found(env: &'static Env) -> &'static Domain {
        Domain::find(env, false)
    }

    /// The same with counted readers.
    pub fn found_counted(env: &'static Env) -> &'static Domain {
        Domain::find(env, true)
    }

    fn find(env: &'static Env, counted: bool) -> &'static Domain {
        env.threads.mode.resolve();
        let mut domains = env.registry.domains.iter();
        let left = domains.find(|it| it.readers.counted().is_some() == counted && it.take_over());
        left.unwrap_or_else(|| {
            if !counted {
                let records = DomainReaders::Records(ReaderRecords::new());
                return Domain::make(env, records, UNNAMED);
            }
            let domains = env.registry.domains.iter();
            let others = domains.filter(|it| it.readers.counted().is_some()).count();
            let counted = DomainReaders::Counted(Counted::new());
            Domain::make(env, counted, SRCUS + others as u32)
        })
    }

    /// A domain of readers that `words` describes. It is never dropped.
    #[cfg(any(test, feature = "foreign"))]
    pub fn foreign(env: &'static Env, words: &'static dyn ForeignWords) -> &'static Domain {
        env.threads.mode.resolve();
        let readers = DomainReaders::Foreign(ForeignReaders::new(words));
        Domain::make(env, readers, UNNAMED)
    }

    fn make(env: &'static Env, readers: DomainReaders, in_telemetry: u32) -> &'static Domain {
        const { assert!(align_of::<Domain>() <= arena::ALIGN) };
        let Some(place) = arena::zeroed(size_of::<Domain>()) else {
            std::alloc::handle_alloc_error(std::alloc::Layout::new::<Domain>());
        };
        let place = place.cast::<Domain>().as_ptr();
        let registry = &env.registry;
        let number = registry.made.fetch_add(1, Ordering::Relaxed) as u32;
        let settings = Settings::new(&State::config(), in_telemetry);
        // SAFETY: fresh memory of that size and alignment, never freed.
        let new: &'static Domain = unsafe {
            place.write(Domain::new(number, readers, settings, env));
            &*place
        };
        registry.domains.add(new);
        new
    }

    /// In the child of a fork: only sections of the thread that has `own` remain open, and those of an `Srcu`
    /// that may have been sent; and only known queues remain, none of them attached. `parked`: this thread
    /// holds the lock of the settings; `None` if a thread of the parent created the domain after *prepare*
    /// had walked the list. The identity and the handles are kept: those of other threads are lost.
    ///
    /// # Safety
    /// The calling thread is the only one of the process, and has no other guard of the settings.
    #[cfg(feature = "fork")]
    pub unsafe fn forked(
        &self,
        parked: Option<&mut Settings>,
        own: Option<&Slot>,
        is_known: impl Fn(&Queue) -> bool,
    ) {
        if parked.is_none() {
            // SAFETY: the caller's promise.
            unsafe { self.settings.renew() };
        }
        self.readers.forked(&self.env().local(), own, is_known);
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests {
    use crate::testing::program;

    #[test]
    fn each_owner_has_an_identity_and_each_domain_a_number() {
        let env = &program().env;
        let [first, second] = [(); 2].map(|()| Domain::found(env));
        let domains: Vec<_> = env.registry.domains.iter().map(|it| it.number).collect();
        assert_eq!(domains, [second.number, first.number]);
        assert_ne!(first.number, second.number);
        let before = first.id();
        assert_ne!(before, second.id());
        first.abandon();
        assert!(
            std::ptr::eq(Domain::found(env), first),
            "the place is used again"
        );
        assert_ne!(first.id(), before);
        let ids = [(); 3].map(|()| env.registry.next_id());
        assert!(ids[0] < ids[1] && ids[1] < ids[2] && first.id() < ids[0]);
    }

    use super::*;
}
