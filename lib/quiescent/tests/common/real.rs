//! The C library's own functions, for a test program that replaces one of them.
//!
//! Such a program defines the function itself, and is called at any time: at the end of a thread, in the
//! child of a fork, while memory is refused. So the address is looked up once and kept, without a lock; two
//! threads that look it up at once find the same.

use std::ffi::{CStr, c_long, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A function behind the one of the same name in this binary.
pub struct Real {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
}

impl Real {
    /// The function of this name.
    pub const fn new(name: &'static CStr) -> Real {
        Real {
            name,
            found: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Its address, to be made a function of its type.
    pub fn address(&self) -> *mut c_void {
        let mut found = self.found.load(Ordering::Relaxed);
        if found.is_null() {
            // SAFETY: a name with its zero.
            found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
            self.found.store(found, Ordering::Relaxed);
        }
        assert!(!found.is_null(), "{:?} is nowhere", self.name);
        found
    }
}

pub type Syscall = unsafe extern "C" fn(c_long, ...) -> c_long;

/// The C library's `syscall`.
pub fn syscall() -> Syscall {
    static REAL: Real = Real::new(c"syscall");
    // SAFETY: it is of that type.
    unsafe { std::mem::transmute::<*mut c_void, Syscall>(REAL.address()) }
}
