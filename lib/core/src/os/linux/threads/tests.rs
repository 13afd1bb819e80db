//! Keys of thread ends, and the objects that code is in.

use super::*;
use std::sync::Barrier;

static ENDED: AtomicU32 = AtomicU32::new(0);

unsafe extern "C" fn at_end(value: *mut c_void) {
    // SAFETY: `arm` got a static of this type.
    let count = unsafe { &*value.cast::<AtomicU32>() };
    count.fetch_add(1, Ordering::AcqRel);
}

fn arm(key: &AtExit) -> bool {
    // SAFETY: the hooks of these tests take such a counter.
    unsafe { key.arm(std::ptr::from_ref(&ENDED).cast()) }
}

/// Threads that make it at once use one key, and each thread's end is noticed. Keys that are made in vain are
/// given back: there are 1024. Without one nothing is noticed.
#[test]
fn threads_that_make_a_key_at_once_have_one() {
    const THREADS: usize = 8;
    for round in 1..=300 {
        let key: &'static AtExit = Box::leak(Box::new(AtExit::new(at_end)));
        let together = Barrier::new(THREADS);
        let thread = || {
            together.wait();
            assert!(arm(key));
            key.key().expect("there are keys left")
        };
        let keys = std::thread::scope(|scope| {
            let threads = [(); THREADS].map(|()| scope.spawn(thread));
            threads.map(|it| it.join().expect("no panic"))
        });
        assert!(keys.iter().all(|it| *it == keys[0]), "{keys:?}");
        assert_eq!(ENDED.load(Ordering::Acquire), round * THREADS as u32);
        // SAFETY: not used any more.
        unsafe { libc::pthread_key_delete(keys[0]) };
    }
    let mut all = Vec::new();
    let mut key = 0;
    // SAFETY: `key` is writable.
    while unsafe { libc::pthread_key_create(&mut key, None) } == 0 {
        all.push(key);
    }
    let none: &'static AtExit = Box::leak(Box::new(AtExit::new(at_end)));
    assert!(!arm(none) && !arm(none));
    for key in all {
        // SAFETY: made above, and not used.
        unsafe { libc::pthread_key_delete(key) };
    }
    none.prepare();
    assert!(none.key.load(Ordering::Relaxed) != 0);
    of_two_keys_the_first_one_counts();
}

#[test]
fn code_is_in_an_object_and_nothing_else_is() {
    assert!(object_of(at_end as *const c_void).is_some());
    assert!(object_of(std::ptr::null()).is_none());
    assert!(object_of(Box::leak(Box::new(0u8)) as *const u8 as *const c_void).is_none());
}

/// Of two keys the first one counts, and the other is given back. (Called by the test that uses up all keys,
/// which it cannot run beside.)
fn of_two_keys_the_first_one_counts() {
    let made = || {
        let mut key = 0;
        // SAFETY: `key` is writable.
        assert_eq!(unsafe { libc::pthread_key_create(&mut key, None) }, 0);
        key
    };
    let hook = AtExit::new(at_end);
    let (first, second) = (made(), made());
    assert_eq!([hook.keep(first), hook.keep(second)], [first; 2]);
    assert_eq!(hook.key(), Some(first));
    assert!(!hook.is_over());
    // SAFETY: a key, and one that is none any more.
    let deleted = unsafe { [first, second].map(|key| libc::pthread_key_delete(key)) };
    assert_eq!(deleted, [0, libc::EINVAL]);
}

#[test]
fn a_thread_that_is_restricted_to_one_processor_knows_it() {
    // A quota can make it less than there are processors, never more.
    if std::thread::available_parallelism().is_ok_and(|it| it.get() > 1) {
        assert!(!has_one_processor());
    }
    let restricted = std::thread::spawn(|| {
        // SAFETY: a set of processors is plain data, which the call reads.
        unsafe {
            let mut one: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(libc::sched_getcpu() as usize, &mut one);
            assert_eq!(libc::sched_setaffinity(0, size_of_val(&one), &one), 0);
        }
        has_one_processor()
    });
    assert!(restricted.join().expect("no panic"));
}
