//! The one file that names the primitives: atomics, fences, futex, lock, thread-locals, memory.
//!
//! Four sets with the same names, chosen by how the crate is built:
//!
//! | set | built as | what it is for |
//! |---|---|---|
//! | std | the product | the real thing |
//! | explorer | `check/models/packages/explorer` | a store-buffer machine (TSO, PSO) in which `heavy_fence` drains every buffer, as membarrier does |
//! | loom | `check/models/packages/loom` | the C11 model, in fenced mode: loom has no membarrier |
//! | shuttle | `check/models/packages/shuttle` | schedules by chance of long executions, all accesses SeqCst |
//!
//! The packages of models compile *these same sources*; nothing is paraphrased. Their build script sets `cfg(quiescent_model)`,
//! and a cfg with the set's name. With `--cfg quiescent_tsan` (`ci/sanitizers`) the std
//! set has a lock that ThreadSanitizer understands, and is otherwise itself: `tsan.rs` says why.
//!
//! # The algebra of fences
//! [`light_fence`] and [`heavy_fence`] pair: for a reader that executes `A; light; B` and an updater
//! that executes `C; heavy; D`, either B sees C's effects or D sees A's. Light and light order
//! nothing between themselves. A light fence costs no instruction (it only stops the compiler), since
//! the heavy one makes every CPU that runs a thread of this process execute a full fence.
//!
//! # Thread-locals
//! [`reader`] is the hot one: the reader word this thread uses, at first the dummy, whose nesting is
//! saturated. The others are numbered cells ([`tls_get`]). None has a destructor, so they can be read
//! in signal handlers and in other thread-locals' destructors, and touching them never allocates.
//! They change by compare-and-swap: a signal handler may register its thread in the middle of its
//! registration.
//!
//! In fenced mode (`membarrier` missing, or unwelcome on isolated CPUs) both sides use
//! [`full_fence`].

#[cfg(quiescent_model)]
pub(crate) use self::model::*;
#[cfg(not(quiescent_model))]
pub(crate) use self::native::*;
#[cfg(quiescent_explorer)]
pub(crate) use quiescent_models::explorer::*;
#[cfg(quiescent_loom)]
pub(crate) use quiescent_models::loom::*;
#[cfg(quiescent_shuttle)]
pub(crate) use quiescent_models::shuttle::*;

/// `const fn` wherever the atomics' constructors are: everywhere but under loom.
macro_rules! const_new {
    ($(#[$meta:meta])* $vis:vis fn $($rest:tt)*) => {
        #[cfg(not(quiescent_loom))]
        $(#[$meta])* $vis const fn $($rest)*
        #[cfg(quiescent_loom)]
        $(#[$meta])* $vis fn $($rest)*
    };
}

/// An array of `$n` values made by an expression that is constant wherever that can be.
macro_rules! array_of {
    ($value:expr; $n:expr) => {{
        #[cfg(not(quiescent_loom))]
        let array = [const { $value }; $n];
        #[cfg(quiescent_loom)]
        let array = std::array::from_fn(|_| $value);
        array
    }};
}

pub(crate) use {array_of, const_new};

/// A statistics counter. Never part of an algorithm, so the models do not see it.
pub(crate) type Counter = std::sync::atomic::AtomicU64;

/// Cell that holds the slot of a thread in fenced mode.
pub(crate) const CELL_FENCED: usize = 0;
/// Cell that counts this thread's open sections in the crowd, those on each side in half of it.
pub(crate) const CELL_CROWD: usize = 1;
/// Cell that counts how often the exit hook found an open section.
pub(crate) const CELL_EXIT: usize = 2;
/// Cell that counts the callbacks this thread is running, one inside the other.
pub(crate) const CELL_CALLBACK: usize = 3;
/// Cell that says as which worker this thread was appointed; 0 if it was not.
#[cfg(not(quiescent_model))]
pub(crate) const CELL_ROLE: usize = 4;
/// Cell that says that this thread is between *prepare* and the end of a fork.
#[cfg(not(quiescent_model))]
pub(crate) const CELL_FORKING: usize = 5;
/// Cell that says as which *second* worker this thread was appointed; 0 if it was not.
#[cfg(not(quiescent_model))]
pub(crate) const CELL_SECOND: usize = 6;
/// Cell that says that the callback this thread runs is watched.
#[cfg(not(quiescent_model))]
pub(crate) const CELL_WATCHED: usize = 7;

/// Cell that counts this thread's open sections in the crowds of the program's own domains.
#[cfg(not(quiescent_model))]
pub(crate) const CELL_CROWDS: usize = 8;
/// Cell that holds this thread's [number](write_lock).
#[cfg(not(quiescent_model))]
pub(crate) const CELL_NUMBER: usize = 9;
/// The same in models, which have nobody in the place of the role.
#[cfg(quiescent_model)]
pub(crate) const CELL_CROWDS: usize = 4;

pub(crate) mod alarm;
#[cfg(not(quiescent_model))]
pub(crate) mod arena;
pub(crate) mod growing;
#[cfg(quiescent_model)]
mod model;
#[cfg(not(quiescent_model))]
mod native;
pub(crate) mod teller;
#[cfg(quiescent_tsan)]
mod tsan;
#[cfg(not(quiescent_model))]
pub(crate) mod write_lock;
