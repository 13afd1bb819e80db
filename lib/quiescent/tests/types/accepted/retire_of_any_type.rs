//! Functions and closures of the caller's take objects that are neither `Send` nor `'static`.
#![allow(unused)]
use quiescent::*;
use std::cell::Cell;
use std::ptr::NonNull;
use std::rc::Rc;
pub unsafe fn defer_destroy<T>(object: NonNull<T>) {
    unsafe { retire(object.as_ptr(), |object| drop(Box::from_raw(object))) }
}
pub unsafe fn in_a_domain<T>(domain: &Domain, object: *mut T, free: unsafe fn(*mut T)) {
    unsafe { domain.retire(object, free) }
}
pub unsafe fn in_an_srcu<T>(srcu: &Srcu, object: *mut T, free: unsafe fn(*mut T)) {
    unsafe { srcu.retire_weighed(object, free, 100) }
}
pub unsafe fn later<F: FnOnce()>(f: F) {
    unsafe { defer_unchecked(f) }
}
struct Borrows<'a>(&'a Cell<u32>, Rc<u32>);
impl Drop for Borrows<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}
fn main() {
    let drops = Cell::new(0);
    let boxed = || NonNull::from(Box::leak(Box::new(Borrows(&drops, Rc::new(1)))));
    let (domain, srcu) = (Domain::new(), Srcu::new());
    unsafe fn free<T>(object: *mut T) {
        drop(unsafe { Box::from_raw(object) });
    }
    unsafe {
        defer_destroy(boxed());
        in_a_domain(&domain, boxed().as_ptr(), free);
        in_an_srcu(&srcu, boxed().as_ptr(), free);
        let last = boxed().as_ptr();
        later(|| free(last));
    }
    barrier();
    domain.barrier();
    srcu.barrier();
    assert_eq!(drops.get(), 4);
}
