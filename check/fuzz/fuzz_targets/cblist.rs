//! Bytes to operations on two callback lists, compared after each with a model that knows no segments.
//!
//! The model is that of the engine's own test, `lib/engine/src/common/cblist/tests/model.rs`: the same source, not a copy.

#![no_main]

extern crate alloc;

// Its `#[test]` is left out here, and what that alone imports is not used.
#[allow(unused_imports)]
#[path = "../../../lib/engine/src/common/cblist/tests/model.rs"]
mod model;

use libfuzzer_sys::fuzz_target;

// The model names them as a part of the engine does.
mod common {
    pub use quiescent_engine::{cblist, host, seq};
}

fuzz_target!(|bytes: &[u8]| {
    let actions: Vec<_> = bytes
        .chunks_exact(3)
        .map(|it| (it[0], it[1], it[2]))
        .collect();
    if let Err(difference) = model::run(&actions) {
        panic!("{difference}");
    }
});
