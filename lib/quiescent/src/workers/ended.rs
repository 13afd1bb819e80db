//! Callbacks that end the thread they run on, with `pthread_exit`.
//!
//! A worker that ends in a callback is a callback that is over, and a role to give on: what the callback counted for is
//! reported, another thread gets the role, and the rest goes on there. Nothing is lost, since the worker keeps nothing
//! of a queue in its hands but the one callback; and nothing is run twice, since that was taken out before it ran.
//!
//! # How it is noticed
//! What is running is noted in the thread itself ([`Taken`]), outside its stack.
//!
//! * The C library of GNU ends a thread by *forced unwinding*: destructors run as for a panic, but nobody may stop it, and
//!   `catch_unwind` ends the process if it tries. So a destructor inside of `catch_unwind` notices
//!   ([`guarded`]), gives the role on while the thread is still whole, and ends the thread past all frames above it:
//!   they are ours and hold nothing. That is a second `pthread_exit`, called so that there is no caller to unwind;
//!   the C library then goes straight to the end of the thread, and runs the destructors of its thread-locals.
//! * Where panics abort, and with other C libraries, no destructor of a frame runs. There the destructor of a key of the
//!   thread notices.
//!
//! If no other thread is to be had, this one does not end: it goes on as the worker, from where it is.
//!
//! On threads of the program (in [`drain`](crate::drain())) neither is done: what is above the callback is the program's, its
//! frames may not be skipped, and the process ends as at every other `catch_unwind`.

use quiescent_engine::Pos;
use quiescent_engine::cpu::Lane as Which;

use crate::inner::queue::per_thread::Queue;

/// A callback that was taken out of a queue, to be run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(crate) queue: &'static Queue,
    pub(crate) lane: Which,
    pub(crate) start: Pos,
    pub(crate) end: Pos,
    /// The process that took it, counted in forks.
    pub(crate) era: u64,
}

#[cfg(quiescent_model)]
pub(crate) use model::{guarded, note, over};
#[cfg(not(quiescent_model))]
pub(crate) use real::{guarded, is_noticed, note, over};

#[cfg(quiescent_model)]
mod model {
    use super::Taken;

    pub(crate) fn note(_taken: Taken, _name: fn() -> &'static str) {}

    pub(crate) fn over() {}

    pub(crate) fn guarded(run: impl FnOnce()) {
        run();
    }
}

#[cfg(not(quiescent_model))]
mod real {
    use std::cell::Cell;
    use std::ffi::c_void;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::Taken;
    use crate::inner::domain::counters::{count, uncount};
    use crate::inner::domain::env::Env;
    use crate::inner::prim::{self, CELL_CALLBACK, CELL_ROLE, CELL_SECOND};
    use crate::report::{Report, report};
    use crate::workers::overflow::turn_of_worker;
    use crate::workers::pool;

