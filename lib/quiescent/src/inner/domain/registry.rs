//! The domains of the program: how a handle gets one, and what becomes of them in the child of a fork.
//!
//! No lock that is waited for, and no allocator: the first use of a domain may be in a signal handler that has
//! interrupted either. New ones are pieces of the [`arena`](crate::inner::prim::arena), and put at the front of a
//! list with a compare-and-swap; of those that were left, only ones whose locks are free are taken over.

use crate::inner::domain::Domain;
#[cfg(not(quiescent_model))]
use crate::inner::domain::Readers;
use crate::inner::prim::{AtomicPtr, AtomicU64, Ordering, const_new};
#[cfg(not(quiescent_model))]
use crate::inner::{
    domain::{numbers::Numbers, settings::Settings},
    prim::{self, arena},
    queue::per_thread::Queue,
    reader::counted::{Counted, Tally},
    reader::spots::{Spot, Spots},
    reader::threads::Slot,
};

#[cfg(not(quiescent_model))]
use crate::watch::telemetry;

/// Identities so far. (Numbers of domains begin with 1, and so do first identities; later ones are above those.)
static IDS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1 << 32);

/// An identity that no owner has had.
pub(crate) fn next_id() -> u64 {
    IDS.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

/// All domains of the program.
#[derive(Debug)]
pub(crate) struct Registry {
    /// The one made last.
    newest: AtomicPtr<Domain>,
    /// So many have been made.
    #[cfg_attr(
        quiescent_model,
        allow(dead_code, reason = "a model's have numbers of their own")
    )]
    made: AtomicU64,
}

impl Registry {
    const_new! {
        pub(crate) fn new() -> Registry {
            Registry {
                newest: AtomicPtr::new(std::ptr::null_mut()),
                made: AtomicU64::new(0),
            }
        }
    }

    /// Those there are, the newest first.
    pub(crate) fn all(&self) -> impl Iterator<Item = &'static Domain> + use<> {
        // SAFETY: null, or a domain, and those live for ever.
        let at = |place: &AtomicPtr<Domain>| unsafe { place.load(Ordering::Acquire).as_ref() };
        std::iter::successors(at(&self.newest), move |domain| at(&domain.made_before))
    }

    /// Adds one that nobody else knows yet.
    pub(crate) fn add(&self, new: &'static Domain) {
        let place = std::ptr::from_ref(new).cast_mut();
        let mut newest = self.newest.load(Ordering::Relaxed);
        loop {
            new.made_before.store(newest, Ordering::Relaxed);
            let order = (Ordering::AcqRel, Ordering::Relaxed);
            match self
                .newest
                .compare_exchange(newest, place, order.0, order.1)
            {
                Ok(_) => return,
                Err(other) => newest = other,
            }
        }
    }
}

#[cfg(not(quiescent_model))]
impl Domain {
    /// A domain of threads for a new owner: one that was left, or a new one.
    pub(crate) fn found() -> &'static Domain {
        Domain::find(
            |readers| !readers.is_counted(),
            || Readers::Spots(Spots::new()),
        )
    }

    /// The same with counted readers.
    pub(crate) fn found_counted() -> &'static Domain {
        Domain::find(Readers::is_counted, || Readers::Counted(Counted::new()))
    }

    fn find(fits: fn(&Readers) -> bool, new: fn() -> Readers) -> &'static Domain {
        let env = prim::env();
        env.resolve_mode();
        let left = env
            .registry
            .all()
            .find(|it| fits(&it.readers) && it.take_over());
        left.unwrap_or_else(|| Domain::make(new()))
    }

    fn make(readers: Readers) -> &'static Domain {
        const { assert!(align_of::<Domain>() <= arena::ALIGN) };
        let Some(place) = arena::zeroed(size_of::<Domain>()) else {
            std::alloc::handle_alloc_error(std::alloc::Layout::new::<Domain>());
        };
        let place = place.cast::<Domain>().as_ptr();
        let registry = &prim::env().registry;
        let number = registry.made.fetch_add(1, Ordering::Relaxed) as u32;
        let in_telemetry = match readers.is_counted() {
            true => {
                let others = registry.all().filter(|it| it.readers.is_counted());
                telemetry::SRCUS + others.count() as u32
            }
            false => telemetry::UNNAMED,
        };
        // SAFETY: fresh memory of that size and alignment, never given back.
        let new: &'static Domain = unsafe {
            place.write(Domain::new(number, readers, in_telemetry));
            &*place
        };
        registry.add(new);
        new
    }

    /// In the child of a fork: of sections only those of the thread that has `own` are open, and only known queues
    /// are left, none of them attached. `parked`: its settings are locked by this thread; if not, it was made after
    /// *prepare* had looked, by a thread that is not here.
    ///
    /// # Safety
    /// The calling thread is the only one of the process, and has no guard of the settings but this.
    pub(crate) unsafe fn forked(
        &self,
        parked: Option<&mut Settings>,
        own: Option<&Slot>,
        is_known: impl Fn(&Queue) -> bool,
    ) {
        match parked {
            Some(settings) => settings.before = Numbers::ZERO, // counters start again
            // SAFETY: the caller's promise.
            None => unsafe { self.settings.renew() },
        }
        let forget = |[made, attached]: [&AtomicPtr<Queue>; 2]| {
            // SAFETY: null, or a queue, and those live for ever.
            let queue = unsafe { made.load(Ordering::Acquire).as_ref() };
            if queue.is_some_and(|queue| !is_known(queue)) {
                made.store(std::ptr::null_mut(), Ordering::Release);
            }
            attached.store(std::ptr::null_mut(), Ordering::Relaxed);
        };
        match &self.readers {
            Readers::Threads => {}
            Readers::Spots(spots) => {
                spots.forked(own);
                spots.all().map(Spot::queue_places).for_each(forget);
            }
            // Sections of an `Srcu` belong to no thread: those that were open in the parent stay so.
            Readers::Counted(counted) => {
                counted
                    .of_threads()
                    .map(Tally::queue_places)
                    .for_each(forget);
            }
        }
    }
}
