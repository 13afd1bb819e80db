//! Retired objects (*things*): each is reclaimed exactly once, never while a reader uses it, and none is
//! left.
//!
//! The record of a thing is kept outside the model, so that it costs no steps. Only `user`, which stands for
//! a reader's accesses to memory, belongs to the machine.

use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::rc::Rc;

use quiescent_models::explorer::Ordering::{Acquire, Relaxed};
use quiescent_models::explorer::{AtomicU32, JoinHandle, branching, spawn, yield_now};
use quiescent_on_explorer as rcu;
use rcu::check::{Model as Domain, observe_frees};
use rcu::intrusive::Head;

use super::{World, join_all};

mod calls;

/// Things in a world.
const THINGS: usize = 20;

#[derive(Default)]
struct Thing {
    retired: Cell<bool>,
    freed: Cell<bool>,
    watched: Cell<bool>,
    user: AtomicU32,
    /// The accesses of its callback, for observers outside: they are steps of the machine, so that all their
    /// orders are explored.
    progress: AtomicU32,
}

/// The callback of a thing runs; the callback has returned.
const BEGUN: u32 = 1;
const RETURNED: u32 = 2;

/// A world's things.
#[derive(Default)]
pub struct Things {
    things: [Thing; THINGS],
    /// A callback that must run alone is running.
    inside: AtomicU32,
    /// The number of such callbacks that have run.
    turns: Cell<usize>,
    /// The thing whose end opens the gate.
    awaited: Cell<Option<usize>>,
    /// The first error that a callback found; its panic is contained.
    wrong: RefCell<Option<String>>,
}

/// A thing's memory, closure, value with a destructor, or head.
#[repr(C)]
struct Handle {
    head: Head,
    world: *const World,
    thing: usize,
}

// SAFETY: model threads are fibers on one OS thread, and a world outlives its threads.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Handle {
    fn world(&self) -> &World {
        // SAFETY: see above.
        unsafe { &*self.world }
    }

    fn reclaim(&self) {
        self.world().reclaim(self.thing);
    }

    fn reclaim_long(&self) {
        let progress = &self.world().things.things[self.thing].progress;
        progress.swap(BEGUN, Relaxed);
        self.reclaim();
        progress.swap(RETURNED, Relaxed);
    }

    fn reclaim_in_turn(&self) {
        let things = &self.world().things;
        let others = things.inside.swap(1, Relaxed);
        let turn = things.turns.replace(self.thing + 1);
        if others != 0 || turn != self.thing {
            let wrong = format!("thing {}: {others} at it, turn {turn}", self.thing);
            things.wrong.replace(Some(wrong));
        }
        self.reclaim();
        things.inside.swap(0, Relaxed);
    }
}

/// The plain lane frees memory.
fn observer(object: *mut u8) {
    assert!(!object.is_null(), "an empty place was freed");
    // SAFETY: only `World::retire` queues plain objects in a world that reclaims. They are leaked: one
    // that is freed twice is a finding, not a crash.
    unsafe { &*object.cast::<Handle>() }.reclaim();
}

