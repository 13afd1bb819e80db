//! An Srcu guard read and dropped on another thread.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let s: &'static Srcu = Box::leak(Box::new(Srcu::new()));
    let c = Box::leak(Box::new(RcuCell::new_in(1, s)));
    let g = s.read_owned_send();
    let c = &*c;
    std::thread::spawn(move || {
        assert_eq!(*c.load(&g), 1);
        drop(g)
    })
    .join()
    .unwrap();
    s.synchronize();
}
