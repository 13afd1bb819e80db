//! Running the program's code: callbacks and destructors.
//!
//! A panic is contained: the panic hook has spoken, we count it, and go on with the next. While code
//! runs, the thread is marked: nothing in it may wait for a grace period, which could be this thread's
//! own to drive, or for a barrier, which would wait for the callback itself.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use crate::inner::domain::counters::{Counters, count};
use crate::inner::domain::process::Process;
use crate::inner::prim::{self, CELL_CALLBACK};
use crate::inner::queue::intrusive::{Head, RunHead};
use crate::inner::queue::kind;
use crate::inner::queue::lane::Entry;
use crate::report::{Report, report};
use crate::workers::ended::{self, Taken};

/// So many panics of panics are dropped.
const PAYLOADS: u32 = 16;

/// Does this thread run a callback?
pub(crate) fn in_callback() -> bool {
    prim::tls_get(CELL_CALLBACK) != 0
}

/// Marks the thread as running a callback, also while a panic unwinds.
struct Marked;

impl Marked {
    fn new() -> Marked {
        prim::tls_set(CELL_CALLBACK, prim::tls_get(CELL_CALLBACK) + 1);
        Marked
    }
}

impl Drop for Marked {
    fn drop(&mut self) {
        prim::tls_set(CELL_CALLBACK, prim::tls_get(CELL_CALLBACK) - 1);
    }
}

/// Runs something of the program's that nothing may wait in, as in a callback.
pub(crate) fn marked(run: impl FnOnce()) {
    let _marked = Marked::new();
    run();
}

fn contained(
    domain: &'static Process,
    taken: Taken,
    name: fn() -> &'static str,
    run: impl FnOnce(),
) {
    let marked = Marked::new();
    ended::note(taken, name);
    domain.watch.begin(domain, name);
    domain.watch.second.begin(name);
    without_panic(&domain.counters, name, run);
    domain.watch.end();
    domain.watch.second.end();
    ended::over();
    drop(marked);
    count(&domain.counters.callbacks);
}

/// Runs the program's code; a panic ends here.
fn without_panic(counters: &Counters, name: fn() -> &'static str, run: impl FnOnce()) {
    let result = catch_unwind(AssertUnwindSafe(|| ended::guarded(run)));
    // What a panic carried, and the reporter, are the program's code as well.
    if let Err(payload) = result {
        count(&counters.panics);
        discard(payload);
        report(Report::Panicked { name: name() });
    }
}

/// Runs an entry of a yard's code lane that is done and taken out. Nobody watches over it.
pub(crate) fn code_of(counters: &Counters, entry: Entry) {
    // SAFETY: an entry of the code lane.
    let kind = unsafe { kind::kind(entry.what) };
    marked(|| {
        // SAFETY: done, taken out, and run once.
        without_panic(counters, kind.name, || unsafe { (kind.run)(entry.object) });
    });
    count(&counters.callbacks);
}

/// The same for an intrusive callback.
pub(crate) fn head_of(counters: &Counters, head: NonNull<Head>, run: RunHead) {
    // SAFETY: as whoever queued it promised.
    marked(|| without_panic(counters, head_name, || unsafe { run(head) }));
    count(&counters.callbacks);
}

/// Drops what a panic carried. It is the program's too: its destructor may panic as well, with another
/// one. After a few of them the last is leaked.
pub(crate) fn discard(mut payload: Box<dyn Any + Send>) {
    for _ in 0..PAYLOADS {
        match catch_unwind(AssertUnwindSafe(|| ended::guarded(|| drop(payload)))) {
            Ok(()) => return,
            Err(next) => payload = next,
        }
    }
    std::mem::forget(payload);
}

/// Runs an entry of the code lane that is done and taken out.
pub(crate) fn code(domain: &'static Process, taken: Taken, entry: Entry) {
    // SAFETY: an entry of the code lane.
    let kind = unsafe { kind::kind(entry.what) };
    contained(domain, taken, kind.name, || {
        // SAFETY: done, taken out, and run once.
        unsafe { (kind.run)(entry.object) };
    });
}

/// What intrusive callbacks are called: their functions have no names.
pub(crate) fn head_name() -> &'static str {
    "an intrusive callback"
}

/// Runs an intrusive callback that is done and taken out.
pub(crate) fn head(domain: &'static Process, taken: Taken, head: NonNull<Head>, run: RunHead) {
    contained(domain, taken, head_name, || {
        // SAFETY: as whoever queued it promised.
        unsafe { run(head) };
    });
}

/// Frees what the owner popped before it needed help.
pub(crate) fn free(kept: [Option<Entry>; 2]) {
    for entry in kept.into_iter().flatten() {
        // SAFETY: done, and popped by its owner.
        unsafe { entry.free() };
    }
}
