//! The primitives: atomics, fences, futex, lock, memory. The other modules import them from here only.
//!
//! Four sets have the same names; the build selects one:
//!
//! | set | built as | purpose |
//! |---|---|---|
//! | std | the product | the real primitives |
//! | explorer | `check/models/packages/explorer` | a store-buffer machine (TSO, PSO) |
//! | loom | `check/models/packages/loom` | the C11 model, in fenced mode: loom has no membarrier |
//! | shuttle | `check/models/packages/shuttle` | random schedules, all accesses SeqCst: models of programs |
//!
//! The explorer's `heavy_fence` drains every store buffer, as membarrier does. The packages of models compile
//! *these same sources*. Their build script sets `cfg(quiescent_model)`, and a cfg with the set's name.
//! Models have small sizes, the product the real ones (`sizes.rs`). What models and tests
//! add to these sources is in `check/models/inside`. With `--cfg quiescent_tsan` (`ci/sanitizers`) the std
//! set has a lock that ThreadSanitizer can observe, and no other difference.
//!
//! # Pairing of fences
//! [`light_fence`] and [`heavy_fence`] pair: for a reader that executes `A; light; B` and an updater that
//! executes `C; heavy; D`, either B sees C's effects or D sees A's. Two light fences order nothing between
//! themselves. A light fence costs no instruction (it only constrains the compiler), since the heavy one
//! makes every CPU that runs a thread of this process execute a full fence.
//!
//! In fenced mode (`membarrier` missing, or unwanted on isolated CPUs) both sides use [`full_fence`].

#[cfg(quiescent_model)]
pub use self::modelled::*;
#[cfg(not(quiescent_model))]
pub use self::native::*;
#[cfg(quiescent_explorer)]
pub use quiescent_models::explorer::*;
#[cfg(quiescent_loom)]
pub use quiescent_models::loom::*;
#[cfg(quiescent_shuttle)]
pub use quiescent_models::shuttle::*;

#[cfg(not(quiescent_model))]
pub use self::sizes::*;
#[cfg(quiescent_model)]
pub use self::small::*;

/// `const fn`, except under loom, whose atomics have no constant constructors.
#[macro_export]
macro_rules! const_new {
    ($(#[$meta:meta])* $vis:vis fn $($rest:tt)*) => {
        #[cfg(not(quiescent_loom))]
        $(#[$meta])* $vis const fn $($rest)*
        #[cfg(quiescent_loom)]
        $(#[$meta])* $vis fn $($rest)*
    };
    ($(#[$meta:meta])* $vis:vis unsafe fn $($rest:tt)*) => {
        #[cfg(not(quiescent_loom))]
        $(#[$meta])* $vis const unsafe fn $($rest)*
        #[cfg(quiescent_loom)]
        $(#[$meta])* $vis unsafe fn $($rest)*
    };
}

/// An array of `$n` values of an expression, which is constant except under loom.
macro_rules! array_of {
    ($value:expr; $n:expr) => {{
        #[cfg(not(quiescent_loom))]
        let array = [const { $value }; $n];
        #[cfg(quiescent_loom)]
        let array = std::array::from_fn(|_| $value);
        array
    }};
}

pub use counters::Counter;

pub mod alarm;
#[cfg(not(quiescent_model))]
pub mod arena;
pub mod asking;
pub mod counters;
pub mod fences;
pub mod fixed;
pub mod growing;
pub mod linked;
#[cfg(any(
    all(
        target_os = "linux",
        not(any(quiescent_portable, miri, quiescent_tsan, quiescent_model))
    ),
    quiescent_explorer,
    quiescent_loom
))]
pub mod lock;
#[cfg(quiescent_model)]
#[path = "../../../../check/models/inside/core/modelled.rs"]
mod modelled;
#[cfg(not(quiescent_model))]
mod native;
pub mod parked;
#[cfg(not(quiescent_model))]
mod sizes;
#[cfg(quiescent_model)]
#[path = "../../../../check/models/inside/core/small.rs"]
mod small;
pub mod teller;
#[cfg(quiescent_tsan)]
#[path = "../../../../check/models/inside/core/tsan.rs"]
mod tsan;
#[cfg(quiescent_model)]
#[path = "../../../../check/models/inside/core/witness.rs"]
pub mod witness;
