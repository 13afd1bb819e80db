//! The loom models: the library under the C11 memory model.

use quiescent_models::loom as model;
use quiescent_on_loom as rcu;

mod common;
#[path = "../in_order.rs"]
mod in_order;
#[path = "../side.rs"]
mod side;
#[path = "../words.rs"]
mod words;

mod asking;
mod bucket;
mod counts;
mod deferral;
mod domains;
mod fenced;
mod fences;
mod locks;
mod map;
mod membarrier;
mod slab;
mod srcu;
