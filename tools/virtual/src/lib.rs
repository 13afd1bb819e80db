//! Virtual time: the library's primitives for the machine of threads in `sim`.
//!
//! A thread is a fiber on the calling OS thread. A [`Machine`] has a queue of events, and its time is that of
//! the event it is at: a fiber takes time only where it sleeps, or is busy for the cost of something. Every
//! fiber has a processor of its own. The same events in the same order give the same run; nothing depends on
//! addresses or on the host's clock.
//!
//! The package in `core/` is a manifest only: it compiles the sources of `lib/core` on the primitives that
//! this crate exports, under the names that the core's layer `prim` imports. Atomics are the standard
//! library's: only one fiber runs at a time, and fibers are switched by calls of this crate only.
//!
//! # What takes time
//! A process-wide fence, a spin and a doze keep the fiber busy for their price, and a wake-up reaches it
//! after its price. The cost of work under a lock (steps of the engine, a trip to the lock) is a *debt*: the
//! fiber is busy for it before it next takes a lock while it holds none, and wherever it sleeps or is busy.
//! So only the sweep's lock, which is held during a fence, is ever contended. A *stepwise* machine also lets
//! other fibers run before each lock.
//!
//! # What it does not show
//! Memory ordering: every access is seen at once. Other processes, signals, `fork`, processors that fibers
//! share.

mod alarm;
pub mod events;
mod lock;
mod machine;
mod shared;
mod time;

pub use alarm::{ring, set_timer, wait_for_events};
pub use lock::{Mutex, MutexGuard};
pub use machine::Machine;
pub use shared::{Host, Prices, Setup, at_end, tls_get, tls_set};
pub use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
pub use time::{
    asked, busy, charge, coarse_ns, doze, fence, futex_wait, futex_wake, futex_wake_all,
    heavy_fence, hold_is_over, light_fence, me, need_worker, now, now_ns, observe_free,
    observe_run, observe_step, refilled, refills, register_heavy_fence, settle, sleep_until, spawn,
    spin,
};
