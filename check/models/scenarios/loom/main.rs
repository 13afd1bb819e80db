//! The loom models: the library under the C11 memory model.

mod common;

mod asking;
mod deferral;
mod domains;
mod fenced;
mod fences;
mod locks;
mod membarrier;
mod srcu;
