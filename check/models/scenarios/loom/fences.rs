//! Shared heavy fences under C11: `gp/fences.rs`.

use std::sync::Arc;

use crate::common::{check_unfenced, join, start};
use crate::words::Words;
use quiescent_models::loom::thread;
use quiescent_on_loom::check::Model as Domain;

/// A reader, an updater, and a thread that issues one fence after the other: of the first two at least one
/// sees the other's store, whichever thread's fence the updater used.
#[test]
fn a_fence_of_another_thread_orders_as_one_s_own() {
    check_unfenced("fences: shared", 3, || {
        let domain = Domain::new();
        let words = Arc::new(Words::default());
        let reader = start(&words, |words| {
            words.store();
            words.load()
        });
        let other = thread::spawn(move || {
            domain.fence();
            domain.fence();
        });
        words.update_beside(|| domain.fence(), || join(reader));
        join(other);
    });
}
