//! Running code of the program: callbacks and destructors, on a worker, in a drain, or in place.
//!
//! A panic is contained: the panic hook has run, the library counts the panic and continues with the next
//! callback. While code of the program runs, the thread is marked: the code must not wait for a grace period,
//! which this thread may have to drive, or for a barrier, which would wait for the callback itself.
//!
//! # Turns
//! A *turn* says which worker runs a queue's callbacks.
//!
//! There are at most two workers, the worker and the overflow worker. While one runs a queue's callbacks, the
//! other skips that queue. No skipped queue is lost: the worker skips only the queue that the overflow worker
//! is running, and the overflow worker calls the worker when it goes to rest. Until then the overflow worker
//! cycles through all queues.

use crate::domain::env::{Env, Marked};
use crate::domain::report::Report;
use crate::domain::state::State;
use crate::domain::sweep::Until;
use crate::prim::counters::count;
use crate::queue::intrusive::{self, Head, RunHead};
use crate::queue::kind;
use crate::queue::lane::Entry;
use crate::queue::parcel::Name;
use crate::queue::per_thread::Queue;
use quiescent_engine::Lane;
use quiescent_engine::pool::TurnId;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::task::Waker;

/// Largest number of nested panic payloads that are dropped.
const PAYLOADS: u32 = 16;

impl State {
    /// Runs a callback. The thread is marked meanwhile, and a panic does not propagate.
    fn contained(&'static self, name: Name, run: impl FnOnce()) {
        let env = self.env();
        let marked = Marked::new(env);
        env.host.begin(name);
        if let Err(payload) = catch(run) {
            self.panicked(name, payload);
        }
        env.host.end();
        drop(marked);
        count(&self.counters.callbacks);
    }

    /// A callback has panicked. The panic's payload and the reporter are code of the program as well.
    pub fn panicked(&'static self, name: Name, payload: Box<dyn Any + Send>) {
        let env = self.env();
        count(&self.counters.panics);
        discard(payload);
        env.host.tell(Report::Panicked { name: name() });
    }
}

impl Env {
    /// Runs code of the program; neither its panic nor a panic of the payload's destructor propagates.
    pub fn contain(&self, run: impl FnOnce()) {
        catch(run).unwrap_or_else(discard);
    }
}

/// Runs code of the program; a panic does not propagate.
fn catch(run: impl FnOnce()) -> Result<(), Box<dyn Any + Send>> {
    catch_unwind(AssertUnwindSafe(run))
}

/// Drops a panic's payload. Its destructor is code of the program and may panic with another payload. After
/// [`PAYLOADS`] of them the last is leaked.
#[cold]
#[inline(never)]
fn discard(mut payload: Box<dyn Any + Send>) {
    for _ in 0..PAYLOADS {
        match catch(|| drop(payload)) {
            Ok(()) => return,
            Err(next) => payload = next,
        }
    }
    std::mem::forget(payload);
}

/// Wakes a task.
#[inline(never)]
pub(super) fn wake(env: &Env, waker: Waker) {
    catch(|| env.marked(|| waker.wake())).unwrap_or_else(discard);
}

/// Runs an entry of a lane of code that is done and taken out.
pub(crate) fn code(state: &'static State, entry: Entry) {
    // SAFETY: an entry of a lane of code.
    let kind = unsafe { kind::kind(entry.what) };
    state.contained(kind.name, || {
        // SAFETY: done, taken out, and run once.
        unsafe { (kind.run)(entry.object) };
    });
}

/// Runs an intrusive callback that is done and taken out.
pub(crate) fn head(state: &'static State, head: NonNull<Head>, run: RunHead) {
    state.contained(intrusive::head_name, || {
        // SAFETY: promised by the thread that queued it.
        unsafe { run(head) };
    });
}

/// Frees what the owner popped before it took the slow path.
pub(crate) fn free(kept: [Option<Entry>; 2]) {
    for entry in kept.into_iter().flatten() {
        // SAFETY: done, and popped by its owner.
        unsafe { entry.free() };
    }
}

/// The name of the turns of the worker that was started with this number.
pub fn turn_of_worker(role: u32) -> TurnId {
    TurnId::MIN | (role << 1)
}

/// The same for the overflow worker.
pub fn turn_of_overflow(role: u32) -> TurnId {
    TurnId::new(role << 1).unwrap_or(TurnId::MAX)
}

/// A worker's turn at a queue. It also ends when the thread is unwound.
struct InvokeTurn {
    state: &'static State,
    queue: &'static Queue,
    who: TurnId,
}

impl Drop for InvokeTurn {
    fn drop(&mut self) {
        self.state.end_turn(self.queue, self.who);
    }
}

impl State {
    /// Invokes the callbacks of this queue that are ready now, unless another worker has the turn. Returns
    /// how many.
    pub fn run_turn(&'static self, queue: &'static Queue, who: TurnId, until: Until) -> u64 {
        let mut core = queue.lock();
        if core.cpu.is_empty() || self.in_callback() {
            return 0;
        }
        let mut global = self.lock();
        core.cpu.advance(&global.engine);
        let takes = core.cpu.take_turn(&mut global.engine, who);
        let overflow = global.engine.calls_overflow();
        drop(global);
        let ready = Lane::CODE.map(|lane| (lane, core.cpu.list(lane).ready()));
        drop(core);
        if overflow {
            self.env().host.call_overflow(self);
        }
        if !takes {
            return 0;
        }
        let _turn = InvokeTurn {
            state: self,
            queue,
            who,
        };
        let run = |(lane, ready)| self.run_code(queue, lane, ready, until);
        ready.into_iter().map(run).sum()
    }

    fn end_turn(&'static self, queue: &'static Queue, who: TurnId) {
        let mut core = queue.lock();
        let mut global = self.lock();
        core.cpu.end_turn(&mut global.engine, who);
        let overflow = global.engine.calls_overflow();
        drop(global);
        drop(core);
        if overflow {
            self.env().host.call_overflow(self);
        }
    }

    /// The overflow worker's work in this domain, from the call until it is to rest. The worker processes
    /// what remains.
    pub fn relieve(&'static self, who: TurnId) {
        let until = Until { deadline: None };
        let mut rests = false;
        while !rests {
            let mut ran = 0;
            for queue in self.queues() {
                let now = self.run_turn(queue, who, until);
                if until.is_over(self.env()) {
                    return; // replaced: another thread has rested in its place
                }
                ran += now;
                rests = now > 0 && self.lock().engine.stand_down(false);
                if rests {
                    break;
                }
            }
            rests |= ran == 0 && self.lock().engine.stand_down(true);
        }
        self.call();
    }
}

impl Env {
    /// Ends the turns of this name: their worker was replaced.
    pub fn end_turns(&'static self, who: TurnId) {
        for state in self.states() {
            for queue in state.queues() {
                if queue.lock().cpu.turn() == Some(who) {
                    state.end_turn(queue, who);
                }
            }
        }
    }

    /// The overflow worker's work after a call: processes the domains that have called.
    pub fn relieve(&'static self, who: TurnId) {
        for state in self.states() {
            if state.lock().engine.overflow_is_on_duty() {
                state.relieve(who);
            }
            if self.host.is_dismissed() {
                return;
            }
        }
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests;
