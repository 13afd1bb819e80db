//! A thread that reads in the destructor of a pthread key.

use super::*;

static ENDED: Domain = Domain::new();
static KEY: AtomicU32 = AtomicU32::new(0);
static INSIDE: AtomicBool = AtomicBool::new(false);
static OUT: AtomicBool = AtomicBool::new(false);

/// Reads in the third round of destructors, when the thread has no slot any more.
extern "C" fn reads_after_the_end(round: *mut libc::c_void) {
    if round.addr() < 3 {
        let next = std::ptr::without_provenance(round.addr() + 1);
        // SAFETY: a key of ours, and a number in place of a pointer.
        unsafe { libc::pthread_setspecific(KEY.load(Ordering::Relaxed), next) };
        return;
    }
    let guard = ENDED.read_lock();
    INSIDE.store(true, Ordering::Release);
    until("the other one has looked", || OUT.load(Ordering::Acquire));
    drop(guard);
}

#[test]
fn a_thread_that_reads_after_its_end_is_not_taken_for_the_next() {
    isolated(|| {
        let mut key = 0;
        // SAFETY: a place for the key, and a function that does not unwind.
        let made = unsafe { libc::pthread_key_create(&mut key, Some(reads_after_the_end)) };
        assert_eq!(made, 0);
        KEY.store(key, Ordering::Relaxed);
        let ends = thread::spawn(move || {
            drop(ENDED.read_lock());
            // SAFETY: as in the destructor.
            unsafe { libc::pthread_setspecific(key, std::ptr::without_provenance(1)) };
        });
        until("it is inside", || INSIDE.load(Ordering::Acquire));
        let next = thread::spawn(|| {
            drop(quiescent::read_lock()); // now it has a slot
            ENDED.in_section()
        });
        assert!(!next.join().expect("no panic"), "that is the other one");
        assert!(ENDED.synchronize_timeout(SHORT).is_err());
        OUT.store(true, Ordering::Release);
        ends.join().expect("no panic");
        assert_eq!(ENDED.synchronize_timeout(LONG), Ok(()));
    });
}
