//! shuttle behind the names that the library's layer `prim` imports, with a clock.
//!
//! [loom](crate::loom) and the [store-buffer machine](crate::explorer) try *all* schedules of a few dozen
//! accesses. shuttle tries *some* schedules of a hundred thousand: long executions of a domain, with all its
//! features. Model threads are fibers on one OS thread, and a scheduler chooses the next one before each
//! access.
//!
//! # Limits
//! **Every atomic access is SeqCst here**, whatever the source says, and fences have no effect: it finds
//! wrong logic, never a missing order. The other two models find orders. The schedules are random: a run
//! without a finding proves nothing. No access fails spuriously, and no sleeper wakes up spuriously: a lost
//! wake-up is not hidden.
//!
//! # Time
//! Reading the clock takes 100 ns; otherwise no time passes while any thread can run. When none can, the
//! clock advances to the next time-out of a sleeper. So time-outs fire in both ways: after enough readings of
//! the clock, and when nothing else can run. Time-outs of [`NEVER`] and more do not fire: a model's worker
//! sleeps with them, and a thread of the scenario acts as its timer with [`nap`].
//!
//! # Schedules
//! [`run`] takes any [scheduler] of shuttle's; its seed names the schedules, and the same seed
//! runs them again. Shuttle's own calls (`shuttle::check_random`) do, too; then a sleeper's time passes
//! whenever shuttle lets it look.

mod cells;
mod run;
mod sleep;

pub use crate::{LEAF_SLOTS, MAX_LEAVES, on_large_stack};
pub use cells::{of_execution, thread_index, tls_get, tls_set};
pub use run::{begin, run};
pub use shuttle::scheduler;
pub use shuttle::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};
pub use shuttle::sync::{Mutex, MutexGuard};
pub use shuttle::thread::{JoinHandle, spawn, yield_now};
pub use sleep::{NEVER, clock, doze, futex_wait, futex_wake, nap, now_ns};

/// A fence for the compiler only: it has no effect here.
pub fn light_fence() {}

/// Other threads may run; every store is visible already.
///
/// # Errors
/// Never.
pub fn heavy_fence() -> Result<(), i32> {
    pass();
    Ok(())
}

/// Registering is not modelled.
///
/// # Errors
/// Never.
pub fn register_heavy_fence() -> Result<(), i32> {
    Ok(())
}

/// Other threads may run here.
pub(crate) fn pass() {
    shuttle::thread::sleep(std::time::Duration::ZERO);
}

/// Runs this when the execution is over.
pub fn at_end(end: impl FnOnce() + 'static) {
    crate::ends::add(end);
}
