//! The child of a fork: a process with one thread, and a copy of everything else.
//!
//! `pthread_atfork` handlers are registered in the start-up constructor. (Not when the first thread comes:
//! that may be in a signal handler or inside an allocator, where nothing may be registered.) They cost a
//! few locks a fork; [`Options::ignore_forks`](crate::Options::ignore_forks) switches them off.
//!
//! # Prepare
//! Takes every lock of the library that is held for a bounded time, in this order:
//!
//! | lock | its holder |
//! |---|---|
//! | turn | is in a fork: several threads may be |
//! | telemetry's | begins to count, or names a domain |
//! | settings of all domains, newest first | changes them, or tells them to an engine |
//! | sweeps of all states, the process's first, then newest first | takes queues over; issues one or two fences |
//! | tasks of all states (two lists) | adds a waiting task to a list, or takes some out |
//! | timer | sets the timer |
//! | of each state its queues, then its core | tells the engine what was queued; steps the engine |
//!
//! It waits for no callback, no grace period, no barrier and no worker: no lock is held through those.
//!
//! *Why this cannot deadlock with other handlers.* Let another library (an allocator) take its lock L in
//! *prepare*. If it registered after us, its handler runs first, and we ask for our locks under L; so
//! nobody who holds one of ours may ask for L. If it registered before us, it asks for L under our locks;
//! so nobody who holds L may ask for one of ours. Both hold: under our locks nothing is allocated, freed
//! or called that is not ours, and what programs may do under their allocator's lock (read) takes none of
//! our locks. Between *prepare* and the end of the other two handlers nothing is allocated or freed
//! either: L may still be taken then. What is thrown away in the child is leaked there.
//!
//! # What the child sees of other threads
//! The kernel copies the memory with all other threads' stores up to some instruction of each (it write
//! protects, then flushes every processor's translations before it lets anybody go on). So a queue's
//! words are those that an owner preempted between two instructions leaves:
//!
//! * an entry whose `end` was not stored was not published: its object is leaked in the child;
//! * an entry below `head` was popped: its owner may have freed it, or not. It counts as freed. (Else it
//!   might be freed twice.) At most two objects a thread are leaked in the child by this;
//! * what others had taken out to free or run it is theirs; the child leaks that memory, and does not run
//!   that code. What the forking thread itself is running goes on in both processes.
//!
//! # The child
//! Its threads are: the caller. Every other slot is free, and its section over, whatever the thread was
//! doing (also a section leaked by a thread that had ended before). All queues are without an owner, the
//! caller's too: it comes for its own again at its next push. Plain memory in them is freed by whoever
//! frees in the child; closures, destructors and intrusive callbacks are forgotten, since the parent runs
//! them, or kept, where [`Options::inherit_callbacks`](crate::Options::inherit_callbacks) asks for that.
//! A grace period in flight waits for its next driver, and no fence is under way. There is no worker, no timer, no descriptor: the
//! first who needs one makes it. Counters start again.

use std::cell::UnsafeCell;
use std::fmt;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::inner::domain::env::Env;
use crate::inner::domain::state::{Core, State};
use crate::inner::prim::{self, CELL_FORKING, Mutex, MutexGuard};
use crate::inner::queue::per_thread::Queue;
use crate::watch::telemetry;

/// What a program wants of a fork.
#[derive(Debug)]
pub(crate) struct Policy {
    ignore: AtomicU32,
    inherit: AtomicU32,
}

impl Policy {
    pub(crate) const fn new() -> Policy {
        Policy {
            ignore: AtomicU32::new(0),
            inherit: AtomicU32::new(0),
        }
    }

    /// Handlers do nothing; the child runs inherited code.
    pub(crate) fn set(&self, ignore: bool, inherit: bool) {
        self.ignore.store(u32::from(ignore), Ordering::Relaxed);
        self.inherit.store(u32::from(inherit), Ordering::Relaxed);
    }
}

