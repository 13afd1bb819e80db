//! Models of the library's primitives (its layer `prim`): three modules with the same interface.
//!
//! | module | memory | schedules | finds |
//! |---|---|---|---|
//! | [`explorer`] | store buffers (TSO, PSO) | all short ones, some long ones | missing fences, wrong logic |
//! | [`loom`] | C11 | all with few preemptions | missing acquire and release |
//! | [`shuttle`] | sequentially consistent | random | wrong logic, in models of programs |
//!
//! The packages in `packages/` are manifests only: each compiles the library's own sources on one module, and
//! runs the scenarios of that name in `scenarios/`.

pub mod chance;
mod ends;
pub mod explorer;
pub mod loom;
pub mod shuttle;

/// Slots in a leaf of the library's slot table: few, so that scenarios use them all.
pub const LEAF_SLOTS: usize = 4;
/// The largest number of leaves of a domain.
pub const MAX_LEAVES: usize = 2;

/// The number of cells of each model thread: its thread-locals.
const CELLS: usize = 2;
/// Nanoseconds of a model that each reading of its clock takes.
const TICK_NS: u64 = 100;

/// Calls `make` on a stack of its own, because those of model threads are small. It must not wait.
pub fn on_large_stack<R>(make: impl FnOnce() -> R) -> R {
    let stack = corosensei::stack::DefaultStack::new(256 << 10);
    corosensei::on_stack(stack.expect("memory for a stack"), make)
}

/// The message of a panic.
fn message(payload: &(dyn std::any::Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a message")
}
