//! A process that uses the library: `lib/core` on virtual time, and what the core asks of the program it is
//! in.
//!
//! The only file of this crate with `unsafe` code, since the core keeps references to a process for as long
//! as it exists. Here that is until the end of the machine, which frees it when no fiber runs any more.

use quiescent_core_on_virtual::domain::driver::How;
use quiescent_core_on_virtual::domain::enqueue::{self, Terms};
use quiescent_core_on_virtual::domain::env::{Env, Zeros};
use quiescent_core_on_virtual::domain::host::Host;
use quiescent_core_on_virtual::domain::state::State;
use quiescent_core_on_virtual::prim::counters::value;
use quiescent_core_on_virtual::prim::{self, LEAF_SLOTS, keep};
use quiescent_core_on_virtual::queue::chain::Garbage;
use quiescent_core_on_virtual::queue::kind::{CODE, EntryKind, PLAIN};
use quiescent_core_on_virtual::queue::lane::Entry;
use quiescent_core_on_virtual::queue::meter::uncounted;
use quiescent_core_on_virtual::queue::parcel::Parcel;
use quiescent_core_on_virtual::reader::local::{Here, Local};
use quiescent_core_on_virtual::reader::registration::Keeper;
use quiescent_core_on_virtual::reader::threads::Slot;
use quiescent_core_on_virtual::reader::word::{self, Reader};
use quiescent_engine::Config;
use quiescent_engine::credit::Urgency;

use crate::record::counted::Counted;

/// The fiber's cell with the address of what it keeps as a thread.
const CELL_LOCAL: usize = 0;