    /// A callback, and who tells its name.
    type Running = (Taken, fn() -> &'static str);

    thread_local! {
        /// Has no destructor, so it is there to the very end of the thread.
        static RUNNING: Cell<Option<Running>> = const { Cell::new(None) };
    }

    /// This thread is about to run it.
    pub(crate) fn note(taken: Taken, name: fn() -> &'static str) {
        RUNNING.set(Some((taken, name)));
    }

    /// It has returned.
    pub(crate) fn over() {
        RUNNING.set(None);
    }

    /// Runs code of the program's inside of `catch_unwind`, and notices if that ends the thread.
    pub(crate) fn guarded(run: impl FnOnce()) {
        let inside = Inside;
        run();
        std::mem::forget(inside);
    }

    /// Is the calling thread a worker, or was it one?
    fn is_ours() -> bool {
        prim::tls_get(CELL_ROLE) != 0 || prim::tls_get(CELL_SECOND) != 0
    }

    struct Inside;

    impl Drop for Inside {
        /// Unwinding: a panic, or the end of the thread.
        fn drop(&mut self) {
            if !std::thread::panicking() && is_ours() {
                prim::env().succeed();
                end_here();
            }
        }
    }

    impl Env {
        /// This thread ends inside the program's code, and is or was the worker. Returns once somebody else is.
        fn succeed(&'static self) {
            if let Some((taken, name)) = RUNNING.take() {
                count(&self.state.counters.callbacks);
                count(&self.state.counters.exits);
                taken.report();
                report(Report::Exited { name: name() });
            }
            // It may have been a reporter: others are told from here on.
            self.states().for_each(|state| state.telling.leave());
            self.watch.telling.leave();
            // As if the callback had returned: the threads' own destructors may wait, and so may whom we serve below.
            prim::tls_set(CELL_CALLBACK, 0);
            if prim::tls_get(CELL_SECOND) != 0 {
                return self.lose_second();
            }
            if let Some(role) = self.watch.resign() {
                self.end_turns(turn_of_worker(role - 1)); // its frame is skipped, and with it what ends its turn
                let successor = move || {
                    count(&self.state.counters.helpers);
                    self.serve(role);
                };
                if pool::spawn(c"quiescent", successor).is_err() {
                    count(&self.state.counters.worker_errors);
                    self.serve(role);
                } else {
                    uncount(&self.state.counters.helpers);
                }
            } else {
                self.watch.come_back();
                uncount(&self.state.counters.helpers);
            }
            self.watch.leave();
        }
    }

    impl Taken {
        fn report(self) {
            self.queue.state().report_ran_since(
                self.era,
                self.queue,
                self.lane,
                self.start..self.end,
            );
        }
    }

    /// The key + 1; 0 while there is none.
    static KEY: AtomicU32 = AtomicU32::new(0);

    /// The end of this thread, which is a worker, is noticed from now on, also where frames are not unwound.
    pub(crate) fn is_noticed() {
        let mut key = KEY.load(Ordering::Acquire);
        if key == 0 {
            let mut new: libc::pthread_key_t = 0;
            // SAFETY: `new` is writable, and the hook has the type asked for.
            if unsafe { libc::pthread_key_create(&mut new, Some(at_end)) } != 0 {
                return;
            }
            let order = (Ordering::AcqRel, Ordering::Acquire);
            key = match KEY.compare_exchange(0, new + 1, order.0, order.1) {
                Ok(_) => new + 1,
                Err(other) => {
                    // SAFETY: created above, and nobody has used it.
                    unsafe { libc::pthread_key_delete(new) };
                    other
                }
            };
        }
        // SAFETY: the key is valid; the value is never followed.
        unsafe { libc::pthread_setspecific(key - 1, (&raw const KEY).cast()) };
    }

    /// A thread that has been a worker has ended.
    unsafe extern "C" fn at_end(_: *mut c_void) {
        if is_ours() {
            prim::env().succeed();
        }
    }

    unsafe extern "C-unwind" {
        fn pthread_exit(value: *mut c_void) -> !;
    }

    /// Ends this thread without a look at the frames above.
    ///
    /// The unwinder takes a return address of zero for the end of the stack. There the C library has nobody left to unwind,
    /// and jumps to its own frame at the bottom of the thread.
    fn end_here() -> ! {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        // SAFETY: the frames between here and the thread's first one belong to this library, hold no lock and nothing of
        // the program's, and are never used again; the stack is aligned as for a call.
        unsafe {
            std::arch::asm!(
                "xor edi, edi",
                "and rsp, -16",
                "push rdi",
                "jmp {exit}",
                exit = sym pthread_exit,
                options(noreturn),
            );
        }
        #[cfg(all(target_arch = "aarch64", not(miri)))]
        // SAFETY: as above.
        unsafe {
            std::arch::asm!(
                "mov x0, xzr",
                "mov x30, xzr",
                "b {exit}",
                exit = sym pthread_exit,
                options(noreturn),
            );
        }
        #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
        {
            let _ = pthread_exit as *const c_void;
            // Somebody else does its work; this thread sleeps.
            loop {
                // SAFETY: waits for a signal.
                unsafe { libc::pause() };
            }
        }
    }
}
