//! A domain: its readers, and the state of what waits for them.
//!
//! ```text
//!   Domain  (small, lives forever)           State  (created at the first use that is not a read)
//!     readers: threads | records | counts      engine under its lock, driver's words
//!     settings, identity                       queues of threads, one shared queue
//!     ─────────────► state                     barrier, tasks, budget level, counters
//! ```
//!
//! The process's domain, a domain of the program and an `Srcu` are this one type. They differ in two points:
//! the place of a thread's reader record ([`DomainReaders`]), and the lifetime: the process's domain lives
//! forever, the others while a handle exists.
//!
//! # Lifetime
//! The memory of a domain is never freed. Dropping the last handle frees what is queued, for which no reader
//! is left, and *abandons* the domain: what the dropping thread may not run is the worker's. Once the domain
//! is at rest and no section is open, the next program that needs a domain takes it over, with a new
//! identity. So a record that a thread has noted, a
//! cookie or a callback never points to freed memory.
//!
//! # Edges
//! `[GR-1]` the state is published (release), then a driver sets a reader's flag (release); a reader that
//! sees the flag (acquire) finds the state and its driver. (The driver does not set a flag again that an
//! earlier driver has left set; then the driver's fence `[GP-2]` stands between the publication of the state
//! and the reader's load of the flag.)
//!
//! Here too: creation of the state, change of settings, drop of the last handle, take-over by
//! another owner.

use quiescent_engine::Lane;

use crate::domain::env::Env;
use crate::domain::settings::{DRAINED, OFFLOAD, OTHERS_RUN, Settings};
use crate::domain::state::State;
use crate::prim::fixed::Fixed;
use crate::prim::linked::{Linked, List};
use crate::prim::{
    self, AtomicPtr, AtomicU32, AtomicU64, MutexGuard, Ordering, RenewableLock, full_fence,
};
use crate::reader::records::RecordOwner;
use crate::reader::set::DomainReaders;
use crate::reader::threads::Slot;

/// The domain has one handle. Each further handle adds 1.
pub const OWNED: u32 = 1;
/// The domain has no handle.
pub const LEFT: u32 = 0;
/// Handles of which the next one aborts the process: half of what can be counted.
const MOST_HANDLES: u32 = u32::MAX / 2;

/// A domain.
#[derive(Debug)]
pub struct Domain {
    pub readers: DomainReaders,
    /// The number of the domain, for tables of records.
    pub number: u32,
    /// Identity: each owner has another number.
    pub id: AtomicU64,
    pub(crate) env: Fixed<Env>,
    /// Number of handles, at most about [`MOST_HANDLES`], or [`LEFT`].
    pub(crate) owner: AtomicU32,
    /// The domain's number in telemetry while it has no name.
    pub place: u32,
    pub settings: RenewableLock<Settings>,
    /// The state; null before the first use, and for the process's domain.
    pub(crate) state: AtomicPtr<State>,
    /// The domains created before this one.
    pub(crate) made_before: List<Domain>,
    /// The guard of the settings' lock while this process forks.
    pub parked: crate::prim::parked::Parked<Settings>,
}

// Guards, cells and cookies refer to a domain and may be used after a panic: every lock ignores poisoning,
// and no code of the program runs under a lock.
impl std::panic::RefUnwindSafe for Domain {}

impl Linked for Domain {
    fn rest(&self) -> &List<Domain> {
        &self.made_before
    }
}

impl Domain {
    const_new! {
        /// # Safety
        /// `env` lives forever.
        pub unsafe fn new(
            number: u32,
            readers: DomainReaders,
            settings: Settings,
            env: *const Env,
        ) -> Domain {
            Domain {
                readers,
                number,
                id: AtomicU64::new(number as u64),
                // SAFETY: the caller's promise.
                env: unsafe { Fixed::new(env) },
                owner: AtomicU32::new(OWNED),
                place: settings.place,
                settings: RenewableLock::new(settings),
                state: AtomicPtr::new(std::ptr::null_mut()),
                made_before: List::new(),
                parked: crate::prim::parked::Parked::new(),
            }
        }
    }

