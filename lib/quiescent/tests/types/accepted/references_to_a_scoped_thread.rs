//! What a guard protects may be read by other threads while it is held.
#![forbid(unsafe_code)]
#![allow(unused)]
use quiescent::*;
fn main() {
    let c = RcuCell::new(vec![1]);
    let l = RcuList::from_iter([1, 2]);
    let g = read_lock();
    let (x, i) = (c.load(&g), l.iter(&g));
    std::thread::scope(|t| {
        t.spawn(move || assert_eq!(x.len() + i.count(), 3));
    });
}
