//! The end of a thread: its slot is released, destructors may read, a leaked guard is a named holdout.

#[cfg(target_os = "linux")]
mod keys;

use std::cell::RefCell;
use std::ffi::c_void;
use std::mem;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use crate::common::{PATIENCE, SHORT, in_both_modes, on_thread};
use quiescent::{
    Guard, Options, RcuCell, SyncError, in_section, read, read_lock, statistics, synchronize,
    synchronize_timeout,
};

static READS: AtomicU64 = AtomicU64::new(0);

/// What destructors do in these tests.
fn read_in_a_destructor() {
    static CELL: OnceLock<RcuCell<u64>> = OnceLock::new();
    let cell = CELL.get_or_init(|| RcuCell::new(7));
    let value = read(|guard| read(|_| *cell.load(guard)));
    assert_eq!(value, 7);
    READS.fetch_add(1, Ordering::Relaxed);
}

/// Nothing is left behind: no thread is registered, and a grace period ends.
#[track_caller]
fn assert_all_gone() {
    assert_eq!(statistics().registered, 0);
    assert_eq!(synchronize_timeout(PATIENCE), Ok(()));
    assert!(!in_section());
}

#[test]
fn a_slot_comes_back_when_its_thread_ends() {
    in_both_modes(|| {
        // One leaf: 62 threads.
        Options::new().max_threads(1).apply().expect("one leaf");
        // Wine takes a minute for as many as Linux does in a second.
        let threads = if cfg!(target_os = "linux") {
            10_000
        } else {
            1000
        };
        for _ in 0..threads {
            on_thread("short", || {
                read(|_| ());
                let guards: Vec<Guard> = (0..3).map(|_| read_lock()).collect();
                drop(guards);
            });
        }
        assert_eq!(
            statistics().unregistered_sections,
            0,
            "slots ran out: some did not come back"
        );
        assert_all_gone();
    });
}

#[test]
fn slots_of_many_threads_at_once_come_back() {
    in_both_modes(|| {
        for _ in 0..3 {
            let readers: Vec<_> = (0..150)
                .map(|_| crate::common::Reader::idle("many"))
                .collect();
            assert_eq!(statistics().registered, 150);
            synchronize();
            readers.into_iter().for_each(crate::common::Reader::end);
            assert_all_gone();
        }
        assert_eq!(statistics().unregistered_sections, 0);
    });
}

#[test]
fn a_guard_leaked_by_a_dead_thread_is_a_holdout_without_a_name() {
    in_both_modes(|| {
        let ids: Vec<u32> = (0..2)
            .map(|_| {
                on_thread("leaky", || {
                    mem::forget(read_lock());
                    crate::common::thread_id()
                })
            })
            .collect();
        crate::common::until("the kernel forgets them", || {
            !ids.iter().any(|&id| crate::common::thread_lives(id))
        });
        for _ in 0..3 {
            let Err(SyncError::TimedOut { holdouts }) = synchronize_timeout(SHORT) else {
                panic!("a grace period ended beside a leaked guard");
            };
            let found: Vec<u32> = holdouts.iter().map(|holdout| holdout.thread_id).collect();
            assert_eq!(found, ids);
            assert!(
                holdouts.iter().all(|h| h.name.is_none() && h.nesting == 1),
                "{holdouts:?}"
            );
            assert!(holdouts[0].to_string().contains("ended inside a section"));
        }
        // No other thread gets their slots.
        assert_eq!(statistics().registered, 2);
        on_thread("next", || read(|_| assert_eq!(statistics().registered, 3)));
        assert_eq!(statistics().registered, 2);
    });
}

/// Reads when it is dropped.
struct ReadsOnDrop;

impl Drop for ReadsOnDrop {
    fn drop(&mut self) {
        read_in_a_destructor();
    }
}

thread_local! {
    static EARLY: ReadsOnDrop = const { ReadsOnDrop };
    static LATE: ReadsOnDrop = const { ReadsOnDrop };
    static KEPT: RefCell<Vec<Guard>> = const { RefCell::new(Vec::new()) };
}

#[test]
fn destructors_of_thread_locals_may_read() {
    in_both_modes(|| {
        for _ in 0..100 {
            on_thread("reads before, between and after", || {
                EARLY.with(|_| ());
                read(|_| ());
                LATE.with(|_| ());
            });
            on_thread("reads in destructors only", || {
                EARLY.with(|_| ());
                LATE.with(|_| ());
            });
        }
        assert_eq!(READS.load(Ordering::Relaxed), 400);
        assert_all_gone();
    });
}

#[test]
fn guards_kept_in_thread_locals_end_with_the_thread() {
    needs!(late_readers);
    in_both_modes(|| {
        for order in 0..2 {
            on_thread("keeper", move || {
                if order == 0 {
                    EARLY.with(|_| ());
                }
                KEPT.with(|kept| kept.borrow_mut().extend((0..3).map(|_| read_lock())));
                EARLY.with(|_| ());
                assert!(in_section());
            });
            assert_all_gone();
        }
    });
}