    /// The environment that all domains of the process share.
    #[inline]
    pub fn env(&self) -> &'static Env {
        self.env.get()
    }

    /// This domain, as the owner of its reader records.
    pub fn record_owner(&'static self) -> RecordOwner {
        RecordOwner {
            place: std::ptr::from_ref(self).cast(),
            number: self.number,
        }
    }

    /// The identity, which differs between owners.
    pub fn id(&self) -> u64 {
        self.id.load(Ordering::Relaxed)
    }

    pub fn settings(&self) -> MutexGuard<'_, Settings> {
        self.settings.take()
    }

    /// The state, if there is one.
    pub fn state_if_any(&self) -> Option<&'static State> {
        if self.readers.is_threads() {
            return Some(&self.env().state);
        }
        // SAFETY: null, or a state; states live forever.
        unsafe { self.state.load(Ordering::Acquire).as_ref() } // [GR-1]
    }

    /// In the child of a fork: forgets a state that a thread of the parent was creating.
    pub fn forget_state(&self) {
        self.state.store(std::ptr::null_mut(), Ordering::Relaxed);
    }

    /// Installs a state with a model's policy, before the first use.
    #[cfg(quiescent_model)]
    pub fn set_state(&'static self, config: quiescent_engine::Config) {
        let state = State::leak_with(self, config);
        let place = std::ptr::from_ref(state).cast_mut();
        // SAFETY: from a box, and unused once the execution is over.
        let _ = crate::prim::keep(unsafe { Box::from_raw(place) });
        self.state.store(place, Ordering::Release);
    }

    /// Asks the threads of this slot for a fence, where they read and queue here. (The question has its
    /// number. Those of the process's domain are asked in any case.)
    pub fn ask(&self, slot: &Slot) {
        let attached = match &self.readers {
            DomainReaders::Threads => return,
            DomainReaders::Records(_) => match slot.records.record(self.number) {
                Some(record) => {
                    record.words.reader.ask();
                    record.queue.attached()
                }
                None => return,
            },
            others => match others.tally_if_any(slot) {
                Some(tally) => tally.queue.attached(),
                None => return,
            },
        };
        // SAFETY: null, or a queue; queues live forever.
        if let Some(queue) = unsafe { attached.as_ref() } {
            queue.lower_limits();
        }
    }

    /// Adds a handle. Aborts the process at 2^31 handles: forgotten clones would make the count 0 while
    /// handles exist, and another owner would take the domain over. (Between the addition and the abort other
    /// threads may add handles: fewer than the other half of the range.)
    pub fn retain(&self) {
        if self.owner.fetch_add(1, Ordering::Relaxed) > MOST_HANDLES {
            std::process::abort();
        }
    }

    /// The domain was created in vain, or its last handle is gone. Takes no lock.
    pub fn abandon(&self) {
        self.owner.store(LEFT, Ordering::Release);
    }

    /// Callbacks and objects that are queued or running, and their bytes.
    pub fn held(&self) -> (u64, u64) {
        self.state_if_any().map_or((0, 0), State::held)
    }

    /// True if the last handle is gone, and something queued is not. No reader holds it up; what a forgotten
    /// guard holds for ever does not count.
    pub fn is_left_with_work(&self) -> bool {
        self.owner.load(Ordering::Acquire) == LEFT && self.held().0 > 0 && !self.readers.is_inside()
    }
}

