//! Destructors of pthread keys, which run after those of thread-locals.

use super::*;

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
fn destructors_of_keys_may_read() {
    needs!(late_readers);
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
fn destructors_of_keys_may_drop_guards() {
    needs!(late_readers);
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
