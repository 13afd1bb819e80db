//! Fibers: model threads on one OS thread.
//!
//! The execution is in a thread-local of the OS thread that explores. It is borrowed for one decision or one
//! access and never across a switch. A fiber switches by suspending itself; the loop in [`run`] then resumes
//! the current thread. Outside an exploration, and while a panic unwinds (drops may touch atomics), nothing
//! is scheduled.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::ptr::NonNull;
use std::rc::Rc;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use crate::ends;

use super::exec::{Control, Execution, Op, State};

/// Stack of a fiber: enough for a panic with a backtrace.
const STACK_BYTES: usize = 512 * 1024;

/// A model thread's stack and its return path to the loop.
pub(crate) struct Fiber {
    coroutine: Option<Coroutine<(), (), ()>>,
    /// Set once the fiber runs; it lives on the fiber's stack.
    yielder: Option<NonNull<Yielder<(), ()>>>,
}

thread_local! {
    static EXECUTION: RefCell<Option<Execution>> = const { RefCell::new(None) };
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// The current execution, if there is one.
pub(crate) fn with<R>(f: impl FnOnce(&mut Execution) -> R) -> Option<R> {
    EXECUTION.with_borrow_mut(|execution| execution.as_mut().map(f))
}

/// The effect of an access.
pub(crate) enum Plan<R> {
    /// No other thread can notice it, and this is the result.
    Done(R),
    /// Other threads can notice it.
    Visit(Op),
}

/// An access: `plan` describes it, then others may run, then `act` performs it. `None` outside an
/// exploration.
#[track_caller]
pub(crate) fn visible<R>(
    plan: impl FnOnce(&mut Execution) -> Plan<R>,
    act: impl FnOnce(&mut Execution) -> R,
) -> Option<R> {
    let at = Location::caller();
    let unwinding = std::thread::panicking();
    let planned = with(|e| match plan(e) {
        Plan::Done(result) => Ok(result),
        Plan::Visit(_) if unwinding => Err(Control::Go),
        Plan::Visit(op) => Err(e.point(op, at)),
    })?;
    match planned {
        Ok(result) => Some(result),
        Err(control) => {
            obey(control);
            with(|e| {
                e.acts += 1;
                act(e)
            })
        }
    }
}

/// Tries until it succeeds; between attempts the thread is in the state that `attempt` returns.
#[track_caller]
pub(crate) fn blocking<R>(
    op: Op,
    mut attempt: impl FnMut(&mut Execution) -> Result<R, State>,
) -> Option<R> {
    let mut outcome = visible(|_| Plan::Visit(op), &mut attempt)?;
    loop {
        match outcome {
            Ok(result) => return Some(result),
            Err(_) if std::thread::panicking() => return None,
            Err(state) => {
                obey(with(|e| e.block(state))?);
                outcome = with(&mut attempt)?;
            }
        }
    }
}

/// Suspends the fiber if another thread was chosen; returns when it is this thread's turn again.
pub(crate) fn obey(control: Control) {
    let Control::Suspend(me) = control else {
        return;
    };
    loop {
        let yielder = with(|e| e.threads[me].fiber.as_ref().and_then(|f| f.yielder)).flatten();
        let yielder = yielder.expect("a running thread has a fiber");
        // SAFETY: the yielder lives at the base of this fiber's stack, on which this code runs.
        unsafe { yielder.as_ref() }.suspend(());
        if with(|e| !e.over).expect("still exploring") {
            return;
        }
    }
}

/// A model thread's handle.
#[derive(Debug)]
pub struct JoinHandle<T> {
    thread: usize,
    result: Rc<RefCell<Option<T>>>,
}

/// Starts a model thread. The stores of its parent are visible to it.
///
/// # Panics
/// Outside an exploration.
#[track_caller]
pub fn spawn<T: 'static>(body: impl FnOnce() -> T + 'static) -> JoinHandle<T> {
    let result = Rc::new(RefCell::new(None));
    let slot = result.clone();
    let thread = visible(
        |_| Plan::Visit(Op::Other),
        |e| {
            e.drain(e.current);
            let thread = e.threads.len();
            e.note(|| format!("spawns T{thread}"));
            e.add_thread(fiber(thread, move || *slot.borrow_mut() = Some(body())));
            thread
        },
    );
    JoinHandle {
        thread: thread.expect("spawn must be called in a scenario"),
        result,
    }
}