impl Domain {
    /// The state; creates it if there is none.
    pub fn state(&'static self) -> &'static State {
        match self.state_if_any() {
            Some(state) => state,
            None => self.make_state(),
        }
    }

    #[cold]
    fn make_state(&'static self) -> &'static State {
        let new = State::leak(self);
        // A state is complete when others see it; also in the child of a fork, which waits for this lock.
        let settings = self.settings();
        if let Some(first) = self.state_if_any() {
            drop(settings);
            // SAFETY: created above, and not published.
            drop(unsafe { Box::from_raw(std::ptr::from_ref(new).cast_mut()) });
            return first;
        }
        new.apply(&settings);
        let place = std::ptr::from_ref(new).cast_mut();
        self.state.store(place, Ordering::Release); // [GR-1]
        self.env().registry.states.add(new);
        full_fence(); // [MODE-2]
        new
    }

    /// Changes the settings, and passes them to the engine, if there is one.
    pub fn set(&'static self, change: impl FnOnce(&mut Settings)) {
        let mut settings = self.settings();
        change(&mut settings);
        // Under the lock, so that the engine gets two changes in their order.
        let state = self.state_if_any();
        let kick = state.map(|state| (state, state.apply(&settings)));
        drop(settings);
        if let Some((state, kick)) = kick {
            state.settings_changed(kick);
        }
    }

    /// The number of handles besides the caller's. `[HND-1]`
    pub fn other_handles(&self) -> u32 {
        self.owner.load(Ordering::Acquire) - OWNED // [HND-1]
    }

    /// Drops a handle. With the last one this thread frees what is queued, and runs what owners run, as far
    /// as it may here; the worker runs the rest, and then the next owner may take the domain. The count
    /// reaches zero only after what is left was handed over.
    #[inline(never)] // so that the drop of a guard that owns a handle stays small
    pub fn drop_handle(&'static self) {
        let mut now = self.owner.load(Ordering::Acquire); // [HND-1]
        while now != OWNED {
            let order = (Ordering::AcqRel, Ordering::Acquire); // [HND-1]
            match (self.owner).compare_exchange(now, now - 1, order.0, order.1) {
                Ok(_) => return,
                Err(other) => now = other,
            }
        }
        let flags = self.settings().flags;
        self.set(|settings| *settings = Settings::new(&State::config(), self.place));
        if let Some(state) = self.state_if_any() {
            state.free_what_is_left(flags);
        }
        self.hand_over();
        self.abandon();
    }

    /// Takes the domain over for the caller, if it was abandoned and is at rest. Waits for no lock: the
    /// caller may be a signal handler.
    #[cfg(not(quiescent_model))]
    pub(super) fn take_over(&self) -> bool {
        if self.owner.load(Ordering::Acquire) != LEFT {
            return false;
        }
        let Some(_settings) = self.settings.try_take() else {
            return false;
        };
        let state = self.state_if_any();
        // A section that never ends (its guard was forgotten) would block the new owner.
        if self.readers.is_inside() || !state.is_none_or(State::is_at_rest) {
            return false;
        }
        let core = state.map(State::try_lock);
        if let Some(None) = core {
            return false;
        }
        let order = (Ordering::AcqRel, Ordering::Relaxed);
        let owner = &self.owner;
        let taken = owner
            .compare_exchange(LEFT, OWNED, order.0, order.1)
            .is_ok();
        if taken {
            if let (Some(state), Some(Some(mut core))) = (state, core) {
                state.counters.reset();
                core.engine.reset_counts();
            }
            self.id
                .store(self.env().registry.next_id(), Ordering::Release);
        }
        taken
    }
}

impl State {
    /// The last handle is being dropped: every guard had one or borrowed one, so no reader is left but
    /// forgotten guards, whose references are gone. Frees memory, and runs destructors that owners run, as
    /// these flags of the domain say; not inside a section, where they might take a lock whose holder waits
    /// for that.
    fn free_what_is_left(&'static self, flags: u32) {
        let env = self.env();
        let local = env.local();
        let by_others = flags & OTHERS_RUN != 0 || env.threads.in_any_section(&local);
        let code: &[Lane] = if by_others { &[] } else { &[Lane::Own] };
        if flags & OFFLOAD == 0 {
            // SAFETY: as above.
            unsafe { self.free_now(code, false) };
        }
    }

    /// Applies settings. True: the worker, or a sleeping driver, has to check again.
    pub fn apply(&'static self, settings: &Settings) -> bool {
        let drained = settings.flags & DRAINED != 0;
        self.flags.store(settings.flags, Ordering::Relaxed);
        self.set_place(settings.place);
        let mut core = self.lock();
        let defer = core.engine.config().defer;
        let before = (defer.lazy_ns, defer.prompt_ns, defer.drained);
        if before != (settings.lazy_ns, settings.prompt_ns, drained) {
            core.due_from = prim::now_ns(); // what is due by these, and was not
            core.engine
                .set_flush_times(settings.lazy_ns, settings.prompt_ns);
            core.engine.set_drained(drained);
        }
        let asleep = core.engine.set_stall_ns(settings.stall_ns);
        let over = core
            .engine
            .set_budget(settings.budget_bytes, settings.budget_count);
        self.show_level(&core);
        asleep | over
    }

    /// Sets whether other threads reclaim what this thread retires; `None`: the domain's setting.
    pub fn offload_thread(&'static self, offload: Option<bool>) {
        if let Some(queue) = self.own_queue_or_new() {
            let mut core = queue.lock();
            core.offload = offload;
            queue.ask_soon(); // its next push applies it
        }
    }

    /// Called after a change of settings: moves deadlines; owners apply the rest at their next push. `look`:
    /// a sleeping driver may have new work, too.
    pub fn settings_changed(&'static self, look: bool) {
        let mut earliest: Option<u64> = None;
        for queue in self.queues() {
            let mut core = queue.lock();
            queue.ask_soon();
            let now = prim::now_ns();
            let arm = core.cpu.retime(&mut self.lock().engine, now);
            earliest = arm.or(earliest); // each is earlier than those before
        }
        if let Some(deadline) = earliest {
            self.arm_alarm(deadline);
        }
        if look {
            self.rouse_driver(false);
            if self.held().0 > 0 {
                self.kick_worker(); // the budget may be exceeded now
            }
        }
        self.call_worker_if_interested(); // a stall may be due earlier
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests {
    use super::*;

    #[test]
    fn a_state_that_is_forgotten_is_gone() {
        let domain = crate::testing::program().domain();
        assert!(domain.state_if_any().is_none());
        let first = domain.state();
        assert!(
            domain
                .state_if_any()
                .is_some_and(|it| std::ptr::eq(it, first))
        );
        domain.forget_state();
        assert!(domain.state_if_any().is_none());
    }

    #[test]
    fn forgotten_handles_end_the_process_before_their_count_is_zero() {
        let domain = crate::testing::program().domain();
        domain.owner.store(MOST_HANDLES, Ordering::Relaxed);
        domain.retain();
        assert_eq!(domain.owner.load(Ordering::Relaxed), MOST_HANDLES + 1);
        let name =
            "domain::life::tests::forgotten_handles_end_the_process_before_their_count_is_zero";
        crate::testing::aborts(name, || domain.retain());
    }

    #[test]
    fn sizes() {
        assert!(size_of::<Domain>() <= 1024, "{}", size_of::<Domain>());
        assert!(size_of::<State>() <= 6144, "{}", size_of::<State>());
    }

    use crate::testing::program;

    /// A thread that makes a state waits for the settings before others see it: they may be in the child of a
    /// fork, where that thread does not come back.
    #[test]
    fn a_state_is_not_seen_before_it_has_its_settings() {
        crate::needs!(linux);
        let domain = Domain::found(&program().env);
        domain.set(|settings| settings.budget_count = 7);
        let settings = domain.settings();
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let makes = scope.spawn(move || {
                sender
                    .send(crate::prim::thread_id())
                    .expect("the test waits");
                domain.state().lock().engine.budget().count
            });
            let thread = receiver.recv().expect("it starts");
            crate::testing::until_asleep(thread);
            assert!(domain.state_if_any().is_none() && !makes.is_finished());
            drop(settings);
            assert_eq!(makes.join().expect("no panic"), 7);
        });
        assert!(domain.state_if_any().is_some());
    }
}
