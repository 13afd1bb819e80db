//! Sections and slots: those of the forking thread stay, all others end.

use std::time::Duration;

use quiescent::stats::holdouts;
use quiescent::{
    Options, SyncError, in_section, read_lock, statistics, synchronize, synchronize_timeout,
};
use quiescent_core::needs;

use super::everything_works;
use crate::common::children::{in_child, readers_stay_meanwhile};
use crate::common::{PATIENCE, Reader, SHORT, in_both_modes, isolated, on_thread, thread_id};

/// Whether a grace period waits for this thread only.
fn assert_only_holdout() {
    assert!(in_section());
    let own = thread_id();
    on_thread("waits", move || {
        let Err(SyncError::TimedOut { holdouts: found }) = synchronize_timeout(SHORT) else {
            panic!("a grace period ended beside an open section");
        };
        let found: Vec<u32> = found.iter().map(|holdout| holdout.thread_id).collect();
        assert_eq!(found, [own]);
        assert_eq!(holdouts().len(), 1);
    });
}

#[test]
fn a_section_of_the_forking_thread_stays_open_in_the_child() {
    needs!(fork);
    in_both_modes(|| {
        for in_flight in [false, true] {
            let outer = read_lock();
            let inner = read_lock();
            if in_flight {
                on_thread("waits", || assert!(synchronize_timeout(SHORT).is_err()));
            }
            in_child(move || {
                assert_only_holdout();
                drop(outer);
                assert_only_holdout();
                drop(inner);
                assert!(!in_section());
                on_thread("waits", || {
                    assert_eq!(synchronize_timeout(PATIENCE), Ok(()));
                });
                everything_works();
            });
            assert_only_holdout_in_parent();
        }
        everything_works();
    });
}

/// The guards have moved into the child's closure, and were dropped here with it.
fn assert_only_holdout_in_parent() {
    assert!(!in_section());
    assert_eq!(synchronize_timeout(PATIENCE), Ok(()));
}

#[test]
fn sections_of_other_threads_are_over_in_the_child() {
    needs!(fork);
    in_both_modes(|| {
        readers_stay_meanwhile();
        // More than a leaf, and one that ended inside.
        let readers: Vec<Reader> = (0..70).map(|_| Reader::inside("in the way")).collect();
        on_thread("leaky", || std::mem::forget(read_lock()));
        for _ in 0..3 {
            in_child(|| {
                assert_eq!(statistics().registered, 0, "this one has not read");
                synchronize();
                let guard = read_lock();
                assert_eq!(statistics().registered, 1);
                drop(guard);
                in_child(|| assert_eq!(statistics().registered, 1));
                everything_works();
            });
            assert_eq!(statistics().registered, 71);
            assert!(synchronize_timeout(Duration::ZERO).is_err());
        }
        readers.into_iter().for_each(Reader::end);
    });
}

#[test]
fn unregistered_sections_stay_open_in_the_child() {
    needs!(fork);
    isolated(|| {
        readers_stay_meanwhile();
        Options::new().max_threads(1).apply().expect("one leaf");
        let readers: Vec<Reader> = (0..62).map(|_| Reader::idle("has a slot")).collect();
        let unregistered: Vec<Reader> = (0..3)
            .map(|_| Reader::inside("among the unregistered readers"))
            .collect();
        let outer = read_lock();
        on_thread("sends newcomers to the other side", || {
            assert!(synchronize_timeout(SHORT).is_err());
        });
        let inner = read_lock();
        assert!(statistics().unregistered_sections >= 5);
        in_child(|| {
            let waits = || on_thread("waits", || synchronize_timeout(SHORT).is_err());
            assert!(in_section() && waits());
            drop(inner);
            assert!(in_section() && waits());
            drop(outer);
            assert!(!in_section() && !waits());
            everything_works();
        });
        assert!(!in_section());
        unregistered
            .into_iter()
            .chain(readers)
            .for_each(Reader::end);
        everything_works();
    });
}
