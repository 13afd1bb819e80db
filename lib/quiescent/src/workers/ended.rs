//! Callbacks that end the thread they run on, with `pthread_exit`.
//!
//! If a worker's thread ends in a callback, the callback is over: what it counted for is reported, another
//! thread takes over the role and runs the remaining callbacks. Nothing is lost, because the worker holds
//! only this one callback of a queue; and nothing runs twice, because the callback was removed from the queue
//! before it ran.
//!
//! # Detection
//! The running callback is recorded in a thread-local ([`Taken`]), outside of the stack.
//!
//! * The GNU C library ends a thread by *forced unwinding*: destructors run as for a panic, but the unwinding
//!   must not be stopped, and `catch_unwind` ends the process if it tries. So a destructor inside of
//!   `catch_unwind` detects it ([`guarded`]), passes the role on while the thread is still intact, and ends
//!   the thread without unwinding the frames above: they are the library's and hold nothing. It does that
//!   with a second `pthread_exit`, called so that there is no caller to unwind; the C library then goes
//!   straight to the end of the thread, and runs the destructors of its thread-locals.
//! * Where panics abort, and with other C libraries, no destructor of a frame runs. There the destructor of a
//!   thread-specific key detects it.
//!
//! If no other thread can be started, this one does not end: it continues as the worker from where it is.
//!
//! On threads of the program (in [`drain`](crate::drain())) neither is done: the frames above the callback
//! are the program's and must not be skipped, and the process ends as at every other `catch_unwind`.

use std::cell::Cell;
use std::ffi::c_void;

use crate::watch::report::{Report, report};
use crate::workers::Workers;
use crate::workers::roles::{OVERFLOW, is_ours};
use quiescent_core::domain::host::Taken;
use quiescent_core::domain::run::turn_of_worker;
use quiescent_core::domain::state::State;
use quiescent_core::os::{AtExit, end_here};
use quiescent_core::prim::counters::{count, uncount};

/// A callback, and the function that returns its name.
type Running = (Taken, fn() -> &'static str);

thread_local! {
    /// Has no destructor, so it is valid to the very end of the thread.
    static RUNNING: Cell<Option<Running>> = const { Cell::new(None) };
}

/// This thread is about to run it.
pub(crate) fn note(taken: Taken, name: fn() -> &'static str) {
    RUNNING.set(Some((taken, name)));
}

/// Code of the program has returned. True if that was a callback. A callback that has run others inside (what
/// a dropped domain left) counts as over when the last of those is.
pub(crate) fn over() -> bool {
    RUNNING.take().is_some()
}

/// Runs code of the program inside of `catch_unwind`, and detects if it ends the thread.
pub(crate) fn guarded(workers: &'static Workers, run: impl FnOnce()) {
    let inside = Inside(workers);
    run();
    std::mem::forget(inside);
}

struct Inside(&'static Workers);

impl Drop for Inside {
    /// Unwinding: a panic, or the end of the thread.
    fn drop(&mut self) {
        if !std::thread::panicking() && is_ours() {
            self.0.succeed();
            // SAFETY: the frames above belong to this library, and hold nothing.
            unsafe { end_here() };
        }
    }
}

impl Workers {
    /// This thread ends inside the program's code, and is or was the worker. Returns when another thread is.
    fn succeed(&'static self) {
        if let Some((taken, name)) = RUNNING.take() {
            count(&self.env().state.counters.callbacks);
            count(&self.env().state.counters.exits);
            report_ran(taken);
            report(self.env(), Report::Exited { name: name() });
        }
        // If it was a reporter, other reports can be made from here on.
        self.env().states().for_each(|state| state.telling.leave());
        self.watch.telling.leave();
        // Ends the callback as if it had returned: the thread's own destructors may wait, and so may the
        // callbacks that this thread runs below.
        self.env().local().end_callbacks();
        if OVERFLOW.get() != 0 {
            return self.lose_overflow();
        }
        if let Some(role) = self.watch.resign() {
            // Its frame is skipped, and with it what ends its turn.
            self.env().end_turns(turn_of_worker(role - 1));
            if self.spawn(c"quiescent", move || self.serve(role)).is_err() {
                count(&self.env().state.counters.worker_errors);
                self.serve(role);
            } else {
                uncount(&self.env().state.counters.helpers);
            }
        } else {
            self.watch.come_back();
            uncount(&self.env().state.counters.helpers);
        }
        self.watch.role.leave();
    }
}

fn report_ran(taken: Taken) {
    let Taken {
        queue,
        lane,
        start,
        end,
        era,
    } = taken;
    State::of(queue).report_ran_since(era, queue, lane, start..end);
}

static AT_END: AtExit = AtExit::new(at_end);

/// Notices the end of this thread, a worker, also where frames are not unwound.
pub(crate) fn is_noticed(workers: &'static Workers) {
    // SAFETY: `at_end` takes these; they live forever.
    unsafe { AT_END.arm(std::ptr::from_ref(workers).cast()) };
}

/// Called when a thread that was a worker has ended.
unsafe extern "C" fn at_end(workers: *mut c_void) {
    if is_ours() {
        // SAFETY: `is_noticed` stored a 'static reference.
        unsafe { &*workers.cast::<Workers>() }.succeed();
    }
}