/// A place for a guard between two handlers.
pub(crate) struct Parked<T: 'static>(UnsafeCell<Option<MutexGuard<'static, T>>>);

// SAFETY: used by handlers only, which hold `TURN`; the guard never leaves the thread that forks.
unsafe impl<T> Sync for Parked<T> {}
// SAFETY: as above.
unsafe impl<T> Send for Parked<T> {}

impl<T> fmt::Debug for Parked<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Parked")
    }
}

impl<T> Parked<T> {
    pub(crate) const fn new() -> Parked<T> {
        Parked(UnsafeCell::new(None))
    }

    /// # Safety
    /// The caller holds `TURN`.
    unsafe fn is_some(&self) -> bool {
        // SAFETY: nobody else has a reference into the cell meanwhile.
        unsafe { (*self.0.get()).is_some() }
    }

    /// # Safety
    /// The caller holds `TURN`.
    unsafe fn put(&self, guard: MutexGuard<'static, T>) {
        // SAFETY: as above.
        unsafe { *self.0.get() = Some(guard) };
    }

    /// # Safety
    /// The caller holds `TURN`, and nothing else of what is in the place.
    #[allow(clippy::mut_from_ref, reason = "the place is the caller's alone")]
    unsafe fn get(&self) -> Option<&mut MutexGuard<'static, T>> {
        // SAFETY: as above.
        unsafe { (*self.0.get()).as_mut() }
    }

    /// # Safety
    /// The caller holds `TURN`.
    unsafe fn take(&self) -> Option<MutexGuard<'static, T>> {
        // SAFETY: as above.
        unsafe { (*self.0.get()).take() }
    }
}

/// The locks that *prepare* took, but for those that are parked beside what they protect. They are dropped from the
/// first to the last.
struct Held {
    timer: MutexGuard<'static, u64>,
    names: MutexGuard<'static, telemetry::Names>,
    _turn: MutexGuard<'static, ()>,
}

/// Whoever holds this is in a fork.
static TURN: Mutex<()> = Mutex::new(());

/// Written under `TURN`.
struct HeldPlace(UnsafeCell<Option<Held>>);

// SAFETY: used by handlers only, under `TURN`, which is in there as well.
unsafe impl Sync for HeldPlace {}

static HELD: HeldPlace = HeldPlace(UnsafeCell::new(None));

/// Has every fork of this process call us.
pub(crate) fn register() {
    // SAFETY: the handlers are of the type asked for. Refused for want of memory it does nothing; then a
    // child is as one without handlers.
    unsafe { libc::pthread_atfork(Some(prepare), Some(parent), Some(child)) };
}

unsafe extern "C" fn prepare() {
    let env = prim::env();
    if env.forking.ignore.load(Ordering::Relaxed) != 0 {
        return;
    }
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let names = telemetry::names();
    for domain in env.registry.all() {
        // SAFETY: TURN is held.
        unsafe { domain.parked.put(domain.settings()) };
    }
    // SAFETY: TURN is held.
    unsafe {
        for state in env.states() {
            state.parked_sweep.put(state.sweeping());
        }
        for state in swept(env) {
            state.tasks.parked.put(state.tasks.lock());
            state.wakers.parked.put(state.wakers.lock());
        }
    }
    let timer = env.alarm.timer();
    for state in swept(env) {
        lock_queues_and_core(state);
    }
    prim::tls_set(CELL_FORKING, 1);
    // SAFETY: TURN is held.
    unsafe {
        *HELD.0.get() = Some(Held {
            timer,
            names,
            _turn: turn,
        })
    };
}

