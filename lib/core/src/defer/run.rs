//! Running code of the program: callbacks and destructors, on a worker, in a drain, or in place.
//!
//! A panic is contained: the panic hook has run, the library counts the panic and continues with the next
//! callback. While code of the program runs, the thread is marked: the code must not wait for a grace period,
//! which this thread may have to drive, or for a barrier, which would wait for the callback itself.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use crate::parts::env::{Env, Marked};
use crate::parts::shell::{News, Taken};
use crate::parts::state::State;
use crate::parts::tasks::Chosen;
use crate::prim::counters::count;
use crate::queue::intrusive::{self, Head, RunHead};
use crate::queue::kind;
use crate::queue::lane::Entry;
use crate::queue::parcel::Name;

/// Largest number of nested panic payloads that are dropped.
const PAYLOADS: u32 = 16;

impl State {
    /// Runs a callback. The thread is marked meanwhile, and a panic does not propagate.
    fn contained(&'static self, taken: Taken, name: Name, run: impl FnOnce()) {
        let env = self.env();
        let marked = Marked::new(env);
        env.shell.begin(name, Some(taken));
        if let Err(payload) = catch(env, run) {
            self.panicked(name, payload);
        }
        env.shell.end();
        drop(marked);
        count(&self.counters.callbacks);
    }

    /// A callback has panicked. The panic's payload and the reporter are code of the program as well.
    pub fn panicked(&'static self, name: Name, payload: Box<dyn Any + Send>) {
        let env = self.env();
        count(&self.counters.panics);
        discard(env, payload);
        env.shell.tell(News::Panicked { name: name() });
    }
}

impl Env {
    /// Runs code of the program; neither its panic nor a panic of the payload's destructor propagates.
    pub fn contain(&self, run: impl FnOnce()) {
        catch(self, run).unwrap_or_else(|payload| discard(self, payload));
    }
}

/// Runs code of the program; a panic does not propagate.
fn catch(env: &Env, run: impl FnOnce()) -> Result<(), Box<dyn Any + Send>> {
    let mut run = Some(run);
    catch_unwind(AssertUnwindSafe(|| {
        env.shell.guarded(&mut || {
            if let Some(run) = run.take() {
                run();
            }
        });
    }))
}

/// Drops a panic's payload. Its destructor is code of the program and may panic with another payload. After
/// [`PAYLOADS`] of them the last is leaked.
fn discard(env: &Env, mut payload: Box<dyn Any + Send>) {
    for _ in 0..PAYLOADS {
        match catch(env, || drop(payload)) {
            Ok(()) => return,
            Err(next) => payload = next,
        }
    }
    std::mem::forget(payload);
}

impl<W> Chosen<W> {
    /// Wakes them. A waker may poll directly, but must not wait for the calling thread, which is busy.
    pub fn wake(self, env: &Env) {
        for waker in self.wakers() {
            let woken = catch_unwind(AssertUnwindSafe(|| env.marked(|| waker.wake())));
            woken.unwrap_or_else(|payload| discard(env, payload));
        }
    }
}

/// Runs an entry of a lane of code that is done and taken out.
pub(crate) fn code(state: &'static State, taken: Taken, entry: Entry) {
    // SAFETY: an entry of a lane of code.
    let kind = unsafe { kind::kind(entry.what) };
    state.contained(taken, kind.name, || {
        // SAFETY: done, taken out, and run once.
        unsafe { (kind.run)(entry.object) };
    });
}

/// Runs an intrusive callback that is done and taken out.
pub(crate) fn head(state: &'static State, taken: Taken, head: NonNull<Head>, run: RunHead) {
    state.contained(taken, intrusive::head_name, || {
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
