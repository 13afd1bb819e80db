//! A machine from outside: fibers, and time that passes from one event to the next.

use std::cell::RefCell;
use std::ptr::NonNull;
use std::rc::Rc;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};

use crate::shared::{Event, Host, Routine, Setup, Shared, tell, with};

/// Stack of a fiber: enough for a panic with a backtrace. Unused pages take no memory.
const STACK_BYTES: usize = 512 * 1024;
/// Stacks that are kept for the next fibers.
const SPARE_STACKS: usize = 64;

thread_local! {
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// A machine: fibers and their events.
pub struct Machine {
    shared: Rc<Shared>,
}

impl Machine {
    /// A machine before its first event.
    pub fn new(setup: Setup) -> Machine {
        Machine {
            shared: Rc::new(Shared::new(setup)),
        }
    }

    /// Sets the host. Once.
    ///
    /// # Panics
    /// The second time.
    pub fn set_host(&self, host: Rc<dyn Host>) {
        let first = self.shared.host.set(host);
        assert!(first.is_ok(), "a machine has one host");
    }

    /// A fiber that begins at this time; its number: they count from 0.
    pub fn spawn(&self, at: u64) -> usize {
        self.shared.add(at, routine())
    }

    /// Runs a function in this machine, on none of its fibers.
    pub fn enter<R>(&self, f: impl FnOnce() -> R) -> R {
        let _entered = self.shared.enter();
        f()
    }

    /// The time, in nanoseconds.
    pub fn now(&self) -> u64 {
        self.shared.now.get()
    }

    /// It is this time, unless it is later.
    pub fn pass(&self, until: u64) {
        self.shared.now.set(self.now().max(until));
    }

    /// The time of the next event.
    pub fn next(&self) -> Option<u64> {
        self.shared.events.borrow().next()
    }

    /// Processor time of a fiber, in nanoseconds.
    pub fn busy_ns(&self, fiber: usize) -> u64 {
        self.shared.fibers.borrow()[fiber].busy_ns
    }

    /// Lets time pass until the next event, and all happen that follows from it at once. False if it is later
    /// than `until`.
    pub fn step(&self, until: u64) -> bool {
        let Some((at, event)) = self.shared.events.borrow_mut().take(until) else {
            return false;
        };
        let _entered = self.shared.enter();
        self.shared.now.set(at);
        match event {
            Event::Run(fiber) => self.resume(fiber),
            Event::Timeout(fiber, round) => {
                let same = self.shared.fibers.borrow()[fiber].round == round;
                if same {
                    self.shared.wake(fiber);
                }
            }
            Event::Timer(number) => crate::alarm::fire(number),
        }
        true
    }

    fn resume(&self, fiber: usize) {
        let shared = &self.shared;
        let routine = shared.fibers.borrow_mut()[fiber].routine.take();
        let mut routine = routine.expect("an event is of a fiber that can go on");
        shared.running.set(Some(fiber));
        let result = routine.resume(());
        shared.running.set(None);
        match result {
            CoroutineResult::Yield(()) => {
                shared.fibers.borrow_mut()[fiber].routine = Some(routine);
            }
            CoroutineResult::Return(()) => keep_stack(routine),
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let fibers = self.shared.fibers.take();
        self.shared.running.set(None); // it is not, if it has panicked
        for mut routine in fibers.into_iter().filter_map(|it| it.routine) {
            if routine.started() {
                // SAFETY: destructors of values on its stack do not run: their memory is leaked (a few
                // words), and locks stay taken. The fiber never runs again, and links to its stack are
                // dropped below without being read.
                unsafe { routine.force_reset() };
                keep_stack(routine);
            }
        }
        let _entered = self.shared.enter();
        for end in self.shared.ends.take() {
            end();
        }
    }
}

/// Keeps the stack of a fiber that is over, for another one.
fn keep_stack(routine: Routine) {
    let stack = routine.into_stack();
    STACKS.with_borrow_mut(|stacks| {
        if stacks.len() < SPARE_STACKS {
            stacks.push(stack);
        }
    });
}

/// The next fiber.
pub(crate) fn routine() -> Routine {
    let stack = STACKS.with_borrow_mut(Vec::pop).unwrap_or_else(|| {
        DefaultStack::new(STACK_BYTES).expect("address space for the stack of a fiber")
    });
    Coroutine::with_stack(stack, move |yielder, ()| {
        let me = with(|machine| {
            machine.own(|fiber| fiber.yielder = Some(NonNull::from(yielder)));
            machine.me()
        });
        tell(|host| host.live(me));
    })
}

/// The running fiber stops here until an event lets it go on.
pub(crate) fn suspend() {
    let yielder = with(|machine| machine.own(|fiber| fiber.yielder)).flatten();
    let yielder = yielder.expect("a fiber runs");
    // SAFETY: it lives at the base of this fiber's stack, on which we run.
    unsafe { yielder.as_ref() }.suspend(());
}
