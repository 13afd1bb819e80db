//! Threads that end.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use quiescent::{
    Retired, SyncError, barrier, defer, drain, read, read_lock, statistics, synchronize_timeout,
};

use crate::common::children::{in_child, readers_stay_meanwhile};
use crate::common::deferral::{Ledger, WAYS, queue_somehow, until_at_rest};
use crate::common::{PATIENCE, SHORT, in_both_modes, on_thread, thread_id, until};

/// Retires `count` objects of plain memory.
fn retire_plain(count: u64) {
    for n in 0..count {
        // SAFETY: a box of ours, retired once.
        unsafe { Retired::from_raw(NonNull::from(Box::leak(Box::new([n; 4])))).retire() };
    }
}

#[test]
fn full_queues_outlive_their_threads() {
    in_both_modes(|| {
        const EACH: usize = 30 * WAYS;
        let ledger = Ledger::new(8 * EACH);
        let reader = crate::common::Reader::inside("keeps it");
        for n in 0..8 {
            // One after the other, in the same slot: each inherits, and adds.
            on_thread("full", move || {
                retire_plain(3000);
                (n * EACH..(n + 1) * EACH).for_each(|n| queue_somehow(ledger.thing(n), n));
            });
            assert_eq!(ledger.count(), 0, "the reader is still there");
        }
        let held = statistics().queued;
        assert!(held >= (8 * (3000 + EACH)) as u64, "{held}");
        reader.end();
        barrier();
        ledger.assert_all_once();
        until_at_rest();
        assert_eq!((statistics().queued, statistics().registered), (0, 0));
    });
}

#[test]
fn a_thread_that_ends_inside_a_section_leaves_its_queue_and_its_slot() {
    needs!(fork);
    in_both_modes(|| {
        readers_stay_meanwhile();
        let ledger = Ledger::new(2 * WAYS);
        let gone = on_thread("leaky", move || {
            std::mem::forget(read_lock());
            (0..WAYS).for_each(|n| queue_somehow(ledger.thing(n), n));
            retire_plain(300);
            thread_id()
        });
        // No thread gets its slot, and nothing is freed: code may still rely on its section.
        for _ in 0..3 {
            on_thread("next", || {
                let guard = read_lock();
                assert_eq!(statistics().registered, 2);
                drop(guard);
                retire_plain(10);
            });
            let Err(SyncError::TimedOut { holdouts }) = synchronize_timeout(SHORT) else {
                panic!("a grace period ended beside a leaked guard");
            };
            assert_eq!(holdouts.len(), 1);
            assert_eq!(holdouts[0].thread_id, gone);
        }
        (WAYS..2 * WAYS).for_each(|n| queue_somehow(ledger.thing(n), n));
        let drained = drain(SHORT);
        assert!(drained.left >= 300 + 2 * WAYS as u64, "{drained:?}");
        assert_eq!(ledger.count(), 0);
        // In the child of a fork that section is over, and the memory is freed there.
        in_child(|| {
            barrier();
            assert_eq!((statistics().queued, ledger.count()), (0, 0));
        });
    });
}

static KEY: AtomicU32 = AtomicU32::new(0);
static LEDGER: OnceLock<&'static Ledger> = OnceLock::new();
static NEXT: AtomicUsize = AtomicUsize::new(0);

fn set_key(value: usize) {
    let value = std::ptr::without_provenance(value);
    // SAFETY: the key exists; its destructor takes the value for a number.
    let set = unsafe { libc::pthread_setspecific(KEY.load(Ordering::Relaxed), value) };
    assert_eq!(set, 0);
}

/// The library's own hook has run before this one, in each round.
unsafe extern "C" fn use_everything(rounds: *mut c_void) {
    let ledger = LEDGER.get().expect("set by the test");
    for _ in 0..WAYS {
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        queue_somehow(ledger.thing(n), n);
    }
    retire_plain(50);
    read(|_| ());
    assert_eq!(synchronize_timeout(PATIENCE), Ok(()));
    if rounds.addr() > 1 {
        set_key(rounds.addr() - 1);
    }
}

/// In the last round that the C library grants, too: then a slot may stay taken, and nothing is lost.
#[test]
fn destructors_after_ours_may_queue_and_wait() {
    needs!(late_readers);
    in_both_modes(|| {
        let mut key = 0;
        // SAFETY: `key` is writable; the destructor has the right type.
        let made = unsafe { libc::pthread_key_create(&mut key, Some(use_everything)) };
        assert_eq!(made, 0);
        KEY.store(key, Ordering::Relaxed);
        // The first of these threads starts the worker in a destructor.
        let uses = (1 + 2 + 3 + 4) * 2;
        LEDGER.get_or_init(|| Ledger::new(uses * WAYS));
        for rounds in 1..=4 {
            for before in [false, true] {
                on_thread("queues in key destructors", move || {
                    if before {
                        retire_plain(10);
                    }
                    set_key(rounds);
                });
            }
        }
        barrier();
        LEDGER.get().expect("set above").assert_all_once();
        assert_eq!(statistics().queued, 0);
        assert!(
            statistics().registered <= 2,
            "the last round of two threads"
        );
        assert_eq!(synchronize_timeout(PATIENCE), Ok(()));
        // And what is there now goes on.
        let ran = crate::common::deferral::flag();
        defer(|| ran.store(true, Ordering::Release));
        until("the worker runs it", || ran.load(Ordering::Acquire));
    });
}
