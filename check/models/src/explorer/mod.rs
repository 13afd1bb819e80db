//! The store-buffer explorer: a small machine with store buffers behind the names of the library's
//! primitives, and a search of its schedules.
//!
//! # The machine
//! Model threads are fibers on one OS thread. Before every atomic access, fence, lock and futex call the
//! running fiber asks which thread continues; nothing else separates threads. A store goes into its thread's
//! buffer and reaches memory later; a thread sees its own stores at once.
//!
//! | | [`Model::Sc`] | [`Model::Tso`] | [`Model::Pso`] |
//! |---|---|---|---|
//! | relaxed store | memory | FIFO of the thread | FIFO of the thread *and location* |
//! | release store | memory | the same FIFO | after every earlier store of the thread |
//! | store after a release fence | memory | the same FIFO | after every store before the fence |
//! | SeqCst store | memory | store, then drain | store, then drain |
//! | read-modify-write, lock, unlock | memory | drain own, then memory | drain own, then memory |
//! | [`fence`]`(SeqCst)`, futex calls, spawn | – | drain own | drain own |
//! | [`heavy_fence`] | – | drain **every** thread, each at its own moment within the call | the same |
//! | [`light_fence`] | – | nothing | nothing |
//!
//! TSO is x86. PSO is what a compiler-only fence leaves on hardware that reorders stores: under it
//! `light_fence` does *not* order stores, and code that needs the order must use `Release`. So PSO is about
//! relaxed stores only. Loads are executed in program order, one at a time: the reordering of a load with a
//! later load or store is not modelled here; the loom models cover it.
//!
//! `heavy_fence` is `membarrier(2)`: the kernel interrupts each CPU at some moment of the call, so other
//! threads may run between two of these moments. A futex call drains because it contains barriers of the
//! kernel. Time-outs of [`futex_wait`] never fire (a lost wake-up is a deadlock), unless the scenario calls
//! [`allow_timeouts`]; then they fire when nothing else can run. There are no spurious wake-ups. The one
//! timer of the machine ([`set_timer`]) fires when a thread of the scenario lets its time pass
//! ([`pass_time`]).
//!
//! # Why stores may be flushed late
//! The moment at which an unread buffered store reaches memory makes no difference. So the machine decides
//! only where it matters: when a thread touches a location, every store to it that other threads still hold
//! may be flushed first (with every store that must precede it), or be ignored. The default is to flush in
//! the order in which the stores were executed, which equals a machine without buffers; each store that is
//! ignored costs one of [`Bounds::flush_delays`].
//!
//! # The explorer
//! [`explore`] enumerates all schedules with at most so many preemptions and delays, depth first.
//! [`random_walk`] samples larger scenarios. Both stop at the first failed assertion, deadlock or livelock,
//! and return a schedule as text that [`replay`] runs again, with a trace. [`long`] runs one execution of a
//! hundred thousand steps, with a clock; its seed names it.
//!
//! A preemption after which no operation of another thread conflicts with the preempted thread's next access
//! equals the same preemption one access later; such executions are counted as *pruned* and not branched any
//! further.
//!
//! ```
//! use quiescent_models::explorer::{AtomicU32, Bounds, Model, Ordering, explore, spawn};
//! use std::sync::Arc;
//!
//! let report = explore(Model::Tso, Bounds::default(), || {
//!     let words = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
//!     let other = words.clone();
//!     let thread = spawn(move || {
//!         other.0.store(1, Ordering::Relaxed);
//!         other.1.load(Ordering::Relaxed)
//!     });
//!     words.1.store(1, Ordering::Relaxed);
//!     let seen = words.0.load(Ordering::Relaxed);
//!     assert!(seen == 1 || thread.join() == 1, "both loads passed both stores");
//! });
//! assert!(report.failure.expect("store buffers").message.contains("both loads"));
//! ```

mod atomics;
mod buffer;
mod choice;
mod events;
mod exec;
mod explore;
mod mutex;
mod ops;
mod random;
mod runtime;
mod storage;

pub use crate::{LEAF_SLOTS, MAX_LEAVES};
pub use atomics::{AtomicBool, AtomicIsize, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};
pub use events::{allow_timer, pass_time, ring, set_timer, wait_for_events};
#[doc(hidden)]
pub use explore::explore_unpruned;
pub use explore::{Bounds, Failure, Report, explore, long, random_walk, replay};
pub use mutex::{Mutex, MutexGuard};
pub use ops::{
    allow_timeouts, branching, clock, doze, fence, futex_wait, futex_wake, heavy_fence,
    light_fence, nap, now_ns, random, register_heavy_fence, tls_get, tls_set,
};
pub use runtime::{JoinHandle, at_end, spawn, thread_index, yield_now};
pub use std::sync::atomic::Ordering;
pub use storage::Model;
