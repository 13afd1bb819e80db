//! The child of a fork: a process with one thread, and a copy of everything else.
//!
//! The start-up constructor registers `pthread_atfork` handlers. (Not the first thread's registration: that
//! may happen in a signal handler or inside an allocator, where nothing may be registered.) They cost a few
//! locks for each fork; [`Options::ignore_forks`](crate::Options::ignore_forks) disables them.
//!
//! # Prepare
//! Takes every lock of the library that is held for a bounded time, in this order:
//!
//! | lock | what its holder does |
//! |---|---|
//! | turn | is in a fork: several threads may be |
//! | telemetry's | starts telemetry, or names a domain |
//! | settings of all domains: newest first, then the process's | changes them, or passes them to an engine |
//! | sweeps of all states: the process's, then newest first | detaches queues; issues one or two fences |
//! | tasks of all states (two lists) | adds or removes waiting tasks |
//! | timer | sets the timer |
//! | of each state its queues, then its core | reports what was queued; steps the engine |
//!
//! It waits for no callback, grace period, barrier or worker: no lock is held during those.
//!
//! *Why this cannot deadlock with other handlers.* Let another library (an allocator) take its lock L in
//! *prepare*. If it registered later, its handler runs first, and ours takes our locks under L; so a thread
//! that holds one of our locks must not take L. If it registered earlier, it takes L under our locks; so a
//! thread that holds L must not take one of ours. Both hold: under our locks the library allocates and frees
//! nothing and calls no foreign code, and what programs may do under their allocator's lock (read) takes
//! none of our locks. (A change of the fence mode allocates under them. It belongs to the start of a
//! program, before it forks.) Between *prepare* and the end of the other two handlers the library does not
//! allocate or free either, because L may still be held then. What the child discards there is leaked.
//!
//! # Memory of other threads in the child
//! The kernel copies the memory with each other thread's stores up to some instruction of that thread (it
//! write-protects the pages, and flushes the translations of every processor before any thread continues). So
//! a queue's words are those of an owner preempted between two instructions:
//!
//! * an entry whose `end` was not stored was not published: its object is leaked in the child;
//! * an entry below `head` was popped: its owner may or may not have freed it. It counts as freed (otherwise
//!   it might be freed twice). This leaks at most two objects of each thread in the child;
//! * what other threads had taken to free or run stays theirs: the child leaks that memory, and does not run
//!   those callbacks. What the forking thread itself is running continues in both processes.
//!
//! # The child
//! The child has one thread: the caller. Every other slot is free, and its section has ended, whatever its
//! thread was doing (also a section leaked by a thread that had ended before). No queue has an owner; the
//! caller takes its own again at its next push. Any thread of the child may free the plain memory in them.
//! Closures, destructors and intrusive callbacks are dropped, because the parent runs them, or kept with
//! [`Options::inherit_callbacks`](crate::Options::inherit_callbacks). A grace period in flight waits for its
//! next driver, and no fence is in progress. There is no worker, no timer, no descriptor: the first thread
//! that needs one makes it. Counters restart.

use std::cell::Cell;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::global::env;
use crate::global::workers::WORKERS;
#[cfg(feature = "telemetry")]
use crate::watch::telemetry;
use quiescent_core::domain::env::Env;
use quiescent_core::domain::life::Domain;
use quiescent_core::domain::state::{Core, State};
use quiescent_core::os;
use quiescent_core::prim::parked::Parked;
use quiescent_core::prim::{self, Mutex};
use quiescent_core::queue::per_thread::Queue;
use quiescent_core::reader::threads::Slot;

/// The program's options about forks: the handlers do nothing; the child runs inherited callbacks.
pub(crate) static IGNORE: AtomicBool = AtomicBool::new(false);
pub(crate) static INHERIT: AtomicBool = AtomicBool::new(false);

/// The holder is in a fork.
static TURN: Mutex<()> = Mutex::new(());

/// How many forks lie between the start of the program and this process.
pub(crate) static FORKS: AtomicU32 = AtomicU32::new(0);

// What *prepare* took, except the locks that are parked beside their data.
static TURN_TAKEN: Parked<()> = Parked::new();
static TIMER_TAKEN: Parked<u64> = Parked::new();
#[cfg(feature = "telemetry")]
static NAMES_TAKEN: Parked<telemetry::Names> = Parked::new();

thread_local! {
    /// Whether this thread is between *prepare* and the end of a fork; no, if forks are ignored.
    static FORKING: Cell<bool> = const { Cell::new(false) };
}

/// Registers the handlers, where the system calls them.
pub(crate) fn register() {
    // SAFETY: they are for these places.
    unsafe { os::on_fork(prepare, parent, child) };
}

