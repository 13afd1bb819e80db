//! Shared heavy fences under C11: `gp/fences.rs`.

use std::sync::Arc;

use crate::common::{check_unfenced, join};
use quiescent_models::loom::Ordering::Relaxed;
use quiescent_models::loom::{AtomicU32, light_fence, thread};
use quiescent_on_loom::check::Model as Domain;

/// The words that the two sides write and read.
struct Words {
    readers: AtomicU32,
    updaters: AtomicU32,
}

/// A reader, an updater, and a thread that issues one fence after the other: of the first two at least one
/// sees the other's store, whichever thread's fence the updater used.
#[test]
fn a_fence_of_another_thread_orders_as_one_s_own() {
    check_unfenced("fences: shared", 3, || {
        let domain = Domain::new();
        let words = Arc::new(Words {
            readers: AtomicU32::new(0),
            updaters: AtomicU32::new(0),
        });
        let read = words.clone();
        let reader = thread::spawn(move || {
            read.readers.store(1, Relaxed);
            light_fence();
            read.updaters.load(Relaxed)
        });
        let other = thread::spawn(move || {
            domain.fence();
            domain.fence();
        });
        words.updaters.store(1, Relaxed);
        domain.fence();
        let seen = words.readers.load(Relaxed);
        let saw = reader.join().expect("the reader does not panic");
        assert!(
            saw == 1 || seen == 1,
            "neither saw the other: no fence came between"
        );
        join(other);
    });
}
