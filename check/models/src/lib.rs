//! Models of the library's primitives (its layer `prim`): three modules with the same names in each.
//!
//! | module | memory | schedules | finds |
//! |---|---|---|---|
//! | [`explorer`] | store buffers (TSO, PSO) | few preemptions: all; random walks | missing fences, lost wake-ups |
//! | [`loom`] | C11 | all with few preemptions | missing acquire and release |
//! | [`shuttle`] | sequentially consistent | random, of long executions | wrong logic |
//!
//! The packages in `packages/` are manifests only: each compiles the library's own sources on one module, and
//! runs the scenarios of that name in `scenarios/`.

pub mod chance;
mod ends;
pub mod explorer;
pub mod loom;
pub mod shuttle;

/// Slots in a leaf of the library's slot table: few, so that scenarios run out of them.
pub const LEAF_SLOTS: usize = 4;
/// Leaves a domain can have.
pub const MAX_LEAVES: usize = 2;

/// Numbered cells of each model thread: its thread-locals.
const CELLS: usize = 2;
/// Nanoseconds of a model that each look at its clock takes.
const TICK_NS: u64 = 100;

/// What a panic said.
fn message(payload: &(dyn std::any::Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a message")
}