/// A process, as long as its machine exists.
#[derive(Clone, Copy, Debug)]
pub(super) struct Process(&'static Inner);

#[derive(Debug)]
struct Inner {
    env: Env,
    zeros: Zeros,
}

/// An open section.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenSection(&'static Reader);

impl Process {
    /// A process that has just been started, in the current machine.
    pub fn new(mut config: Config) -> Process {
        config.leaf = LEAF_SLOTS as u32;
        let place = Box::leak(Box::<Inner>::new_uninit()).as_mut_ptr();
        // SAFETY: made here, at the given place, and freed at the end of the machine.
        let inner: &'static Inner = unsafe {
            (&raw mut (*place).zeros).write(Zeros::new());
            let env = &raw mut (*place).env;
            env.write(Env::new(env, config, &*place, uncounted, &(*place).zeros));
            &*place
        };
        let process = Process(inner);
        prim::at_end(move || process.clear());
        // SAFETY: from a box; no fiber runs any more at the end of the machine.
        prim::at_end(move || drop(unsafe { Box::from_raw(place) }));
        let env = process.env();
        env.threads.mode.resolve();
        env.state.lock().engine.set_workers(1);
        process
    }

    fn env(self) -> &'static Env {
        &self.0.env
    }

    fn state(self) -> &'static State {
        &self.env().state
    }

    /// Whether others than its owner free what is retired.
    pub fn set_offload(self, offload: bool) {
        self.0.env.home.set(|it| it.set_offload(offload));
    }

    /// The calling fiber is a thread of this process from now on.
    pub fn enter(self) {
        let env = self.env();
        // SAFETY: they exist until the end of the machine, as what is kept.
        let local = unsafe { Local::new(&raw const env.threads, &raw const env.common) };
        let local: *const Local = keep(Box::new(local));
        prim::tls_set(CELL_LOCAL, local.expose_provenance());
    }

    /// The calling thread ends; its sections are closed.
    pub fn leave(self) {
        if let Some(slot) = self.env().own_slot() {
            let left = self.env().leave_thread(slot);
            debug_assert!(left, "sections are closed before the thread ends");
        }
    }

    /// Registers the calling thread.
    pub fn register(self) {
        let env = self.env();
        let _ = env.threads.own_slot_or_register(&env.local());
    }

    /// The calling thread's number as a reader.
    pub fn slot(self) -> Option<u32> {
        self.env().own_slot().map(Slot::cpu)
    }

    // What threads do.

    /// Opens a section, on the calling thread.
    pub fn lock(self) -> OpenSection {
        let env = self.env();
        OpenSection(env.threads.lock(&env.local()))
    }

    /// Closes it: on the same thread, the innermost first.
    pub fn unlock(self, section: OpenSection) {
        if word::end(section.0) {
            self.env().unlock_slowly(&self.env().local(), section.0);
        }
    }

    /// Waits for a grace period. Not in a section.
    pub fn synchronize(self, expedited: bool) {
        let how = match expedited {
            true => How::EXPEDITED,
            false => How::default(),
        };
        let waited = self.state().synchronize(how);
        waited.expect("a machine refuses nothing");
    }

    /// Waits until everything queued so far is freed or run. Not in a section.
    pub fn barrier(self) {
        let waited = self.state().barrier();
        waited.expect("a machine refuses nothing");
    }

    /// Queues memory, as `retire` does. `large`: the bytes alone may use up the credit.
    pub fn retire(self, object: usize, bytes: u64, large: bool) {
        let queue = self.env().local().queue();
        // SAFETY: the object is a number: there is nothing behind it, and it is in no queue yet.
        unsafe { enqueue::plain(queue, memory(object), bytes, large) };
    }

    /// As `retire_on_worker`.
    pub fn retire_on_worker(self, object: usize, bytes: u64) {
        let queue = self.env().local().queue();
        // SAFETY: as above.
        unsafe { enqueue::only(queue, PLAIN, memory(object), bytes) };
    }

    /// Queues code, as `defer`, `defer_lazy` and `defer_hurry` do.
    pub fn defer(self, object: usize, bytes: u64, urgency: Urgency) {
        let kind = if urgency == Urgency::Lazy {
            &LAZY
        } else {
            &CALLED
        };
        let object = std::ptr::without_provenance_mut(object);
        let what = std::ptr::from_ref(kind).expose_provenance() as u64;
        // SAFETY: a table of this program, whose function takes a number.
        let entry = unsafe { Entry::new(object, what) };
        match urgency {
            Urgency::Hurry => {
                let parcel = Parcel::Entry(CODE, entry, bytes);
                self.state().deliver(parcel, Terms::of(urgency));
            }
            Urgency::Lazy | Urgency::Prompt => {
                enqueue::push_code(self.env().local().queue(), CODE, entry, bytes, urgency);
            }
        }
    }

    /// What the worker's thread does, for ever.
    pub fn serve(self) {
        self.env().serve();
    }

    // What is shown.

    /// What the library has counted.
    pub fn counted(self) -> Counted {
        let counters = &self.state().counters;
        let panics = value(&counters.panics);
        assert_eq!(panics, 0, "what runs as a callback here does not panic");
        let counted = Counted {
            fences_gp: value(&counters.fences_gp),
            fences_flag: value(&counters.fences_flag),
            fences_take: value(&counters.fences_take),
            fences_asked: value(&counters.fences_asked),
            fences_answered: value(&counters.fences_answered),
            fences_issued: self.env().fences.issued(),
            sleeps: value(&counters.sleeps),
            reader_wakeups: value(&counters.reader_wakeups),
            hand_overs: value(&counters.hand_overs),
            refills: prim::refills(),
            helped: value(&counters.helped),
            gave_way: value(&counters.gave_way),
            woken_timer: value(&counters.woken_timer),
            woken_kick: value(&counters.woken_kick),
            worker_passes: value(&counters.worker_passes),
            barriers: value(&counters.barriers),
            ..Counted::default()
        };
        counted.with(&self.state().lock().engine.counts())
    }

    /// The readers that block the grace period in progress.
    pub fn holdouts(self) -> Vec<u32> {
        self.state().lock().engine.holdouts().collect()
    }

    /// Is there a driver, or is the timer set?
    pub fn is_busy(self) -> bool {
        let driven = self.state().lock().engine.is_driven();
        driven || self.env().alarm.is_armed()
    }

    /// Registered threads, and queues of threads.
    #[cfg(test)]
    pub fn sizes(self) -> (u32, usize) {
        let registered = self.env().threads.slots.registered();
        (registered, self.state().shared.others.iter().count())
    }

    /// At the end of the machine queues give their blocks back, whatever is in them.
    fn clear(self) {
        for queue in self.env().states().flat_map(State::queues) {
            let mut garbage = Garbage::new();
            if let Some(mut core) = queue.try_lock() {
                queue.clear(&mut core, &mut garbage);
            }
        }
    }
}

fn memory(object: usize) -> Entry {
    // SAFETY: this host observes what is freed by its number, and frees nothing.
    unsafe { Entry::new(std::ptr::without_provenance_mut(object), 0) }
}

static CALLED: EntryKind = kind(false);
static LAZY: EntryKind = kind(true);

const fn kind(lazy: bool) -> EntryKind {
    EntryKind {
        run: |object| prim::observe_run(object.addr()),
        name: || "code",
        lazy,
        bytes: 0,
    }
}

// SAFETY: each fiber has its own, made with these threads by `enter`.
unsafe impl Keeper for Inner {
    fn local(&self) -> Here {
        let address = prim::tls_get(CELL_LOCAL);
        assert!(address != 0, "a fiber begins with Process::enter");
        // SAFETY: the calling fiber's; only `enter` writes the cell.
        unsafe { Here::new(std::ptr::with_exposed_provenance(address)) }
    }
}

impl Host for Inner {
    fn start_worker(&self) -> bool {
        prim::need_worker();
        true
    }
}