/// The states whose sweeps were locked: others may be made meanwhile, and then are left alone.
fn swept(env: &'static Env) -> impl Iterator<Item = &'static State> {
    // SAFETY: TURN is held.
    let is_swept = |state: &&State| unsafe { state.parked_sweep.is_some() };
    env.states().filter(is_swept)
}

/// A queue that is made meanwhile has had no call of the engine when this returns: the first one takes
/// the lock of the core.
fn lock_queues_and_core(state: &'static State) {
    loop {
        for queue in state.queues() {
            // SAFETY: TURN is held.
            unsafe {
                if !queue.parked.is_some() {
                    queue.parked.put(queue.lock());
                }
            }
        }
        let core = state.lock();
        // SAFETY: TURN is held.
        let is_parked = |queue: &Queue| unsafe { queue.parked.is_some() };
        if state.queues().all(is_parked) {
            // SAFETY: TURN is held.
            unsafe { state.parked.put(core) };
            return;
        }
    }
}

/// Gives the locks back that are parked.
fn unlock(env: &'static Env) {
    for state in env.states() {
        // SAFETY: TURN is held.
        unsafe {
            drop(state.parked.take());
            state.queues().for_each(|queue| drop(queue.parked.take()));
            drop(state.wakers.parked.take());
            drop(state.tasks.parked.take());
            drop(state.parked_sweep.take());
        }
    }
    for domain in env.registry.all() {
        // SAFETY: TURN is held.
        drop(unsafe { domain.parked.take() });
    }
}

/// What this thread took in *prepare*: nothing, if it was told to leave forks alone.
fn take_held() -> Option<Held> {
    if prim::tls_get(CELL_FORKING) == 0 {
        return None;
    }
    prim::tls_set(CELL_FORKING, 0);
    // SAFETY: this thread filled the place, and has held TURN since.
    unsafe { (*HELD.0.get()).take() }
}

unsafe extern "C" fn parent() {
    let Some(held) = take_held() else { return };
    unlock(prim::env());
    drop(held);
}

unsafe extern "C" fn child() {
    let Some(mut held) = take_held() else { return };
    let env = prim::env();
    // First what is shared with the parent.
    let forks = telemetry::leave();
    env.alarm.forked(&mut held.timer);
    env.watch.forked();
    env.staff.forked();
    env.fences.forked();
    env.breakers.forked();
    // SAFETY: TURN is held.
    let is_known = |queue: &Queue| unsafe { queue.parked.is_some() };
    let own = env.own_slot();
    env.slots.forked(own);
    env.slots.forget_queues(is_known);
    prim::set_queue(prim::dummy_queue());
    for domain in env.registry.all() {
        // SAFETY: TURN is held, and no other thread is there.
        unsafe {
            let settings = domain.parked.get();
            domain.forked(settings.map(|settings| &mut **settings), own, is_known);
            let state = domain.state_if_any();
            if state.is_some_and(|state| !state.parked.is_some()) {
                domain.forget_state();
            }
        }
    }
    let run_code = env.forking.inherit.load(Ordering::Relaxed) != 0;
    for state in env.states() {
        state.made.retain(is_known);
        // SAFETY: TURN is held, and no other thread is there.
        let Some(core) = (unsafe { state.parked.get() }) else {
            continue;
        };
        let adopted = state
            .queues()
            .map(|queue| adopt(state, core, queue, run_code));
        let dropped = adopted.sum();
        state.forked(core);
        state
            .counters
            .not_inherited
            .store(dropped, Ordering::Relaxed);
    }
    prim::write_lock::forked();
    unlock(env);
    telemetry::begin_again(forks, &held.names);
    drop(held);
}

/// A queue of the parent becomes one of the child's, without an owner.
fn adopt(state: &'static State, global: &mut Core, queue: &'static Queue, run_code: bool) -> u64 {
    // SAFETY: TURN is held, and no other thread is there.
    let Some(core) = (unsafe { queue.parked.get() }) else {
        return 0;
    };
    let queued = queue.forked(core, run_code);
    let now = prim::coarse_ns();
    let forgotten = global.forked_cpu(&mut core.cpu, &queued, run_code, now);
    state.show_level(global);
    forgotten
}
