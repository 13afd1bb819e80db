//! What a machine and its fibers share, and how a fiber finds it.
//!
//! The machine that runs is in a thread-local of the OS thread. It is borrowed for the length of one access,
//! never across a switch between fibers.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::ptr::NonNull;
use std::rc::Rc;

use corosensei::{Coroutine, Yielder};
use quiescent_engine::Global;

use crate::alarm::Alarm;
use crate::events::Queue;

/// Numbered cells of each fiber: its thread-locals.
const CELLS: usize = 2;

/// The costs of actions, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prices {
    /// A process-wide fence.
    pub fence: u64,
    /// From the wake-up of a thread until it runs.
    pub wake: u64,
    /// A step of the engine.
    pub step: u64,
    /// A spin between two looks.
    pub spin: u64,
    /// A trip to a queue's lock and the engine's.
    pub help: u64,
    /// Asking one thread for a fence, and answering.
    pub ask: u64,
}

/// A machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The library's clock at time 0.
    pub origin: u64,
    /// Nanoseconds between two ticks of the coarse clock.
    pub tick_ns: u64,
    /// Others may run before each lock, and after each step of the engine.
    pub stepwise: bool,
    /// The costs of actions.
    pub prices: Prices,
}

/// The program that runs a machine: it decides what fibers do, and is called when something happens.
pub trait Host {
    /// Runs the fiber, on its stack. Values on the stack are not dropped if the machine ends before the fiber
    /// does.
    fn live(&self, fiber: usize);
    /// This fiber was woken now.
    fn woken(&self, fiber: usize);
    /// An object that was queued as memory is free.
    fn freed(&self, object: usize);
    /// Runs an object that was queued as code. It may be busy.
    fn run(&self, object: usize);
    /// The engine has made a step.
    fn stepped(&self, engine: &Global);
    /// The library needs its worker's thread; it may exist already.
    fn need_worker(&self);
}

/// An event with a time of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    /// A fiber continues.
    Run(usize),
    /// A fiber's sleep ends, if it is still this one.
    Timeout(usize, u64),
    /// The alarm's timer fires, if it is still set so.
    Timer(u64),
}

pub(crate) type Routine = Coroutine<(), (), ()>;

/// A fiber.
pub(crate) struct Fiber {
    /// None while it runs, and when it is over.
    pub routine: Option<Routine>,
    /// Its way back to the machine; lives on its stack.
    pub yielder: Option<NonNull<Yielder<(), ()>>>,
    pub sleeps: bool,
    /// The address it sleeps on, if any.
    pub on: Option<usize>,
    /// Its sleeps so far.
    pub round: u64,
    /// What it has done and not yet been busy for, in nanoseconds.
    pub debt: u64,
    /// Locks that it holds.
    pub holds: u32,
    /// Processor time, in nanoseconds.
    pub busy_ns: u64,
}

/// What a machine and its fibers share.
pub(crate) struct Shared {
    pub setup: Setup,
    pub now: Cell<u64>,
    pub running: Cell<Option<usize>>,
    pub events: RefCell<Queue<Event>>,
    pub fibers: RefCell<Vec<Fiber>>,
    /// Cells of the fibers; the first are for calls from outside of fibers.
    cells: RefCell<Vec<[usize; CELLS]>>,
    /// The fibers that sleep on an address; the longest sleeper first. Never iterated over: addresses have no
    /// order.
    pub sleepers: RefCell<BTreeMap<usize, VecDeque<usize>>>,
    pub alarm: RefCell<Alarm>,
    pub refills: Cell<u64>,
    /// Set once.
    pub host: OnceCell<Rc<dyn Host>>,
    pub ends: RefCell<Vec<Box<dyn FnOnce()>>>,
}

thread_local! {
    static CURRENT: RefCell<Option<Rc<Shared>>> = const { RefCell::new(None) };
}

impl Shared {
    pub(crate) fn new(setup: Setup) -> Shared {
        Shared {
            setup,
            now: Cell::new(0),
            running: Cell::new(None),
            events: RefCell::default(),
            fibers: RefCell::default(),
            cells: RefCell::new(vec![[0; CELLS]]),
            sleepers: RefCell::default(),
            alarm: RefCell::default(),
            refills: Cell::new(0),
            host: OnceCell::new(),
            ends: RefCell::default(),
        }
    }

