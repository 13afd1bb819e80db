//! The child of a fork: a process with one thread, and a copy of everything else.
//!
//! `pthread_atfork` handlers are registered in the start-up constructor. (Not when the first thread comes:
//! that may be in a signal handler or inside an allocator, where nothing may be registered.) They cost a
//! few locks a fork; [`Options::ignore_forks`](crate::Options::ignore_forks) switches them off.
//!
//! # Prepare
//! Takes every lock of the library that is held for a bounded time, in this order:
//!
//! | lock | whoever holds it |
//! |---|---|
//! | turn | is in a fork: several threads may be |
//! | telemetry's | begins to count, or names a domain |
//! | gates of all grounds, one after the other | lends a domain its yard, or takes it back |
//! | making | makes a yard |
//! | spares | gives a yard to somebody, or gets one back |
//! | the timer of the caretaker | sets it |
//! | yards, newest first: tasks (two lists), queue, core | as those of the domain, below |
//! | sweep | takes queues over; issues one or two fences |
//! | tasks: those that wait for grace periods, and for the barrier | adds a waiting task to a list, or takes some out |
//! | timer | sets the timer |
//! | queues, newest first | tells the engine what was queued |
//! | core | steps the engine |
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

use quiescent_engine::FullCookie;

use crate::inner::defer::tasks::List;
use crate::inner::domain::grounds;
use crate::inner::domain::process::{Core, Process};
use crate::inner::domain::yard::{self, Yard};
use crate::inner::gp::driven::Driven as _;
use crate::inner::prim::{self, CELL_FORKING, Mutex, MutexGuard};
use crate::inner::queue::per_thread::Queue;
use crate::watch::telemetry;
use crate::workers::helper;

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

/// The locks that *prepare* took, but for those of queues. They are dropped from the first to the last.
struct Held {
    core: MutexGuard<'static, Core>,
    timer: MutexGuard<'static, u64>,
    tasks: MutexGuard<'static, List<FullCookie>>,
    wakers: MutexGuard<'static, List<()>>,
    sweep: MutexGuard<'static, ()>,
    turn: MutexGuard<'static, ()>,
    names: MutexGuard<'static, telemetry::Names>,
    yards: HeldYards,
}

/// What all yards have in common. Their own locks are parked in them.
struct HeldYards {
    timer: MutexGuard<'static, u64>,
    spares: MutexGuard<'static, Option<&'static Yard>>,
    making: MutexGuard<'static, ()>,
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
    let domain = prim::domain();
    if domain.forking.ignore.load(Ordering::Relaxed) != 0 {
        return;
    }
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let names = telemetry::names();
    let yards = lock_yards();
    let sweep = domain.sweeping();
    let tasks = helper::TASKS.lock();
    let wakers = domain.wakers.lock();
    let timer = domain.alarm.timer();
    let core = lock_queues_and_core(domain);
    let held = Held {
        core,
        timer,
        tasks,
        wakers,
        sweep,
        turn,
        names,
        yards,
    };
    prim::tls_set(CELL_FORKING, 1);
    // SAFETY: TURN is held.
    unsafe { *HELD.0.get() = Some(held) };
}

/// The gates of all grounds; of each yard its tasks, its queue, its core. Nobody makes a yard meanwhile, and none is lent: grounds that
/// are made meanwhile, whose gate is not held, have none.
fn lock_yards() -> HeldYards {
    loop {
        for grounds in grounds::all::all() {
            // SAFETY: TURN is held.
            unsafe {
                if !grounds.parked.is_some() {
                    grounds.parked.put(grounds.lock());
                }
            }
        }
        let making = yard::making();
        let spares = yard::lent::spares();
        let timer = yard::care::alarm().timer();
        for yard in yard::yards() {
            // SAFETY: TURN is held.
            unsafe {
                yard.tasks.parked.put(yard.tasks.lock());
                yard.wakers.parked.put(yard.wakers.lock());
                yard.queue.parked.put(yard.queue.lock());
                yard.parked.put(yard.lock());
            }
        }
        let held = HeldYards {
            timer,
            spares,
            making,
        };
        // SAFETY: TURN is held.
        let is_parked = |grounds: &grounds::Grounds| unsafe { grounds.parked.is_some() };
        if grounds::all::all().all(is_parked) {
            return held;
        }
        unlock_own(held); // whoever made them may have a gate and wait for one of these locks
    }
}