impl<T> JoinHandle<T> {
    /// Waits for the thread's end. Its stores are visible afterwards.
    ///
    /// # Panics
    /// Outside an exploration.
    #[track_caller]
    pub fn join(self) -> T {
        let ended = blocking(Op::Other, |e| match e.threads[self.thread].state {
            State::Finished => {
                e.drain_other(self.thread);
                Ok(())
            }
            _ => Err(State::Join(self.thread)),
        });
        ended.expect("join must be called in a scenario");
        self.result
            .take()
            .expect("a thread that ended left its result")
    }
}

/// The number of the calling model thread in order of creation; the scenario itself is 0.
pub fn thread_index() -> usize {
    with(|e| e.current).unwrap_or(0)
}

/// Lets other threads run first, as a spinning thread does.
#[track_caller]
pub fn yield_now() {
    let at = Location::caller();
    if !std::thread::panicking()
        && let Some(control) = with(|e| e.spin(at))
    {
        obey(control);
    }
}

/// Runs this when the execution is over; never, outside an execution.
pub fn at_end(end: impl FnOnce() + 'static) {
    if with(|_| ()).is_some() {
        ends::add(end);
    }
}

/// A fiber that runs `body` as thread `me`, and reports its end or its panic.
fn fiber(me: usize, body: impl FnOnce() + 'static) -> Fiber {
    let stack = STACKS.with_borrow_mut(Vec::pop).unwrap_or_else(|| {
        DefaultStack::new(STACK_BYTES).expect("address space for the stack of a fiber")
    });
    let coroutine = Coroutine::with_stack(stack, move |yielder, ()| {
        let _ = with(|e| {
            let fiber = e.threads[me].fiber.as_mut().expect("it is running");
            fiber.yielder = Some(NonNull::from(yielder));
        });
        let outcome = catch_unwind(AssertUnwindSafe(body));
        let _ = with(|e| match outcome {
            Ok(()) => e.finish(),
            Err(payload) => {
                let text = crate::message(&*payload);
                let _ = e.fail(format!("T{me} panicked: {text}"));
            }
        });
    });
    Fiber {
        coroutine: Some(coroutine),
        yielder: None,
    }
}

/// Runs one execution of `scenario` to its end.
///
/// # Panics
/// Inside an execution.
pub(crate) fn run(mut execution: Execution, scenario: &Rc<dyn Fn()>) -> Execution {
    execution.reset();
    let body = scenario.clone();
    execution.add_thread(fiber(0, move || body()));
    EXECUTION.with_borrow_mut(|slot| {
        assert!(slot.is_none(), "a scenario cannot explore another one");
        *slot = Some(execution);
    });
    while let Some((thread, mut coroutine)) = with(take_current).flatten() {
        match coroutine.resume(()) {
            CoroutineResult::Yield(()) => {
                let back = |e: &mut Execution| {
                    let fiber = e.threads[thread].fiber.as_mut().expect("it has run");
                    fiber.coroutine = Some(coroutine);
                };
                let _ = with(back);
            }
            CoroutineResult::Return(()) => {
                STACKS.with_borrow_mut(|stacks| stacks.push(coroutine.into_stack()));
            }
        }
    }
    let mut execution = EXECUTION.with_borrow_mut(Option::take).expect("set above");
    abandon(&mut execution);
    ends::carry_out(execution.failure.is_some());
    execution
}

fn take_current(e: &mut Execution) -> Option<(usize, Coroutine<(), (), ()>)> {
    if e.over {
        return None;
    }
    let fiber = e.threads[e.current].fiber.as_mut()?;
    Some((e.current, fiber.coroutine.take().expect("suspended")))
}

/// Fibers that a failure left suspended are leaked with everything they hold: unwinding them would run the
/// scenario's destructors in a state that is known to be wrong.
fn abandon(execution: &mut Execution) {
    for thread in &mut execution.threads {
        let coroutine = thread
            .fiber
            .as_mut()
            .and_then(|fiber| fiber.coroutine.take());
        if let Some(coroutine) = coroutine {
            if coroutine.started() {
                std::mem::forget(coroutine)
            } else {
                drop(coroutine)
            }
        }
    }
}
