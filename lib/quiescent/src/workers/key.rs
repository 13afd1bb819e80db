//! Keys of thread-specific data that are made at their first use, without a lock: that may be in a signal
//! handler.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

/// A key, with a destructor.
#[derive(Debug)]
pub(crate) struct Key {
    /// The key + 1; 0 while there is none.
    made: AtomicU32,
    destructor: unsafe extern "C" fn(*mut c_void),
}

impl Key {
    pub(crate) const fn new(destructor: unsafe extern "C" fn(*mut c_void)) -> Key {
        Key {
            made: AtomicU32::new(0),
            destructor,
        }
    }

    /// Makes the key, if there is none. False: all keys are taken.
    pub(crate) fn make(&self) -> bool {
        self.get().is_some()
    }

    fn get(&self) -> Option<libc::pthread_key_t> {
        let known = self.made.load(Ordering::Acquire);
        if known != 0 {
            return Some(known - 1);
        }
        let mut key: libc::pthread_key_t = 0;
        // SAFETY: `key` is writable, and the destructor has the type asked for.
        if unsafe { libc::pthread_key_create(&mut key, Some(self.destructor)) } != 0 {
            return None;
        }
        let order = (Ordering::AcqRel, Ordering::Acquire);
        match self.made.compare_exchange(0, key + 1, order.0, order.1) {
            Ok(_) => Some(key),
            Err(other) => {
                // SAFETY: created above, and not yet used.
                unsafe { libc::pthread_key_delete(key) };
                Some(other - 1)
            }
        }
    }

    /// The destructor is called with `value` when this thread ends. Without a key it is not.
    pub(crate) fn set<T>(&self, value: &'static T) {
        if let Some(key) = self.get() {
            // SAFETY: the key is valid; the value is only passed to the destructor.
            unsafe { libc::pthread_setspecific(key, std::ptr::from_ref(value).cast()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    static ENDED: AtomicU32 = AtomicU32::new(0);

    unsafe extern "C" fn at_end(value: *mut c_void) {
        // SAFETY: `set` got a static of this type.
        let count = unsafe { &*value.cast::<AtomicU32>() };
        count.fetch_add(1, Ordering::AcqRel);
    }

    /// Threads that make it at once use one key, and each thread's end is noticed. Keys that are made in vain
    /// are given back: there are 1024.
    #[test]
    fn threads_that_make_it_at_once_share_it() {
        const THREADS: usize = 8;
        for round in 1..=300 {
            let key: &'static Key = Box::leak(Box::new(Key::new(at_end)));
            let together = Barrier::new(THREADS);
            let thread = || {
                together.wait();
                key.set(&ENDED);
                key.get().expect("there are keys left")
            };
            let keys = std::thread::scope(|scope| {
                let threads = [(); THREADS].map(|()| scope.spawn(thread));
                threads.map(|it| it.join().expect("no panic"))
            });
            assert!(
                key.make() && keys.iter().all(|it| *it == keys[0]),
                "{keys:?}"
            );
            assert_eq!(ENDED.load(Ordering::Acquire), round * THREADS as u32);
            // SAFETY: not used any more.
            unsafe { libc::pthread_key_delete(keys[0]) };
        }
    }

    #[test]
    fn without_a_key_nothing_is_noticed() {
        let mut all = Vec::new();
        let mut key = 0;
        // SAFETY: `key` is writable.
        while unsafe { libc::pthread_key_create(&mut key, None) } == 0 {
            all.push(key);
        }
        let none: &'static Key = Box::leak(Box::new(Key::new(at_end)));
        assert!(!none.make() && !none.make());
        none.set(&ENDED);
        for key in all {
            // SAFETY: made above, and not used.
            unsafe { libc::pthread_key_delete(key) };
        }
        assert!(none.make());
    }
}