    /// The running fiber's number.
    pub(crate) fn me(&self) -> usize {
        self.running.get().expect("a fiber runs")
    }

    /// Calls a function with the running fiber; does nothing outside of fibers.
    pub(crate) fn own<R>(&self, f: impl FnOnce(&mut Fiber) -> R) -> Option<R> {
        let me = self.running.get()?;
        Some(f(&mut self.fibers.borrow_mut()[me]))
    }

    /// A new fiber, which begins at this time.
    pub(crate) fn add(&self, at: u64, routine: Routine) -> usize {
        let mut fibers = self.fibers.borrow_mut();
        fibers.push(Fiber {
            routine: Some(routine),
            yielder: None,
            sleeps: false,
            on: None,
            round: 0,
            debt: 0,
            holds: 0,
            busy_ns: 0,
        });
        self.cells.borrow_mut().push([0; CELLS]);
        let fiber = fibers.len() - 1;
        self.events.borrow_mut().put(at, Event::Run(fiber));
        fiber
    }

    /// Wakes a fiber, if it sleeps.
    pub(crate) fn wake(&self, fiber: usize) {
        let mut fibers = self.fibers.borrow_mut();
        let it = &mut fibers[fiber];
        if !std::mem::take(&mut it.sleeps) {
            return;
        }
        it.round += 1;
        let on = it.on.take();
        drop(fibers);
        if let Some(address) = on {
            let mut sleepers = self.sleepers.borrow_mut();
            if let Some(here) = sleepers.get_mut(&address) {
                here.retain(|&other| other != fiber);
                if here.is_empty() {
                    sleepers.remove(&address);
                }
            }
        }
        let at = self.now.get() + self.setup.prices.wake;
        self.events.borrow_mut().put(at, Event::Run(fiber));
        if let Some(host) = self.host.get() {
            host.woken(fiber);
        }
    }

    /// Makes this the current machine until the result is dropped.
    pub(crate) fn enter(self: &Rc<Self>) -> Entered {
        Entered(CURRENT.replace(Some(self.clone())))
    }
}

/// A machine is the current one; the one before it is so again when this is dropped.
pub(crate) struct Entered(Option<Rc<Shared>>);

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// Calls a function with the current machine. It must not switch fibers.
pub(crate) fn with<R>(f: impl FnOnce(&Shared) -> R) -> R {
    CURRENT.with_borrow(|current| f(current.as_ref().expect("a machine runs")))
}

/// The same, if there is one.
pub(crate) fn try_with<R>(f: impl FnOnce(&Shared) -> R) -> Option<R> {
    CURRENT.with_borrow(|current| current.as_deref().map(f))
}

/// Calls the program of the current machine. The calling fiber may stop for ever meanwhile.
pub(crate) fn tell<R>(f: impl FnOnce(&dyn Host) -> R) -> R {
    let host = with(|machine| machine.host.get().map(Rc::as_ptr));
    // SAFETY: the machine's, which keeps it until the end, when no fiber goes on any more. Not a count of its
    // own: that would never go down if the fiber stops here for ever.
    f(unsafe { &*host.expect("a machine has a host") })
}

fn cell(running: Option<usize>) -> usize {
    running.map_or(0, |fiber| fiber + 1)
}

/// Reads a numbered cell of this fiber.
///
/// # Panics
/// If there is no such cell, and outside a machine.
pub fn tls_get(index: usize) -> usize {
    with(|machine| machine.cells.borrow()[cell(machine.running.get())][index])
}

/// Writes a numbered cell of this fiber.
///
/// # Panics
/// If there is no such cell, and outside a machine.
pub fn tls_set(index: usize, value: usize) {
    with(|machine| machine.cells.borrow_mut()[cell(machine.running.get())][index] = value);
}

/// Carries this out when the machine is dropped.
pub fn at_end(end: impl FnOnce() + 'static) {
    with(|machine| machine.ends.borrow_mut().push(Box::new(end)));
}