/// Gives the yards' own locks back.
fn unlock_own(held: HeldYards) {
    for yard in yard::yards() {
        // SAFETY: TURN is held.
        unsafe {
            drop(yard.parked.take());
            drop(yard.queue.parked.take());
            drop(yard.wakers.parked.take());
            drop(yard.tasks.parked.take());
        }
    }
    drop((held.timer, held.spares, held.making));
}

/// Gives them back, and the gates.
fn unlock_yards(held: HeldYards) {
    unlock_own(held);
    for grounds in grounds::all::all() {
        // SAFETY: TURN is held.
        drop(unsafe { grounds.parked.take() });
    }
}

/// A queue that is made meanwhile has had no call of the engine when this returns: the first one takes
/// the lock of the core.
fn lock_queues_and_core(domain: &'static Process) -> MutexGuard<'static, Core> {
    loop {
        for queue in domain.queues() {
            // SAFETY: TURN is held.
            unsafe {
                if !queue.parked.is_some() {
                    queue.parked.put(queue.lock());
                }
            }
        }
        let core = domain.lock();
        // SAFETY: TURN is held.
        let is_parked = |queue: &Queue| unsafe { queue.parked.is_some() };
        if domain.queues().all(is_parked) {
            return core;
        }
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
    drop(held.core);
    for queue in prim::domain().queues() {
        // SAFETY: TURN is held.
        drop(unsafe { queue.parked.take() });
    }
    drop((held.timer, held.wakers, held.tasks, held.sweep));
    unlock_yards(held.yards);
    drop((held.names, held.turn));
}

unsafe extern "C" fn child() {
    let Some(mut held) = take_held() else { return };
    let domain = prim::domain();
    // First what is shared with the parent.
    let forks = telemetry::leave();
    domain.alarm.forked(&mut held.timer);
    domain.watch.forked();
    domain.staff.forked();
    domain.slots.forked(domain.own_slot());
    // SAFETY: TURN is held.
    domain
        .slots
        .forget_queues(|queue| unsafe { queue.parked.is_some() });
    // SAFETY: TURN is held.
    domain
        .made
        .retain(|queue| unsafe { queue.parked.is_some() });
    prim::set_queue(prim::dummy_queue());
    domain.counters.forked();
    domain.fences.forked();
    domain.breakers.forked();
    let run_code = domain.forking.inherit.load(Ordering::Relaxed) != 0;
    let mut dropped = 0;
    for queue in domain.queues() {
        // SAFETY: TURN is held.
        if let Some(mut core) = unsafe { queue.parked.take() } {
            dropped += adopt(domain, &mut held.core, queue, &mut core, run_code);
        }
    }
    domain
        .counters
        .not_inherited
        .store(dropped, Ordering::Relaxed);
    held.core.forked();
    domain.forget_waits();
    helper::forked();
    prim::write_lock::forked();
    drop((held.core, held.timer, held.wakers, held.tasks, held.sweep));
    adopt_yards(&mut held.yards, run_code);
    unlock_yards(held.yards);
    telemetry::begin_again(forks, &held.names);
    drop((held.names, held.turn));
}

/// Nobody looks after the yards here; what is in them is the child's.
fn adopt_yards(held: &mut HeldYards, run_code: bool) {
    yard::care::forked(&mut held.timer);
    let own = prim::domain().own_slot();
    for grounds in grounds::all::all() {
        // SAFETY: TURN is held, and no other thread is there.
        unsafe {
            let gate = grounds.parked.get();
            grounds.forked(gate.map(|gate| &mut **gate), own);
        }
    }
    for yard in yard::yards() {
        // SAFETY: TURN is held, and no other thread is there.
        let (core, global) = unsafe { (yard.queue.parked.get(), yard.parked.get()) };
        if let (Some(core), Some(global)) = (core, global) {
            yard.forked(core, global, run_code);
        }
    }
}

/// A queue of the parent becomes one of the child's, without an owner.
fn adopt(
    domain: &'static Process,
    global: &mut Core,
    queue: &'static Queue,
    core: &mut MutexGuard<'static, crate::inner::queue::per_thread::Core>,
    run_code: bool,
) -> u64 {
    let queued = queue.forked(core, run_code);
    let now = prim::coarse_ns();
    let forgotten = global.forked_cpu(&mut core.cpu, &queued, run_code, now);
    domain.show_level(global);
    forgotten
}
