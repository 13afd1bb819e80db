//! The end of a thread: its slot is released, destructors may read, a leaked guard is a named holdout.

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
        for _ in 0..10_000 {
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
#[cfg_attr(quiescent_portable, ignore = "SKIPPED: needs late readers")]
fn guards_kept_in_thread_locals_end_with_the_thread() {
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

/// A pthread key of this test; its destructor is `RUN`.
static KEY: AtomicU32 = AtomicU32::new(0);

fn make_key(destructor: unsafe extern "C" fn(*mut c_void)) {
    let mut key = 0;
    // SAFETY: `key` is writable; the destructor has the right type.
    let made = unsafe { libc::pthread_key_create(&mut key, Some(destructor)) };
    assert_eq!(made, 0);
    KEY.store(key, Ordering::Relaxed);
}

fn set_key(value: usize) {
    let value = std::ptr::without_provenance(value);
    // SAFETY: the key exists; its destructors take the value for a number.
    let set = unsafe { libc::pthread_setspecific(KEY.load(Ordering::Relaxed), value) };
    assert_eq!(set, 0);
}

unsafe extern "C" fn read_again(rounds: *mut c_void) {
    read_in_a_destructor();
    if rounds.addr() > 1 {
        set_key(rounds.addr() - 1);
    }
}

#[test]
#[cfg_attr(quiescent_portable, ignore = "SKIPPED: needs late readers")]
fn destructors_of_keys_may_read() {
    in_both_modes(|| {
        make_key(read_again);
        // The C library runs key destructors four times at most. Ours comes first each time, so a
        // thread that reads in the first three rounds leaves nothing behind.
        for rounds in [1, 2, 3] {
            for read_first in [false, true] {
                READS.store(0, Ordering::Relaxed);
                on_thread("reads in key destructors", move || {
                    if read_first {
                        read(|_| ());
                    }
                    set_key(rounds);
                });
                assert_eq!(READS.load(Ordering::Relaxed), rounds as u64);
                assert_all_gone();
            }
        }
        // One that reads in the very last round may keep a slot, and blocks no grace period.
        on_thread("reads in the last round", || set_key(4));
        assert!(statistics().registered <= 1);
        assert_eq!(synchronize_timeout(PATIENCE), Ok(()));
    });
}

unsafe extern "C" fn drop_late(rounds: *mut c_void) {
    if rounds.addr() > 1 {
        assert!(in_section());
        set_key(rounds.addr() - 1);
    } else {
        let guard = LATE_GUARD.swap(std::ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: the box that `destructors_of_keys_may_drop_guards` leaked on this thread.
        drop(unsafe { Box::from_raw(guard) });
        assert!(!in_section());
    }
}

static LATE_GUARD: AtomicPtr<Guard> = AtomicPtr::new(std::ptr::null_mut());

#[test]
#[cfg_attr(quiescent_portable, ignore = "SKIPPED: needs late readers")]
fn destructors_of_keys_may_drop_guards() {
    in_both_modes(|| {
        make_key(drop_late);
        for rounds in [1, 2, 3] {
            on_thread("drops its guard in a key destructor", move || {
                let guard = Box::into_raw(Box::new(read_lock()));
                LATE_GUARD.store(guard, Ordering::Relaxed);
                set_key(rounds);
            });
            assert_all_gone();
        }
    });
}
