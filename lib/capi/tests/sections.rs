//! What the header relies on, at the ends of threads: from Rust, so that planted bugs run it.
//! (`conformance.c` has the rest.)
#![cfg(unix)]

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use quiescent_capi::reader::{qsc_rcu_read_lock, qsc_rcu_read_lock_held, qsc_rcu_read_unlock};

static KEY: AtomicU32 = AtomicU32::new(0);
static ROUNDS: AtomicU32 = AtomicU32::new(0);

fn read() {
    qsc_rcu_read_lock();
    assert!(qsc_rcu_read_lock_held());
    qsc_rcu_read_lock();
    qsc_rcu_read_unlock();
    assert!(qsc_rcu_read_lock_held());
    qsc_rcu_read_unlock();
    assert!(!qsc_rcu_read_lock_held());
}

extern "C" fn at_end(round: *mut c_void) {
    read();
    ROUNDS.fetch_add(1, Ordering::Relaxed);
    if round.addr() < 3 {
        again(round.addr() + 1);
    }
}

fn again(round: usize) {
    // SAFETY: the key was created, and its value is only a number.
    unsafe {
        libc::pthread_setspecific(KEY.load(Ordering::Relaxed), ptr::without_provenance(round))
    };
}

/// The destructors of a thread run in rounds, and the library's hook in the first: it gives the thread's slot
/// back, and later sections must not use its word.
#[test]
fn sections_in_destructors_that_run_after_the_end_of_a_thread_s_slot() {
    let mut key = 0;
    // SAFETY: a destructor of the right type.
    let made = unsafe { libc::pthread_key_create(&mut key, Some(at_end)) };
    assert_eq!(made, 0);
    KEY.store(key, Ordering::Relaxed);
    let thread = || {
        again(1);
        read();
    };
    for _ in 0..3 {
        std::thread::spawn(thread).join().expect("no panic");
        quiescent::synchronize(); // no section is left open
    }
    assert_eq!(ROUNDS.load(Ordering::Relaxed), 9);
}

/// Beyond the nesting limit of the word, sections are counted apart.
#[test]
fn sections_nest_beyond_the_limit_of_the_word() {
    const DEEP: usize = 40_000;
    (0..DEEP).for_each(|_| qsc_rcu_read_lock());
    let cookie = quiescent::start_grace_period();
    (1..DEEP).for_each(|_| qsc_rcu_read_unlock());
    assert!(qsc_rcu_read_lock_held() && !cookie.is_done());
    qsc_rcu_read_unlock();
    assert!(!qsc_rcu_read_lock_held());
    read();
    quiescent::synchronize();
    assert!(cookie.is_done());
}