unsafe extern "C" fn prepare() {
    let env = env();
    if IGNORE.load(Ordering::Relaxed) {
        return;
    }
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: TURN is held.
    unsafe { TURN_TAKEN.put(turn) };
    #[cfg(feature = "telemetry")]
    // SAFETY: TURN is held.
    unsafe {
        NAMES_TAKEN.put(telemetry::names())
    };
    for domain in domains(env) {
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
        }
    }
    // SAFETY: TURN is held.
    unsafe { TIMER_TAKEN.put(env.alarm.timer()) };
    for state in swept(env) {
        lock_queues_and_core(state);
    }
    FORKING.set(true);
}

/// All domains: the program's, newest first, then the process's.
fn domains(env: &'static Env) -> impl Iterator<Item = &'static Domain> {
    let programs = env.registry.domains.iter();
    programs.chain(std::iter::once(&env.home))
}

/// The states whose sweeps were locked. Others may be made meanwhile; they are not touched.
fn swept(env: &'static Env) -> impl Iterator<Item = &'static State> {
    // SAFETY: TURN is held.
    let is_swept = |state: &&State| unsafe { state.parked_sweep.is_some() };
    env.states().filter(is_swept)
}

/// A queue made meanwhile has not called the engine when this returns: its first call takes the lock of the
/// core.
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

/// Releases the parked locks.
fn unlock(env: &'static Env) {
    for state in env.states() {
        // SAFETY: TURN is held.
        unsafe {
            drop(state.parked.take());
            state.queues().for_each(|queue| drop(queue.parked.take()));
            drop(state.tasks.parked.take());
            drop(state.parked_sweep.take());
        }
    }
    for domain in domains(env) {
        // SAFETY: TURN is held.
        drop(unsafe { domain.parked.take() });
    }
}

/// The end: another thread may fork now.
fn release() {
    // SAFETY: this thread put them there, and holds TURN until the last one is dropped.
    unsafe {
        drop(TIMER_TAKEN.take());
        #[cfg(feature = "telemetry")]
        drop(NAMES_TAKEN.take());
        drop(TURN_TAKEN.take());
    }
}

unsafe extern "C" fn parent() {
    if FORKING.replace(false) {
        unlock(env());
        release();
    }
}

unsafe extern "C" fn child() {
    if !FORKING.replace(false) {
        return;
    }
    let env = env();
    // First detach what is shared with the parent.
    #[cfg(feature = "telemetry")]
    let forks = telemetry::leave(env);
    // SAFETY: TURN is held, and *prepare* put it there.
    if let Some(timer) = unsafe { TIMER_TAKEN.get() } {
        env.alarm.forked(timer);
    }
    WORKERS.forked();
    env.fences.forked();
    // SAFETY: TURN is held.
    let is_known = |queue: &Queue| unsafe { queue.parked.is_some() };
    let own = env.own_slot();
    env.threads.forked(&env.local(), own, is_known);
    env.local().forked(&env.common.dummy);
    for domain in domains(env) {
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
    let run_code = INHERIT.load(Ordering::Relaxed);
    for state in env.states() {
        state.shared.others.retain(is_known);
        // SAFETY: TURN is held, and no other thread is there.
        let Some(core) = (unsafe { state.parked.get() }) else {
            continue;
        };
        let adopted = state
            .queues()
            .map(|queue| adopt(state, core, queue, run_code, own));
        let dropped = adopted.sum();
        state.forked(core);
        state
            .counters
            .not_inherited
            .store(dropped, Ordering::Relaxed);
    }
    super::write_lock::forked();
    FORKS.fetch_add(1, Ordering::Relaxed);
    unlock(env);
    #[cfg(feature = "telemetry")]
    // SAFETY: as above.
    if let Some(names) = unsafe { NAMES_TAKEN.get() } {
        telemetry::begin_again(env, forks, names);
    }
    release();
}

/// Turns a queue of the parent into one of the child, without an owner. `own`: the slot of this thread.
fn adopt(
    state: &'static State,
    global: &mut Core,
    queue: &'static Queue,
    run_code: bool,
    own: Option<&'static Slot>,
) -> u64 {
    // SAFETY: TURN is held, and no other thread is there.
    let Some(core) = (unsafe { queue.parked.get() }) else {
        return 0;
    };
    let is_own = own.is_some_and(|slot| slot.queues.iter().any(|its| std::ptr::eq(its, queue)));
    let queued = queue.forked(core, run_code, is_own);
    let now = prim::coarse_ns();
    let forgotten = (core.cpu).forked(&mut global.engine, &queued, run_code, State::now(now));
    state.show_level(global);
    forgotten
}