/// A value, and what its destructor does.
struct WithDrop(&'static Handle, fn(&Handle));

impl Drop for WithDrop {
    fn drop(&mut self) {
        (self.1)(self.0);
    }
}

unsafe fn run_head(head: NonNull<Head>) {
    // SAFETY: the head is the first field of a leaked handle.
    unsafe { &*head.as_ptr().cast::<Handle>() }.reclaim();
}

/// A world whose gate a callback opens.
struct Gate(*const World);

// SAFETY: as for handles.
unsafe impl Send for Gate {}

impl Gate {
    fn world(&self) -> &World {
        // SAFETY: the reference count of the gate's maker keeps it alive.
        unsafe { &*self.0 }
    }

    /// Queues itself again until the gate is open.
    fn again(self) {
        yield_now(); // otherwise no other thread might ever run
        if !self.world().is_reopened() {
            rcu::defer_hurry(move || self.again());
        }
    }
}

/// The thread of [`World::serving`].
pub struct Serving {
    stop: Rc<AtomicU32>,
    thread: JoinHandle<()>,
}

impl Serving {
    /// Stops it, and waits for its end.
    pub fn end(self, world: &World) {
        self.stop.store(1, Relaxed);
        world.domain.kick();
        self.thread.join();
    }
}

/// A world with retired things.
pub fn reclaiming(domain: Domain) -> Rc<World> {
    let world = World::new(domain);
    observe_frees(observer);
    world
}

/// The same, in which the calling thread retires.
pub fn owner(domain: Domain) -> Rc<World> {
    let world = reclaiming(domain);
    world.domain.enter();
    world
}

/// The same, in which it has retired these.
pub fn retired(domain: Domain, things: impl IntoIterator<Item = usize>) -> Rc<World> {
    let world = owner(domain);
    world.retire(things);
    world
}

/// The same as [`owner`], with another thread.
pub fn owner_beside(
    domain: Domain,
    other: impl FnOnce(&World) + 'static,
) -> (Rc<World>, JoinHandle<()>) {
    let world = reclaiming(domain);
    let other = world.thread(other);
    world.domain.enter();
    (world, other)
}

/// With another thread that registers before the scenario begins.
pub fn owner_beside_registered(
    domain: Domain,
    other: impl FnOnce(&World) + 'static,
) -> (Rc<World>, JoinHandle<()>) {
    owner_beside(domain, move |world| {
        world.come();
        other(world);
    })
}

impl World {
    /// The calling thread does `deeds` beside a worker that is woken once, and nothing is left.
    pub fn beside_worker(self: &Rc<World>, deeds: impl FnOnce(&World)) {
        let worker = self.worker(1);
        self.begin(0);
        deeds(self);
        self.end([worker]);
    }

    /// The scenario is over, except that these threads end, and nothing is left.
    pub fn end<const N: usize>(&self, threads: [JoinHandle<()>; N]) {
        branching(false);
        join_all(threads);
        self.finish();
    }

    /// The same where deadlines never come.
    pub fn end_patient<const N: usize>(&self, threads: [JoinHandle<()>; N]) {
        branching(false);
        join_all(threads);
        self.finish_patient();
    }

    /// It does them beside a thread that acts as the worker until its end, and `others`, so many of which
    /// are ready.
    pub fn serve_beside<const N: usize>(
        self: &Rc<World>,
        others: [JoinHandle<()>; N],
        ready: u32,
        deeds: impl FnOnce(&Rc<World>),
    ) {
        let worker = self.serving();
        self.begin(ready);
        deeds(self);
        branching(false);
        join_all(others);
        worker.end(self);
        self.finish_patient();
    }

    /// Of a thread that runs two long destructors of its own in the middle of its next action.
    pub fn drop_two(&self) {
        let guard = rcu::read_lock();
        self.retire_long(0);
        self.retire_long(1);
        drop(guard);
        self.pass_on();
        self.retire_code(2); // drives in passing
        self.retire_code(3); // runs one of them, or both
        self.retire([4]);
    }

    fn handle(&self, thing: usize) -> Handle {
        assert!(
            !self.things.things[thing].retired.replace(true),
            "the scenario retires thing {thing} twice"
        );
        Handle {
            head: Head::new(),
            world: self,
            thing,
        }
    }

    fn leaked(&self, thing: usize) -> &'static Handle {
        Box::leak(Box::new(self.handle(thing)))
    }

    /// Retires these things in the plain lane.
    pub fn retire(&self, things: impl IntoIterator<Item = usize>) {
        for thing in things {
            // SAFETY: only the observer frees it.
            unsafe { rcu::Retired::from_raw(NonNull::from(self.leaked(thing))).retire() };
        }
    }

    /// Retires a thing in the plain lane, hurried.
    pub fn retire_hurry(&self, thing: usize) {
        // SAFETY: as in `retire`.
        unsafe { rcu::Retired::from_raw(NonNull::from(self.leaked(thing))).retire_hurry() };
    }

    /// Retires a thing with a destructor, which its owner runs.
    pub fn retire_code(&self, thing: usize) {
        self.retire_with_drop(thing, Handle::reclaim);
    }

    /// Retires one with a destructor that takes its time.
    pub fn retire_long(&self, thing: usize) {
        self.retire_with_drop(thing, Handle::reclaim_long);
    }

    fn retire_with_drop(&self, thing: usize, drop: fn(&Handle)) {
        let value = Box::leak(Box::new(WithDrop(self.leaked(thing), drop)));
        // SAFETY: no other thread uses the box.
        unsafe { rcu::Retired::from_raw(NonNull::from(value)).retire() };
    }

    /// Uses a thing that was found in this section. Only one thread uses things.
    pub fn use_thing(&self, thing: usize) {
        let it = &self.things.things[thing];
        let check = || {
            assert!(
                !it.freed.get(),
                "thing {thing} was reclaimed under a reader"
            )
        };
        it.watched.set(true);
        it.user.store(1, Relaxed);
        check();
        it.user.store(0, Relaxed);
        check();
    }

    /// Finds the published thing and uses it, inside a section.
    pub fn look_at_thing(&self) -> usize {
        let thing = self.pointer.load(Acquire) as usize;
        self.use_thing(thing);
        thing
    }

    /// A section that reads once.
    pub fn read_thing(&self) {
        let _guard = rcu::read_lock();
        self.look_at_thing();
    }

    /// A thread that acts as the worker, woken this number of times without a request. Where other threads
    /// register first, it is started after the beginning of the scenario; otherwise it would end before.
    pub fn worker(self: &Rc<World>, times: u32) -> JoinHandle<()> {
        let world = self.clone();
        spawn(move || {
            world.domain.enter();
            (0..times).for_each(|_| world.domain.work());
        })
    }

    /// A thread that acts as the overflow worker, called once.
    pub fn second(self: &Rc<World>) -> JoinHandle<()> {
        let world = self.clone();
        spawn(move || {
            world.domain.enter();
            world.domain.relieve_uncalled();
        })
    }

    /// Has this thing been reclaimed?
    pub fn is_gone(&self, thing: usize) -> bool {
        self.things.things[thing].freed.get()
    }

    /// Sleeps until this thing has been reclaimed.
    pub fn await_gone(&self, thing: usize) {
        if !self.is_gone(thing) {
            self.things.awaited.set(Some(thing));
            self.wait_reopened();
        }
    }

    /// Queues a closure that lets a thread in [`World::await_open`] continue.
    pub fn call_hurry_reopens(self: &Rc<World>) {
        let gate = Gate(Rc::into_raw(self.clone()));
        rcu::defer_hurry(move || gate.world().reopen());
    }

    /// A thread that acts as the worker as in the product, until it is stopped.
    pub fn serving(self: &Rc<World>) -> Serving {
        self.serving_after(|_| ())
    }

    /// As [`serving`](World::serving), registered before the scenario begins: its queue comes first.
    pub fn serving_registered(self: &Rc<World>) -> Serving {
        self.serving_after(|world| {
            world.domain.register();
            world.arrived.fetch_add(1, Relaxed);
        })
    }

    fn serving_after(self: &Rc<World>, first: fn(&World)) -> Serving {
        let stop = Rc::new(AtomicU32::new(0));
        let (world, stopping) = (self.clone(), stop.clone());
        let thread = spawn(move || {
            world.domain.enter();
            first(&world);
            loop {
                let last = stopping.load(Relaxed) != 0;
                world.domain.work();
                if last {
                    break;
                }
                world.domain.sleep();
            }
        });
        Serving { stop, thread }
    }

    /// Every thing retired so far has been reclaimed.
    pub fn expect_all_gone(&self) {
        let wrong = self.things.wrong.borrow();
        assert!(wrong.is_none(), "{}", wrong.as_ref().expect("just looked"));
        let left = |thing: &usize| {
            let Thing { retired, freed, .. } = &self.things.things[*thing];
            retired.get() && !freed.get()
        };
        let left: Vec<usize> = (0..THINGS).filter(left).collect();
        assert!(left.is_empty(), "never reclaimed: {left:?}");
    }

    /// Every thread becomes quiet, and only the timer wakes the worker: nothing is left, whether an entry's
    /// owner still exists or not (rule R6), and no timer is set for nothing (R5).
    pub fn finish(&self) {
        branching(false);
        self.domain.settle();
        self.expect_nothing_held();
    }

    /// The same where deadlines never come: every entry that is left has a timer.
    pub fn finish_patient(&self) {
        branching(false);
        assert!(
            self.domain.held() == 0 || self.domain.is_armed(),
            "something is queued, and no timer is set"
        );
        self.domain.drain();
        self.expect_nothing_held();
    }

    fn expect_nothing_held(&self) {
        self.expect_all_gone();
        let held = self.domain.held();
        assert_eq!(held, 0, "all entries are reclaimed, but still counted");
    }
}
