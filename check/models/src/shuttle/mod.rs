//! shuttle behind the names that the library's layer `prim` imports, with a clock.
//!
//! [loom](crate::loom) and the [store-buffer machine](crate::explorer) try *all* schedules of a few dozen
//! accesses. shuttle tries *some* schedules of a hundred thousand: whole lives of a domain, with all that it does.
//! Model threads are fibers on one OS thread, and a scheduler says which goes on before each access.
//!
//! # What it does not show
//! **Every atomic access is SeqCst here**, whatever the source says, and fences are nothing: what is found is wrong
//! logic, never a missing order. For orders there are the other two.
//! The schedules are chosen by chance: that nothing was found proves nothing.
//! No access fails for no reason, and no sleeper wakes up for none: a lost wake-up is not hidden.
//!
//! # Time
//! A look at the clock takes 100 ns; else no time passes while anybody can run. When nobody can, the clock goes on
//! to the next moment at which somebody who sleeps wants to be woken. So time-outs fire in both ways: because so
//! many looks were made meanwhile, and because nothing else is left to do. Time-outs of [`NEVER`] and more do not fire: that is
//! what a model's worker sleeps for, whose timer a thread of the scenario plays with [`nap`].
//!
//! # Schedules
//! A [`Case`] names one, in a few letters, and [`run`] runs it again:
//!
//! * a *walk* goes on with the running thread, or any other, by a probability drawn for the execution; in some of them a thread is
//!   stopped now and then, until nothing else can go on (`schedule.rs`);
//! * *pct* is shuttle's probabilistic concurrency testing: priorities by chance, and few changes of them.

mod cells;
mod run;
mod schedule;
mod sleep;

pub use crate::{LEAF_SLOTS, MAX_LEAVES};
pub use cells::{tls_get, tls_set};
pub use run::{Case, Failure, Kind, Report, run};
pub use shuttle::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};
pub use shuttle::sync::{Mutex, MutexGuard};
pub use shuttle::thread::{JoinHandle, spawn, yield_now};
pub use sleep::{NEVER, Nap, clock, doze, futex_wait, futex_wake, nap, now_ns};

use shuttle::rand::RngCore;

/// Stops the compiler only: nothing happens here.
pub fn light_fence() {}

/// Others may run; nothing has to be made visible.
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

/// Others may run here.
pub(crate) fn pass() {
    shuttle::thread::sleep(std::time::Duration::ZERO);
}

/// Carries this out when the execution is over.
pub fn at_end(end: impl FnOnce() + 'static) {
    crate::ends::add(end);
}

/// A number by chance, the same when the case is run again.
pub fn random() -> u64 {
    shuttle::rand::thread_rng().next_u64()
}
