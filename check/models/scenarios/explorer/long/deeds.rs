//! The actions of threads.

use std::ptr::NonNull;
use std::time::Duration;

use quiescent_models::explorer::Ordering::{Acquire, Relaxed};
use quiescent_models::explorer::{clock, nap, random, yield_now};
use quiescent_on_explorer as rcu;
use rcu::check::NEST_LIMIT;
use rcu::intrusive::Head;
use rcu::tuning::FlushTimes;

use super::World;
use crate::common::tasks;

/// The way in which an object is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Synchronize,
    Expedited,
    TimeOut,
    Poll,
    Cookie,
    Retire,
    RetireHurry,
    RetireOnly,
    Drop,
    DropHurry,
    DropOnly,
    Call,
    CallHurry,
    CallLazy,
    Head,
    HeadHurry,
    HeadLazy,
    Try,
    Wait,
}

/// The ways that wait, and so must not be used inside a section or a callback.
pub const WAITS: &[Way] = &[
    Way::Synchronize,
    Way::Expedited,
    Way::TimeOut,
    Way::Poll,
    Way::Cookie,
];

/// The ways that leave memory to be freed, and no code to be run.
const PLAIN: &[Way] = &[
    Way::Retire,
    Way::RetireHurry,
    Way::RetireOnly,
    Way::Try,
    Way::Wait,
];

/// The ways that queue.
pub const QUEUES: &[Way] = &[
    Way::Retire,
    Way::Retire,
    Way::RetireHurry,
    Way::RetireOnly,
    Way::Drop,
    Way::DropHurry,
    Way::DropOnly,
    Way::Call,
    Way::CallHurry,
    Way::CallLazy,
    Way::Head,
    Way::HeadHurry,
    Way::HeadLazy,
];

/// The ways that queue and are not hurried.
pub const LAZY: &[Way] = &[
    Way::Retire,
    Way::RetireOnly,
    Way::Drop,
    Way::DropOnly,
    Way::CallLazy,
    Way::HeadLazy,
];

