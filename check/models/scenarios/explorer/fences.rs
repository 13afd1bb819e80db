//! Shared heavy fences on the store-buffer machine: `gp/fences.rs`.

use std::rc::Rc;

use crate::common::check;
use crate::words::Words;
use quiescent_models::explorer::{JoinHandle, allow_timeouts, spawn};
use quiescent_on_explorer::check::Model as Domain;

/// A reader, and so many updaters that need fences at the same time: of the reader and the first updater, at
/// least one sees the other's store.
fn scenario(updaters: usize) {
    let domain = Domain::new();
    let words = Rc::new(Words::default());
    let read = words.clone();
    let reader = spawn(move || {
        read.store();
        read.load()
    });
    let others: Vec<JoinHandle<()>> = (1..updaters)
        .map(|_| spawn(move || domain.fence()))
        .collect();
    words.update_beside(|| domain.fence(), || reader.join());
    others.into_iter().for_each(JoinHandle::join);
}

#[test]
fn a_fence_that_began_before_the_call_is_not_taken() {
    check("fences: two", 2, 2, || scenario(2));
}

#[test]
fn three_that_need_one_at_the_same_time() {
    check("fences: three", 2, 1, || scenario(3));
}

/// A thread whose time-out has passed issues its own fence.
#[test]
fn one_that_does_not_run_is_not_waited_for() {
    check("fences: patience", 2, 1, || {
        allow_timeouts();
        scenario(3);
    });
}
