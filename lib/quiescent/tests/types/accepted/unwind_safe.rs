//! Cells and domains are used after a panic.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn is<T: std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}
fn main() {
    let c = RcuCell::new(1);
    let l = RcuList::from_iter([1]);
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        c.update(|_| panic!());
    }));
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        l.retain(|_| panic!());
    }));
    l.push_front(2);
    read(|g| assert_eq!((*c.load(g), l.iter(g).count()), (1, 2)));
    synchronize();
}