/// One action.
#[derive(Clone, Copy, Debug)]
pub enum Deed {
    /// Sections, some of them nested deeper than words count, with guards dropped in any order.
    Read,
    /// The same, with an object given up inside.
    ReadAndQueue(&'static [Way]),
    /// Publishes a new object, and gives up the old one.
    Update(&'static [Way]),
    /// Gives up some objects that were never published.
    Queue(&'static [Way], u64),
    /// A callback that queues another object.
    Chain,
    /// A callback that runs after the thread's earlier ones of this kind, and beside none of them. Not used
    /// where the program drains, which promises no order, nor where the thread's queue may change.
    InTurn,
    Barrier,
    Drain,
    /// Sleeps for a short time.
    DrainFor,
    DrainReady,
    /// Ends as a thread, and registers as another one.
    Leave,
    /// Lets time pass.
    Rest,
    Offload,
    OffloadOwn,
    FlushTimes,
    Drained,
    Budget,
    LowMemory,
}

/// An object's memory, closure, value with a destructor, or head.
#[repr(C)]
struct Handle {
    head: Head,
    world: &'static World,
    thing: usize,
    /// Its end queues another object in this way.
    next: Option<Way>,
}

impl Handle {
    fn end(&self) {
        let (world, thing) = (self.world, self.thing);
        world.books.ending(thing);
        if let Some(way) = self.next {
            let thing = world.books.thing();
            world.give_up(thing, way);
        }
        if thing.is_multiple_of(3) {
            yield_now(); // some take several steps
        }
        world.books.ended(thing);
    }
}

/// The memory lane frees memory. It is leaked: a double free is a finding, not a crash.
pub fn observer(object: *mut u8) {
    assert!(!object.is_null(), "an empty place was freed");
    // SAFETY: only handles are queued in that lane, and they are leaked.
    let handle = unsafe { &*object.cast::<Handle>() };
    handle.world.books.ending(handle.thing);
    handle.world.books.ended(handle.thing);
}

struct WithDrop(&'static Handle);

impl Drop for WithDrop {
    fn drop(&mut self) {
        self.0.end();
    }
}

unsafe fn run_head(head: NonNull<Head>) {
    // SAFETY: the head is the first field of a leaked handle.
    unsafe { &*head.as_ptr().cast::<Handle>() }.end();
}

/// One of them at random.
fn one<T: Copy>(of: &[T]) -> T {
    of[(random() % of.len() as u64) as usize]
}

impl World {
    /// A thread that performs this number of actions.
    pub fn live(&'static self, deeds: &[Deed], times: u32) {
        let me = self.cursor.at.borrow().len();
        self.cursor.at.borrow_mut().push(String::new());
        for _ in 0..times {
            let deed = one(deeds);
            self.cursor.at.borrow_mut()[me] = format!("{deed:?}");
            self.books.begin_deed(me);
            self.act(deed, me);
            self.books.end_deed(me);
            self.books.check();
        }
        self.cursor.at.borrow_mut()[me].clear();
    }

    fn act(&'static self, deed: Deed, me: usize) {
        match deed {
            Deed::Read => self.read(None),
            Deed::ReadAndQueue(ways) => self.read(Some(ways)),
            Deed::Update(ways) => self.update(one(ways)),
            Deed::Queue(ways, most) => {
                for _ in 0..1 + random() % most {
                    self.give_up(self.books.thing(), one(ways));
                }
            }
            Deed::Chain => {
                let handle = self.handle(self.books.thing(), Some(one(QUEUES)));
                self.books.give(handle.thing, "a chain", false);
                rcu::defer(move || handle.end());
                self.books.queued(handle.thing);
            }
            Deed::InTurn => {
                let (thing, number) = (self.books.thing(), self.books.line_up(me));
                let handle = self.handle(thing, None);
                self.books.give(thing, "in turn", false);
                let in_turn = move || {
                    handle.world.books.enter(me, number);
                    handle.end();
                    handle.world.books.leave(me);
                };
                one(&[rcu::defer, rcu::defer_hurry, rcu::defer_lazy])(in_turn);
                self.books.queued(thing);
            }
            Deed::Barrier => self.cover("a barrier", me, || match random() % 4 {
                0 | 1 => rcu::barrier(),
                2 => tasks::block_on(rcu::barrier_async()),
                _ => {
                    tasks::abandon(rcu::barrier_async());
                    tasks::block_on(rcu::barrier_async());
                }
            }),
            Deed::Drain => self.cover("a drain", me, || self.domain.drain()),
            Deed::DrainFor => {
                let now = self.books.now();
                let drained = rcu::drain(Duration::from_nanos(random() % 4_000));
                if drained.left == 0 {
                    self.books.covered(now, "a short drain", me);
                }
            }
            Deed::DrainReady => {
                let _ = rcu::tuning::drain_ready(1 + random() % 8, Duration::from_millis(1));
            }
            Deed::Leave => {
                self.domain.leave();
                self.domain.enter();
            }
            Deed::Rest => {
                nap(clock() + random() % 20_000);
            }
            Deed::Offload => rcu::tuning::set_on_worker(one(&[true, false])),
            Deed::OffloadOwn => {
                rcu::tuning::set_thread_on_worker(one(&[None, Some(false), Some(true)]))
            }
            Deed::FlushTimes => rcu::tuning::set_flush_times(FlushTimes {
                lazy: Duration::from_nanos(one(&[0, 3_000, 40_000])),
                prompt: Duration::from_nanos(one(&[0, 8_000])),
            }),
            Deed::Drained => {
                rcu::tuning::set_closures(one(&[rcu::Runner::Drained, rcu::Runner::Worker]))
            }
            Deed::Budget => {
                rcu::tuning::set_budget(one(&[4 << 10, u64::MAX]), one(&[8, 24, u64::MAX]))
            }
            Deed::LowMemory => rcu::tuning::memory_is_low(),
        }
    }

    /// What was queued before this call has ended when it returns.
    fn cover(&self, what: &str, me: usize, call: impl FnOnce()) {
        let now = self.books.now();
        call();
        self.books.covered(now, what, me);
    }

    fn read(&'static self, queue: Option<&[Way]>) {
        let depth = 1 + random() % (NEST_LIMIT + 2);
        let first = rcu::read_lock();
        let section = self.books.begin();
        let mut guards = vec![first];
        for _ in 1..depth {
            guards.push(rcu::read_lock());
            self.find(section);
        }
        if let Some(ways) = queue {
            self.give_up(self.books.thing(), one(ways));
        }
        self.find(section);
        while guards.len() > 1 {
            drop(guards.swap_remove((random() % guards.len() as u64) as usize));
        }
        self.books.end(section);
        drop(guards);
    }

    /// Finds the published object in this section.
    fn find(&self, section: u64) {
        let thing = self.pointer.load(Acquire) as usize;
        self.books.find(section, thing);
    }

    fn update(&'static self, way: Way) {
        let new = self.books.thing();
        let old = self.pointer.swap(new as u32, Relaxed);
        self.give_up(old as usize, way);
    }

    /// Gives up an object that readers cannot find any more.
    pub fn give_up(&'static self, thing: usize, way: Way) {
        let plain = PLAIN.contains(&way);
        self.books.give(thing, &format!("{way:?}"), plain);
        if WAITS.contains(&way) {
            self.wait_for(way);
            self.books.ending(thing);
            self.books.ended(thing);
            return;
        }
        let handle = self.handle(thing, None);
        let plain = NonNull::from(handle);
        // SAFETY: handles are leaked; the library is their only user from here on, and shows them to the
        // observer.
        unsafe {
            match way {
                Way::Retire => rcu::Retired::from_raw(plain).retire(),
                Way::RetireHurry => rcu::Retired::from_raw(plain).retire_hurry(),
                Way::RetireOnly => rcu::Retired::from_raw(plain).on_worker().retire(),
                Way::Drop => rcu::Retired::from_raw(with_drop(handle)).retire(),
                Way::DropHurry => rcu::Retired::from_raw(with_drop(handle)).retire_hurry(),
                Way::DropOnly => rcu::Retired::from_raw(with_drop(handle))
                    .on_worker()
                    .retire(),
                Way::Head => rcu::intrusive::defer(plain.cast(), run_head),
                Way::HeadHurry => rcu::intrusive::defer_hurry(plain.cast(), run_head),
                Way::HeadLazy => rcu::intrusive::defer_lazy(plain.cast(), run_head),
                Way::Call => rcu::defer(move || handle.end()),
                Way::CallHurry => rcu::defer_hurry(move || handle.end()),
                Way::CallLazy => rcu::defer_lazy(move || handle.end()),
                Way::Try => {
                    let result = rcu::Retired::from_raw(plain).try_retire();
                    self.offer(thing, result);
                }
                Way::Wait => {
                    let limit = Duration::from_nanos(random() % 200_000);
                    let result = rcu::Retired::from_raw(plain).retire_wait(limit);
                    self.offer(thing, result);
                }
                _ => unreachable!("it waits"),
            }
        }
        self.books.queued(thing);
    }

    /// A refused object is queued by a call that is not refused.
    fn offer<T>(&'static self, thing: usize, result: Result<(), rcu::Refused<T>>) {
        if let Err(refused) = result {
            std::mem::forget(refused.object); // dropped, it would be retired
            self.books.refused(thing);
            self.give_up(thing, Way::CallLazy);
        }
    }

    fn handle(&'static self, thing: usize, next: Option<Way>) -> &'static Handle {
        Box::leak(Box::new(Handle {
            head: Head::new(),
            world: self,
            thing,
            next,
        }))
    }

    fn wait_for(&self, way: Way) {
        let now = self.books.now();
        match way {
            Way::Expedited => rcu::synchronize_expedited(),
            Way::TimeOut => {
                while rcu::synchronize_timeout(Duration::from_nanos(random() % 3_000)).is_err() {
                    nap(clock() + 500);
                }
            }
            Way::Poll => {
                let cookie = rcu::start_grace_period();
                while !cookie.is_done() {
                    nap(clock() + 500); // the reader may be stopped until no other can run
                }
            }
            Way::Cookie => {
                let cookie = rcu::start_grace_period();
                cookie.wait();
            }
            _ => rcu::synchronize(),
        }
        self.books.waited(now, "a wait");
    }
}

fn with_drop(handle: &'static Handle) -> NonNull<WithDrop> {
    NonNull::from(Box::leak(Box::new(WithDrop(handle))))
}
